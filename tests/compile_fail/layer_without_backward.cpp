// SPDX-License-Identifier: Apache-2.0
// expect: a layer with one of the kernels forward and backward needs the other too
// max-lines: 22
#include <cohort/graph/network.hpp>

using namespace cohort;

struct doubled {
  static constexpr std::string_view kind_name = "doubled";

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::int64_t i = 0; i < a.batch * a.output_shape.elements(); ++i) a.output[i] = 2 * a.inputs[0][i];
  }
#ifdef MUST_FAIL
#else
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::int64_t i = 0; i < a.batch * a.output_shape.elements(); ++i)
      if (a.diff_inputs[0]) a.diff_inputs[0][i] = 2 * a.diff_output[i];
  }
#endif
};

constexpr auto net = network<[](builder& b) { return b.input({4}) | doubled{} | mean_squared_error{}; }>();
