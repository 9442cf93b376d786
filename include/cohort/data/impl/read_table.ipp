// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/data/detail/field_reader.hpp>
#include <cohort/data/detail/merged_integers.hpp>
#include <cohort/data/detail/table_content.hpp>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/data/detail/text_dictionary.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/gzip_magic.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace cohort::detail {

/// Parses the rows of a table whose numbers have type T.
template <class T>
class table_parser {
 public:
  table_parser(std::string_view text, std::string const& where, char separator,
               table_settings const& settings, std::int64_t first_line = 1)
      : settings_(settings),
        reader_(text, where,
                {separator, settings.trim, settings.max_field_bytes, first_line, settings.merge_separators,
                 settings.comment}),
        content_(new table_content) {
    content_->where = where;
    content_->numbers = {settings.decimal, settings.thousands};
    content_->number_type = element_of<T>;
    for (std::string const& one : settings.missing_texts) {
      missing_sizes_[first_byte(one)] |= size_bit(one);
      has_missing_numbers_ |= is_number(one);
    }
  }

  std::shared_ptr<table_content const> parse() {
    reader_.skip_empty_lines();
    if (reader_.at_end()) refuse_empty();
    read_names();
    return parse_all_rows();
  }

  /// Parses rows without a line of names.
  std::shared_ptr<table_content const> parse(std::span<std::string const> names, std::int64_t rows_before) {
    content_->rows_before = rows_before;
    text_map<std::size_t> seen;
    for (std::string const& name : names) {
      fields_.emplace_back().name = name;
      seen.emplace(name, fields_.size());
    }
    select_columns(seen);
    return parse_all_rows();
  }

  /// Returns the names of all columns.
  std::vector<std::string> names() {
    reader_.skip_empty_lines();
    if (reader_.at_end()) refuse_empty();
    read_names();
    std::vector<std::string> made;
    for (field_column const& one : fields_) made.push_back(one.name);
    return made;
  }

 private:
  std::shared_ptr<table_content const> parse_all_rows() {
    char const* const first_row = reader_.position();
    while (!parse_rows()) reader_.rewind(first_row);
    if (content_->rows == 0 && !settings_.may_be_empty) refuse_empty();
    check_range();
    for (field_column& one : fields_)
      if (one.target) finish(one);
    return content_;
  }

  enum class kind { skipped, number, text, mistaken };  // mistaken: a text was found in this pass

  /// A column that is being parsed.
  struct field_column {
    kind type = kind::skipped;
    bool forced = false;
    bool misses_text = false;            // whether a text is missing in the current row
    char const* out_of_range = nullptr;  // position of the first number that is not a finite T
    std::vector<T> numbers{};
    text_dictionary::key text{};  // text of the current row
    std::vector<std::int32_t> codes{};
    text_dictionary texts{};
    merged_integers integers{};
    bool is_compared = false;  // by `integers`
    std::string storage{};
    std::string name{};
    table_column* target = nullptr;
  };

  [[noreturn]] void refuse_empty() const {
    throw data_error({.what = "the table has no rows",
                      .where = content_->where,
                      .expected = "at least 1 row",
                      .got = dropped_ == 0
                                 ? std::string("0")
                                 : text_of({"0, and ", dropped_, " dropped because of missing values"})});
  }

  void read_names() {
    char const* const line = reader_.position();
    bool const header = settings_.header.value_or(true);
    text_map<std::size_t> seen;
    do {
      char const* const start = reader_.position();
      field_column& one = fields_.emplace_back();
      std::string_view const name = reader_.read_text(one.storage);
      if (fields_.size() > settings_.max_columns)
        reader_.refuse("the table has too many columns", start,
                       text_of({"at most ", settings_.max_columns, " columns (max_columns)"}), "more");
      if (header) require_name(name, start);
      one.name = header && !name.empty() ? std::string(name) : text_of({"c", fields_.size() - 1});
      auto const [same, added] = seen.emplace(one.name, fields_.size());
      if (!added)
        reader_.refuse("two columns have the same name", start,
                       "different names; .header = false if the first line contains values",
                       text_of({one.name, " in columns ", same->second, " and ", fields_.size()}));
    } while (reader_.read_separator());
    if (header)
      reader_.read_line_end();
    else
      reader_.rewind(line);
    select_columns(seen);
  }

  void require_name(std::string_view name, char const* start) const {
    if (invalid_utf8_at(name) != name.size())
      reader_.refuse("a table is not encoded in UTF-8", start, "UTF-8", quote_for_error(name));
    if (T number; !settings_.header && parse_number(name, number))
      reader_.refuse("a number is in the place of a column's name", start,
                     "names in the first line; .header = false if it contains values, .header = true if its "
                     "numbers are names",
                     quote_for_error(name));
  }

  void select_columns(text_map<std::size_t> const& seen) {
    auto const find = [&](std::string const& name) -> field_column& {
      auto const found = seen.find(name);
      if (found != seen.end()) return fields_[found->second - 1];
      std::vector<std::string> names;
      for (field_column const& one : fields_) names.push_back(one.name);
      refuse_column(content_->where, names, name);
    };
    auto const is_absent = [&](std::string const& name) {
      return !seen.contains(name)
             && std::ranges::find(settings_.optional_columns, name) != settings_.optional_columns.end();
    };
    for (std::string const& name : settings_.columns)
      if (!is_absent(name)) content_->names.push_back(find(name).name);
    if (settings_.columns.empty())
      for (field_column const& one : fields_) content_->names.push_back(one.name);
    content_->columns.resize(content_->names.size());
    for (std::size_t c = 0; c < content_->names.size(); ++c) {
      if (!content_->by_name.emplace(content_->names[c], c).second)
        throw setting_error({.what = "a column is selected twice",
                             .where = {content_->where, ", columns"},
                             .expected = "different names",
                             .got = content_->names[c]});
      field_column& one = find(content_->names[c]);
      one.type = kind::number;
      one.target = &content_->columns[c];
    }
    auto const force = [&](std::vector<std::string> const& names, kind type) {
      for (std::string const& name : names) {
        if (is_absent(name)) continue;
        field_column& one = find(name);
        if (one.target && one.forced && one.type != type)
          throw setting_error({.what = "a column is in both number_columns and text_columns",
                               .where = {content_->where, ", text_columns"},
                               .expected = "different columns in number_columns and text_columns",
                               .got = name});
        if (one.target) one.type = type;
        one.forced = true;
      }
    };
    force(settings_.number_columns, kind::number);
    force(settings_.text_columns, kind::text);
  }

  /// Parses all rows. Returns false if a text was found in a column that was parsed as numbers; all rows must
  /// then be parsed again. Returns at once if the text is in the first rows, otherwise after the last row.
  bool parse_rows() {
    constexpr int first_rows = 64;
    int parsed = 0;
    char const* const begin = reader_.position();
    content_->rows = 0;
    content_->row_numbers.clear();
    std::int64_t number = 0;
    mistaken_ = false;
    dropped_ = 0;
    for (field_column& one : fields_)
      if (one.target) {
        if (one.type == kind::mistaken) {
          one.type = kind::text;
          one.numbers = {};
        }
        one.numbers.clear();
        one.codes.clear();
        one.texts.clear();
        one.out_of_range = nullptr;
        one.integers = {};
        one.target->merged.clear();
      }
    for (reader_.skip_empty_lines(); !reader_.at_end(); reader_.skip_empty_lines()) {
      char const* const row = reader_.position();
      bool const complete = parse_row();
      if (mistaken_ && parsed < first_rows) return false;
      if (parsed < first_rows && ++parsed == first_rows) reserve(row - begin, first_rows);
      if (number == 0x7fffffff)
        reader_.refuse("the table has too many rows", row, "at most 2147483647", "more");
      ++number;
      if (!complete && settings_.missing == missing_values::drop) {
        if (content_->rows == number - 1) {  // the first dropped row
          content_->row_numbers.resize(static_cast<std::size_t>(content_->rows));
          std::iota(content_->row_numbers.begin(), content_->row_numbers.end(), 1);
        }
        drop_row();
        ++dropped_;
        continue;
      }
      if (content_->rows < number - 1) content_->row_numbers.push_back(static_cast<std::int32_t>(number));
      ++content_->rows;
      encode_texts();
    }
    return !mistaken_;
  }

  /// Reserves memory for all rows, whose number is estimated from the bytes of the first rows.
  void reserve(std::ptrdiff_t bytes, int rows) {
    auto const estimate =
        static_cast<std::size_t>((reader_.end() - reader_.position()) / (bytes / rows + 1)) * 17 / 16 + 1;
    for (field_column& one : fields_) {
      if (one.type == kind::number) one.numbers.reserve(estimate);
      if (one.type == kind::text) one.codes.reserve(estimate);
    }
  }

  /// Parses one row and stores its numbers; returns false if a value is missing.
  bool parse_row() {
    bool complete = true;
    std::size_t const count = fields_.size();
    for (std::size_t c = 0; c < count; ++c) {
      field_column& one = fields_[c];
      char const* const start = reader_.position();
      if (T number; one.type == kind::number && read_number(number))
        add_number(one, number, start, {start, reader_.position()});
      else
        complete &= parse_text(one);
      if (reader_.read_separator()) {
        if (c + 1 == count) refuse_fields("more");
      } else if (c + 1 < count) {
        refuse_fields(text_of({c + 1}));
      }
    }
    reader_.read_line_end();
    return complete;
  }

  /// Appends a number to its column. `start`: position of the field.
  void add_number(field_column& column, T number, char const* start, std::string_view text) {
    column.numbers.push_back(number);
    if constexpr (std::is_same_v<T, float>)
      if (merged_integers::is_large(number)) compare(column, start, text);
  }

  /// Reads a field that consists of a finite number alone and is not missing. Returns false, and reads
  /// nothing, for any other field.
  bool read_number(T& number) {
    char const* const start = reader_.position();
    if (!content_->numbers.is_plain() || !reader_.read_number(number)) return false;
    if (!has_missing_numbers_ || !is_missing({start, reader_.position()})) return true;
    reader_.rewind(start);
    return false;
  }

  [[noreturn]] void refuse_fields(std::string got) const {
    reader_.refuse("a row has the wrong number of columns", reader_.position(),
                   text_of({fields_.size(), " columns"}), std::move(got));
  }

  /// Parses a field that read_number did not read; returns false if it is missing.
  bool parse_text(field_column& one) {
    char const* const start = reader_.position();
    std::string_view const contents = reader_.read_text(one.storage);
    if (one.type == kind::skipped || one.type == kind::mistaken) return true;
    std::string_view const bare = reader_.trimmed(contents);
    if (is_missing(bare)) {
      if (settings_.missing == missing_values::refuse)
        reader_.refuse("a value is missing", start,
                       one.type == kind::text ? "a text; see table_settings::missing"
                                              : "a number; see table_settings::missing",
                       contents.empty() ? "nothing" : quote_for_error(contents), one.name);
      if (one.type == kind::number) one.numbers.push_back(std::numeric_limits<T>::quiet_NaN());
      one.misses_text = true;
      return false;
    }
    if (one.type == kind::text) {
      one.text = one.texts.key_of(contents);
      one.misses_text = false;
      if (!one.text.is_ascii && invalid_utf8_at(contents) != contents.size())
        reader_.refuse("a table is not encoded in UTF-8", start, "UTF-8", quote_for_error(contents),
                       one.name);
      return true;
    }
    if (T number;
        parse_number(bare, number) && (is_finite(number) || one.forced || !settings_.out_of_range_is_text)) {
      if (!is_finite(number)) {
        if (one.forced) refuse_range(one, start);
        if (!one.out_of_range) one.out_of_range = start;
      }
      add_number(one, number, start, bare);
      return true;
    }
    if (one.forced)
      reader_.refuse("a field is not a number", start, "a number", quote_for_error(contents), one.name);
    one.type = kind::mistaken;
    mistaken_ = true;
    one.target->is_text = true;
    one.target->first_text = quote_for_error(contents) + " at " + reader_.location(start);
    return true;
  }

  /// Throws data_error if a column of numbers contains a number that T cannot represent. Called after the
  /// last row, because a later field may show that the column is a column of texts.
  void check_range() {
    field_column* first = nullptr;
    for (field_column& one : fields_)
      if (one.type == kind::number && one.out_of_range && (!first || one.out_of_range < first->out_of_range))
        first = &one;
    if (first) refuse_range(*first, first->out_of_range);
  }

  [[noreturn]] void refuse_range(field_column& one, char const* start) {
    reader_.rewind(start);
    std::string_view const contents = reader_.read_text(one.storage);
    reader_.refuse("a number is out of range", start, text_of({"a number of type ", name_of(element_of<T>)}),
                   quote_for_error(contents), one.name);
  }

  static std::size_t first_byte(std::string_view text) {
    return text.empty() ? 0 : static_cast<unsigned char>(text.front());
  }
  static std::uint64_t size_bit(std::string_view text) {
    return std::uint64_t{1} << std::min<std::size_t>(text.size(), 63);
  }

  bool is_missing(std::string_view field) const {
    return (missing_sizes_[first_byte(field)] & size_bit(field)) != 0
           && std::ranges::find(settings_.missing_texts, field) != settings_.missing_texts.end();
  }

  /// Removes the numbers of the current row.
  void drop_row() {
    for (field_column& one : fields_)
      if (one.type == kind::number) one.numbers.pop_back();
  }

  /// Stores the codes of the current row's texts.
  void encode_texts() {
    for (field_column& one : fields_)
      if (one.type == kind::text) one.codes.push_back(one.misses_text ? -1 : one.texts.code_of(one.text));
  }

  bool is_number(std::string_view text) const {
    T number;
    return parse_number(reader_.trimmed(text), number);
  }

  bool parse_number(std::string_view text, T& number) const { return content_->numbers.parse(text, number); }

  /// Compares a large number of a column with the earlier ones. `start`: position of its field.
  [[gnu::noinline]] void compare(field_column& column, char const* start, std::string_view text) {
    if (!column.is_compared && compared_ == max_compared) return;
    compared_ += column.is_compared ? 0 : 1;
    column.is_compared = true;
    if (column.integers.has_ended()) return;
    double number = 0;
    if (!content_->numbers.parse(reader_.trimmed(text), number)) return;
    auto const other = column.integers.add(number, static_cast<std::uint64_t>(start - reader_.begin()));
    if (!other) return;
    char const* const end = reader_.position();
    reader_.rewind(reader_.begin() + *other);
    std::string storage;
    std::string_view const contents = reader_.read_text(storage);
    column.target->merged =
        text_of({reader_.trimmed(contents), " at ", reader_.location(reader_.begin() + *other), " and ",
                 reader_.trimmed(text), " at ", reader_.location(start)});
    reader_.rewind(end);
  }

  /// Counts the fields of a column of texts that are numbers, and the others.
  void count_numbers(field_column& one) const {
    std::vector<char> numeric;
    for (std::string const& text : one.target->vocabulary) numeric.push_back(is_number(text));
    for (std::int32_t const code : one.codes)
      if (code >= 0)
        ++(numeric[static_cast<std::size_t>(code)] ? one.target->number_fields : one.target->text_fields);
  }

  void finish(field_column& one) const {
    if (one.type == kind::text) {
      one.target->is_text = true;
      if (one.target->first_text.empty()) one.target->first_text = "texts (table_settings::text_columns)";
      one.target->vocabulary = one.texts.sort(one.codes);
      if (!one.forced) count_numbers(one);
      one.target->codes = std::move(one.codes);
      one.texts.clear();
    } else {
      one.target->template numbers<T>() = std::move(one.numbers);
    }
  }

  table_settings const& settings_;
  field_reader reader_;
  std::shared_ptr<table_content> content_;
  std::vector<field_column> fields_;
  std::array<std::uint64_t, 256> missing_sizes_{};  // sizes of missing texts by first byte, one bit each
  bool has_missing_numbers_ = false;                // whether a text in missing_texts is a number
  bool mistaken_ = false;
  std::int64_t dropped_ = 0;  // rows
  static constexpr int max_compared = 64;
  int compared_ = 0;  // columns
};

void check_signs(char separator, table_settings const& settings) {
  auto const check = [](char sign, char const* field, std::initializer_list<char> others) {
    bool const is_taken = std::ranges::find(others, sign) != others.end();
    if (is_taken || std::string_view("\"\r\n+-eE0123456789").find(sign) != std::string_view::npos
        || (sign & 0x80))
      throw setting_error({.what = "this character cannot have this meaning in a table",
                           .where = {"table_settings::", field},
                           .expected = "an ASCII character that has no other meaning in the table",
                           .got = quote_for_error({&sign, 1})});
  };
  check(settings.decimal, "decimal", {separator, '\0'});
  if (settings.thousands != 0) check(settings.thousands, "thousands", {settings.decimal});
  if (settings.comment != 0) check(settings.comment, "comment", {separator, settings.decimal});
}

char separator_of(std::string_view name, table_settings const& settings) {
  char const separator = settings.separator;
  if (separator == 0) {
    if (name.ends_with(".gz")) name.remove_suffix(3);
    bool const has_tabs = name.ends_with(".tsv") || name.ends_with(".tab");
    char const chosen = has_tabs ? '\t' : settings.decimal == ',' ? ';' : ',';
    check_signs(chosen, settings);
    return chosen;
  }
  if (std::string_view("\"\r\n.+-eE0123456789").find(separator) != std::string_view::npos
      || (separator & 0x80))
    throw setting_error({.what = "this character cannot separate columns",
                         .where = "table_settings::separator",
                         .expected = "an ASCII character that is not part of numbers, quotes or line ends",
                         .got = quote_for_error({&separator, 1})});
  check_signs(separator, settings);
  return separator;
}

std::vector<std::string> table_names(std::string_view text, std::string const& where,
                                     table_settings const& settings) {
  return table_parser<float>(text, where, separator_of(where, settings), settings).names();
}

data_table parse_rows(std::string_view text, std::string const& where, table_settings const& settings,
                      table_part const& part) {
  return with_real(settings.number_type, [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    table_parser<real> parser(text, where, separator_of(where, settings), settings, part.first_line);
    return data_table(parser.parse(part.names, part.rows_before));
  });
}

}  // namespace cohort::detail

namespace cohort {

data_table parse_table(std::string_view text, std::string const& where, table_settings const& settings) {
  if (settings.number_type != element_type::f32 && settings.number_type != element_type::f64)
    throw setting_error({.what = "a table cannot have numbers of this type",
                         .where = "table_settings::number_type",
                         .expected = "f32 or f64",
                         .got = {name_of(settings.number_type)}});
  char const separator = detail::separator_of(where, settings);
  return detail::with_real(settings.number_type, [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    return data_table(detail::table_parser<real>(text, where, separator, settings).parse());
  });
}

data_table read_table(std::string const& path, table_settings const& settings,
                      io::byte_source const& source) {
  if (source) {
    std::vector<std::byte> const bytes = source(path);
    return parse_table({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path, settings);
  }
  io::file_reader file(path);
  buffer const text(static_cast<std::size_t>(file.size()));  // uses huge pages: half the time of read_file
  file.read_exactly(text.data(), text.bytes());
  std::string_view const contents(text.as<char const>(), text.bytes());
  if (detail::has_gzip_magic(contents))
    throw data_error(
        {.what = "the file is compressed",
         .where = path,
         .expected = "text, or gzip::read_file of cohort/zlib.hpp as the third argument of read_table",
         .got = "a gzip file"});
  return parse_table(contents, path, settings);
}

}  // namespace cohort
