// SPDX-License-Identifier: Apache-2.0
// expect: cohort: a layer has static constexpr auto fields(), which lists its fields
// expect: layer_without_fields.cpp
#include <cohort/graph/network.hpp>

using namespace cohort;

struct halved {
  static constexpr std::string_view kind_name = "halved";

  std::string_view name{};
  source_line at = source_line::here();

#ifdef MUST_FAIL
#else
  static constexpr auto fields() { return field_list{}; }
#endif
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};

constexpr auto net = network<[](builder& b) { return b.input({4}) | halved{} | mean_squared_error{}; }>();
