// SPDX-License-Identifier: Apache-2.0
// Malformed tables: a text is rejected by a data_error with its position, or it is read, written and read
// again. The bits of the first byte select the settings: a tab as separator (1), no header (2), missing
// values kept (4) or their rows dropped (8), blanks trimmed (16), f64 (32).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/data_read_table_fuzz some/folder tests/data/read_table_fuzz
#include <charconv>
#include <cmath>
#include <cohort/data/read_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

std::optional<data_table> parsed(std::string_view text, table_settings const& how) {
  try {
    return parse_table(text, "table", how);
  } catch (data_error const& refused) {
    std::string_view const where = refused.why().where;
    require(where == "table" || where.starts_with("table:"));
    return std::nullopt;
  }
}

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (char const c : text) made.append(c == '"' ? 2 : 1, c);
  return made + '"';
}

template <class T>
std::string number_text(T value) {
  if (std::isnan(value)) return "NA";
  char text[64];
  return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

template <class T>
std::string field_text(data_table const& table, std::string const& column, std::size_t row) {
  if (!table.has_texts(column)) return number_text(table.numbers<T>(column)[row]);
  text_column const texts = table.texts(column);
  int const code = texts.codes[row];
  return code < 0 ? "NA" : quoted(texts.vocabulary[static_cast<std::size_t>(code)]);
}

/// The table as text, in which every name and text is quoted.
template <class T>
std::string written(data_table const& table, char separator) {
  std::string text;
  auto const line = [&](auto field) {
    std::string_view before;
    for (std::string const& column : table.columns()) {
      text.append(before).append(field(column));
      before = {&separator, 1};
    }
    text += '\n';
  };
  line([](std::string const& column) { return quoted(column); });
  for (std::size_t row = 0; row < static_cast<std::size_t>(table.rows()); ++row)
    line([&](std::string const& column) { return field_text<T>(table, column, row); });
  return text;
}

/// Requires that the table is equal after it is written and read again.
template <class T>
void require_same_when_read_again(data_table const& table, table_settings how) {
  char const separator = how.separator;
  how = {.separator = separator,
         .header = true,
         .number_type = how.number_type,
         .missing = missing_values::keep};
  for (std::string const& column : table.columns())
    (table.has_texts(column) ? how.text_columns : how.number_columns).push_back(column);
  std::string const text = written<T>(table, separator);
  data_table const again = parse_table(text, "table", how);
  require(again.columns() == table.columns() && again.rows() == table.rows());
  for (std::string const& column : table.columns()) {
    require(again.has_texts(column) == table.has_texts(column));
    if (table.has_texts(column)) {
      text_column const a = table.texts(column), b = again.texts(column);
      require(a.codes.size() == b.codes.size());
      for (std::size_t row = 0; row < a.codes.size(); ++row) {
        require((a.codes[row] < 0) == (b.codes[row] < 0));
        require(a.codes[row] < 0
                || a.vocabulary[static_cast<std::size_t>(a.codes[row])]
                       == b.vocabulary[static_cast<std::size_t>(b.codes[row])]);
      }
    } else {
      auto const a = table.numbers<T>(column), b = again.numbers<T>(column);
      require(a.size() == b.size());
      for (std::size_t row = 0; row < a.size(); ++row)
        require(std::isnan(a[row]) ? std::isnan(b[row]) : std::memcmp(&a[row], &b[row], sizeof(T)) == 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  int const bits = data[0];
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  std::vector<char> const copy(data + 1, data + size);
  std::string_view const text(copy.data(), copy.size());
  table_settings how{.separator = (bits & 1) != 0 ? '\t' : ',',
                     .header = (bits & 2) == 0,
                     .number_type = (bits & 32) != 0 ? element_type::f64 : element_type::f32,
                     .missing = (bits & 4) != 0   ? missing_values::keep
                                : (bits & 8) != 0 ? missing_values::drop
                                                  : missing_values::refuse,
                     .trim = (bits & 16) != 0,
                     .max_columns = 64,
                     .max_field_bytes = 256};
  std::optional<data_table> const table = parsed(text, how);
  if (!table) return 0;
  if (how.number_type == element_type::f64)
    require_same_when_read_again<double>(*table, how);
  else
    require_same_when_read_again<float>(*table, how);
  // A table that is accepted with missing values forbidden has the same rows under every other treatment of
  // them.
  int const rows = table->rows();
  how.missing = missing_values::keep;
  std::optional<data_table> const kept = parsed(text, how);
  require(kept && ((bits & 12) == 8 ? kept->rows() >= rows : kept->rows() == rows));
  return 0;
}
