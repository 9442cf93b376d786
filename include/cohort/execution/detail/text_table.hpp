// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <charconv>
#include <cohort/error/detail/text.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// With a fixed number of decimals, whatever the locale; "-" for a number that does not exist.
[[gnu::noinline]] inline std::string decimal_text(std::optional<double> number, int decimals) {
  if (!number) return "-";
  char digits[400];
  auto const end =
      std::to_chars(digits, digits + sizeof digits, *number, std::chars_format::fixed, decimals).ptr;
  return std::string(digits, end);
}

/// How many characters begin in a UTF-8 text.
inline std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

/// How the columns of a text_table after its `left` ones are aligned; `even`: to the right, all of one width.
enum class columns : std::uint8_t { left, right, even };

struct table_layout {
  columns others = columns::left;
  std::size_t left = 1;    // so many columns at the beginning are aligned to the left
  std::size_t indent = 2;  // spaces before each line
};

/// Rows of cells in aligned columns, two spaces apart. Width counts characters.
class text_table {
 public:
  explicit text_table(table_layout layout) : layout_(layout) {}

  [[gnu::noinline]] void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[gnu::noinline]] void add(std::initializer_list<text_piece> cells) {
    rows_.emplace_back();
    for (text_piece const& cell : cells) rows_.back().push_back(text_of({cell}));
  }

  std::string text() const {
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

 private:
  bool is_left(std::size_t column) const { return column < layout_.left || layout_.others == columns::left; }

  table_layout layout_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cohort::detail
