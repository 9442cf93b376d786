// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/csv_text.hpp>
#include <cstddef>

namespace cohort::detail {

std::string csv_field(std::string const& name) {
  if (name.find_first_of(",\"\n") == name.npos) return name;
  std::string quoted = "\"";
  for (char const c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_field(double number) {
  char digits[32];
  return !is_finite(number) ? std::string()
                            : std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

std::string csv_text(std::span<std::string const> names, std::span<std::vector<double> const> columns) {
  std::string text;
  for (std::size_t c = 0; c < names.size(); ++c) text += (c > 0 ? "," : "") + csv_field(names[c]);
  text += '\n';
  for (std::size_t row = 0; !columns.empty() && row < columns[0].size(); ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) text += (c > 0 ? "," : "") + csv_field(columns[c][row]);
    text += '\n';
  }
  return text;
}

}  // namespace cohort::detail
