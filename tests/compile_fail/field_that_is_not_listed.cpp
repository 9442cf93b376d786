// SPDX-License-Identifier: Apache-2.0
// expect: fields() must list every member of the layer except settings, name and at
// expect: blurred
// max-lines: 24
#include <cohort/graph/network.hpp>

using namespace cohort;

struct blurred {
  static constexpr std::string_view kind_name = "blurred";

  int radius = 1;
  double deviation = 0.5;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
#ifdef MUST_FAIL
    return field_list{field{"radius", &blurred::radius}};
#else
    return field_list{field{"radius", &blurred::radius}, field{"deviation", &blurred::deviation}};
#endif
  }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};

constexpr auto net = network<[](builder& b) { return b.input({4}) | blurred{} | mean_squared_error{}; }>();
