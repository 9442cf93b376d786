// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/text.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Formats a number with a fixed number of decimals, independent of the locale; "-" for nullopt.
std::string decimal_text(std::optional<double> number, int decimals);

/// Formats a number with three significant digits, independent of the locale: "0.0012", "12.3", "1.2e+06".
std::string three_digits(double number);

/// Returns the number of characters (code points) in a UTF-8 text.
std::size_t characters_in(std::string_view text);

/// Alignment of the columns after the first table_layout::left columns. `even`: right-aligned, all with the
/// same width.
enum class columns : std::uint8_t { left, right, even };

struct table_layout {
  columns others = columns::left;  // alignment of the remaining columns
  std::size_t left = 1;            // number of leading columns that are left-aligned
  std::size_t indent = 2;          // spaces before each line
};

/// A plain-text table: aligned columns separated by two spaces. Widths count characters, not bytes.
class text_table {
 public:
  explicit text_table(table_layout layout) : layout_(layout) {}

  [[gnu::noinline]] void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void add(std::initializer_list<text_piece> cells);

  /// Returns the table, one line per row, without trailing spaces.
  std::string text() const;

 private:
  bool is_left(std::size_t column) const { return column < layout_.left || layout_.others == columns::left; }

  table_layout layout_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cohort::detail
