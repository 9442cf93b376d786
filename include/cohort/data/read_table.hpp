// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/data_table.hpp>
#include <cohort/io/file.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Treatment of a missing field. refuse: data_error. keep: NaN, or code −1 in a column of texts. drop: the
/// row is omitted.
enum class missing_values { refuse, keep, drop };

/// Format of a table as text.
struct table_settings {
  /// 0: a tab for names that end in .tsv or .tab (also followed by .gz). For other names a comma, or a
  /// semicolon if the decimal sign is a comma.
  char separator = 0;
  bool merge_separators = false;  ///< neighbouring ones count as one; at the ends of a line they are ignored
  char decimal = '.';             ///< decimal sign of numbers
  char thousands = 0;             ///< sign before groups of three digits: ',' for "1,234.5"; 0: none
  char comment = 0;               ///< lines that begin with this character are skipped; 0: none
  /// Whether the first line contains the names of the columns. false: the names are c0, c1, …. nullopt: as
  /// true, and a number in the first line is an error.
  std::optional<bool> header = std::nullopt;
  std::vector<std::string> columns = {};           ///< columns to read, in this order; empty: all
  std::vector<std::string> number_columns = {};    ///< each field must be a number or missing
  std::vector<std::string> text_columns = {};      ///< read as texts even if all fields are numbers
  std::vector<std::string> optional_columns = {};  ///< columns of the lists above that a file may lack
  element_type number_type = element_type::f32;    ///< or f64
  missing_values missing = missing_values::refuse;
  /// A field with one of these texts is missing, also if the text is in quotes or between blanks. A text may
  /// be a number, such as "-999". The default: "?", and the texts that pandas.read_csv treats as missing.
  std::vector<std::string> missing_texts = {
      "",     "?",   "NA",   "N/A",  "n/a",  "#N/A", "#N/A N/A", "#NA",     "<NA>",    "NaN",
      "-NaN", "nan", "-nan", "NULL", "null", "None", "1.#IND",   "-1.#IND", "1.#QNAN", "-1.#QNAN"};
  bool trim = false;          ///< removes blanks around texts that are not quoted
  bool may_be_empty = false;  ///< a table without rows is no error
  /// Whether a number out of range is read as a text, so that its column contains texts; false: an error.
  bool out_of_range_is_text = false;
  std::size_t max_columns = 1 << 16;
  std::size_t max_field_bytes = 1 << 20;
};

/// Parses a table of comma- or tab-separated values (RFC 4180, UTF-8): one row per line. Fields with
/// separators, line breaks or quotes are in quotes; a quote in them is written as "". Lines may end in CR LF,
/// the text may begin with a byte order mark, and empty lines are skipped. A quote inside a field that does
/// not begin with a quote is part of the text. For columns separated by runs of blanks: {.separator = ' ',
/// .merge_separators = true}.
///
/// A column contains numbers if every field is a number or missing, otherwise texts. Blanks around a number
/// and quotes of a number are ignored. If most fields of a column of texts are numbers, its texts can be
/// read, but a table_encoder refuses it, unless text_columns contains it.
///
/// Errors    data_error with where:line:column (in characters) and the column's name: a missing value, a row
///           with another number of fields than the first line, an unterminated quote, text after a closing
///           quote, a NUL byte, a CR without LF, invalid UTF-8, a number out of range, a field in
///           number_columns that is not a number, equal column names, too many columns or rows, too long a
///           field, or no rows. setting_error for a column that does not exist and is not optional, or an
///           invalid separator, decimal sign, sign of thousands or comment character.
/// Exact     numbers are the nearest f32 or f64; underflow gives 0.
data_table parse_table(std::string_view text, std::string const& where, table_settings const& settings = {});

/// Reads a table from a file. For compressed files, pass a `source` that decompresses, such as
/// gzip::read_file.
///
/// Errors    as parse_table; file_error if the file cannot be read; data_error for a gzip file without
///           `source`.
data_table read_table(std::string const& path, table_settings const& settings = {},
                      io::byte_source const& source = {});

namespace detail {

/// Column names and position of a part of a table. The part's text contains only rows, no line of names.
struct table_part {
  std::span<std::string const> names;  // names of all columns
  std::int64_t first_line = 1;         // number of the part's first line in the file
  std::int64_t rows_before = 0;        // number of the file's rows before the part
};

/// Returns the separator of the settings, or the separator that the name's extension implies.
///
/// Errors    setting_error for an invalid separator.
char separator_of(std::string_view name, table_settings const& settings);

/// Returns the names of all columns. `text` begins with the table's first line.
///
/// Errors    as parse_table.
std::vector<std::string> table_names(std::string_view text, std::string const& where,
                                     table_settings const& settings);

/// Parses a part of a table.
///
/// Errors    as parse_table, with the lines and rows of the file.
data_table parse_rows(std::string_view text, std::string const& where, table_settings const& settings,
                      table_part const& part);

}  // namespace detail

}  // namespace cohort
