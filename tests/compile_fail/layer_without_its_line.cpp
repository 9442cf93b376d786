// SPDX-License-Identifier: Apache-2.0
// expect: cohort: the last members of a layer are std::string_view name{}; cohort::source_line at =
// expect: layer_without_its_line.cpp
#include <cohort/graph/network.hpp>

using namespace cohort;

struct halved {
  static constexpr std::string_view kind_name = "halved";

  std::string_view name{};
#ifdef MUST_FAIL
#else
  source_line at = source_line::here();
#endif

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};

constexpr auto net = network<[](builder& b) { return b.input({4}) | halved{} | mean_squared_error{}; }>();
