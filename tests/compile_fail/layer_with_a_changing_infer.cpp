// SPDX-License-Identifier: Apache-2.0
// expect: cohort: a layer has constexpr cohort::inference infer(std::span<cohort::shape const> inputs) const
// expect: layer_with_a_changing_infer.cpp
#include <cohort/graph/network.hpp>

using namespace cohort;

struct halved {
  static constexpr std::string_view kind_name = "halved";

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
#ifdef MUST_FAIL
  constexpr inference infer(std::span<shape const> inputs) { return inputs[0]; }
#else
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
#endif
};

constexpr auto net = network<[](builder& b) { return b.input({4}) | halved{} | mean_squared_error{}; }>();
