// SPDX-License-Identifier: Apache-2.0
// expect: cohort: this is neither a block nor a layer: a layer has static constexpr std::string_view kind_name
// expect: layer_without_a_kind_name.cpp
#include <cohort/graph/network.hpp>

using namespace cohort;

struct halved {
#ifdef MUST_FAIL
#else
  static constexpr std::string_view kind_name = "halved";
#endif

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};

constexpr auto net = network<[](builder& b) { return b.input({4}) | halved{} | mean_squared_error{}; }>();
