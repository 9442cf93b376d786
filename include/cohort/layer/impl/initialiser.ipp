// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/layer/initialiser.hpp>
#include <cstdio>

namespace cohort {

initialiser initialiser::from(std::string_view name, double parameter) {
  auto const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string expected;
    for (std::string_view const known : names)
      expected += (expected.empty() ? "" : ", ") + std::string(known);
    throw setting_error({.what = "unknown initialiser", .expected = {"one of ", expected}, .got = {name}});
  }
  initialiser result;
  result.which = static_cast<kind>(found - names.begin());
  if (result.has_parameter()) result.parameter = parameter;
  return result;
}

void initialiser::check() const {
  std::uint64_t const pattern = std::bit_cast<std::uint64_t>(parameter);
  bool const finite = (pattern & 0x7ff0000000000000) != 0x7ff0000000000000;
  bool const magnitude = which == kind::normal || which == kind::uniform;
  if (finite && !(magnitude && parameter < 0)) return;
  char got[32];
  std::snprintf(got, sizeof got, "%g", parameter);
  throw setting_error({.what = "a setting is out of range",
                       .where = {"init::", name()},
                       .expected = magnitude ? "a finite number, at least 0" : "a finite number",
                       .got = got});
}

}  // namespace cohort

namespace cohort::detail {

double deviation_or_bound(initialiser const& how, double fan_in, double fan_out) {
  using kind = initialiser::kind;
  switch (how.which) {
    case kind::xavier:
      return std::sqrt(2 / (fan_in + fan_out));
    case kind::xavier_uniform:
      return std::sqrt(6 / (fan_in + fan_out));
    case kind::relu:
      return std::sqrt(2 / fan_in);
    case kind::relu_uniform:
      return std::sqrt(6 / fan_in);
    case kind::lecun_normal:
      return std::sqrt(1 / fan_in);
    case kind::lecun_uniform:
      return std::sqrt(3 / fan_in);
    case kind::sigmoid_uniform:
      return 4 * std::sqrt(6 / (fan_in + fan_out));
    default:
      return how.parameter;
  }
}

std::vector<double> orthonormal_rows(std::size_t rows, std::size_t columns, random_stream const& stream) {
  std::vector<double> q(rows * columns);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = stream.normal<double>(i);
  for (std::size_t r = 0; r < rows; ++r) {
    double* const row = q.data() + r * columns;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t before = 0; before < r; ++before) {
        double const* const other = q.data() + before * columns;
        double product = 0;
        for (std::size_t c = 0; c < columns; ++c) product += row[c] * other[c];
        for (std::size_t c = 0; c < columns; ++c) row[c] -= product * other[c];
      }
    }
    double square = 0;
    for (std::size_t c = 0; c < columns; ++c) square += row[c] * row[c];
    double const length = std::sqrt(square);
    for (std::size_t c = 0; c < columns; ++c) row[c] /= length;
  }
  return q;
}

}  // namespace cohort::detail
