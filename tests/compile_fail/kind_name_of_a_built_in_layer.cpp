// SPDX-License-Identifier: Apache-2.0
// expect: the kind_name of this layer is that of a built-in layer: choose another name
// expect: kind_name_of_a_built_in_layer.cpp:4711
#include <cohort/graph/network.hpp>

using namespace cohort;

struct my_norm {
#ifdef MUST_FAIL
  static constexpr std::string_view kind_name = "layer_norm";
#else
  static constexpr std::string_view kind_name = "my_norm";
#endif

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};

constexpr auto net = network<[](builder& b) {
#line 4711
  return b.input({4}) | my_norm{} | mean_squared_error{};
}>();
