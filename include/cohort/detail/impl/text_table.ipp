// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/detail/text_table.hpp>

namespace cohort::detail {

[[gnu::noinline]] std::string decimal_text(std::optional<double> number, int decimals) {
  if (!number) return "-";
  char digits[400];
  auto const end =
      std::to_chars(digits, digits + sizeof digits, *number, std::chars_format::fixed, decimals).ptr;
  return std::string(digits, end);
}

[[gnu::noinline]] std::string three_digits(double number) {
  char digits[32];
  auto const end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 3).ptr;
  return std::string(digits, end);
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

[[gnu::noinline]] void text_table::add(std::initializer_list<text_piece> cells) {
  rows_.emplace_back();
  for (text_piece const& cell : cells) rows_.back().push_back(text_of({cell}));
}

std::string text_table::text() const {
  std::vector<std::size_t> widths;
  for (auto const& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters_in(row[i]));
  }
  if (layout_.others == columns::even && widths.size() > layout_.left) {
    auto const first = widths.begin() + static_cast<std::ptrdiff_t>(layout_.left);
    std::fill(first, widths.end(), *std::max_element(first, widths.end()));
  }
  std::string text;
  for (auto const& row : rows_) {
    std::string line(layout_.indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string const padding(widths[i] - characters_in(row[i]), ' ');
      if (i > 0) line += "  ";
      line += is_left(i) ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace cohort::detail
