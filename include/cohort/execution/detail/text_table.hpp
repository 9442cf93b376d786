// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/detail/text.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// With a fixed number of decimals, whatever the locale; "-" for a number that does not exist.
[[gnu::noinline]] std::string decimal_text(std::optional<double> number, int decimals);

/// How many characters begin in a UTF-8 text.
std::size_t characters_in(std::string_view text);

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
  [[gnu::noinline]] void add(std::initializer_list<text_piece> cells);

  std::string text() const;

 private:
  bool is_left(std::size_t column) const { return column < layout_.left || layout_.others == columns::left; }

  table_layout layout_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/text_table.ipp>
#endif
