// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/data/arrays.hpp>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/gzip_magic.hpp>
#include <cohort/records/detail/block_cache.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cohort/records/detail/open_files.hpp>
#include <cohort/records/record_index.hpp>
#include <cohort/records/table_rows.hpp>
#include <optional>
#include <utility>

namespace cohort {

namespace detail {

/// Finds the ends of a table's rows. Quotes, comments and merged separators have the same effects as for
/// field_reader.
class row_scanner {
 public:
  row_scanner(char separator, table_settings const& format)
      : separator_(separator),
        trim_(format.trim),
        merges_(format.merge_separators),
        comment_(format.comment) {}

  /// Reads one byte of the text. Returns whether this byte ends a row.
  bool read(char one) {
    if (one == '\n' && state_ != state::quoted) {
      bool const ends = is_in_row();  // an empty line is not a row
      state_ = state::row_begin;
      after_return_ = false;
      return ends;
    }
    switch (state_) {
      case state::row_begin:
        if (one == '\r' && !after_return_) {  // CR LF is an empty line, too
          after_return_ = true;
          return false;
        }
        after_return_ = false;
        if (merges_ && separator_ == one) return false;
        if (comment_ != 0 && comment_ == one) {
          state_ = state::comment;
          return false;
        }
        [[fallthrough]];
      case state::field_begin:
        state_ = one == '"'               ? state::quoted
                 : one == separator_      ? state::field_begin
                 : trim_ && is_blank(one) ? state::field_begin
                                          : state::unquoted;
        return false;
      case state::unquoted:
        if (one == separator_) state_ = state::field_begin;
        return false;
      case state::quoted:
        if (one == '"') state_ = state::after_quote;
        return false;
      case state::comment:
        return false;
      case state::after_quote:
        state_ = one == '"' ? state::quoted : one == separator_ ? state::field_begin : state::unquoted;
        return false;
    }
    return false;
  }

  /// Returns whether bytes after the last end of a row belong to a row.
  bool is_in_row() const { return state_ != state::row_begin && state_ != state::comment; }

 private:
  enum class state { row_begin, comment, field_begin, unquoted, quoted, after_quote };

  bool is_blank(char one) const { return (one == ' ' || one == '\t') && one != separator_; }

  char separator_;
  bool trim_, merges_, after_return_ = false;
  char comment_;
  state state_ = state::row_begin;
};

/// Fields of a table's index. A record of the index is a part of the file. In "rows", `offset` is the index
/// of the part's first row, and `bytes` is the number of its rows. In "line", `offset` is the line number of
/// the part's first line.
enum table_part_field : std::size_t { text_field, rows_field, line_field };

/// Lists parts of about `block_bytes` bytes that consist of whole rows. If the table has a header, the header
/// is the first part.
class table_indexer {
 public:
  table_indexer(std::string const& path, char separator, table_rows_settings const& settings)
      : file_(path),
        scanner_(separator, settings.format),
        block_bytes_(settings.block_bytes),
        has_header_(settings.format.header.value_or(true)),
        found_{.fields = {"text", "rows", "line"}} {}

  record_index run() {
    std::vector<char> piece(std::size_t{1} << 18);
    while (std::size_t const bytes = file_.read(piece.data(), piece.size())) {
      if (at_ == 0) skip_mark({piece.data(), bytes});
      for (std::size_t k = at_ - (file_.position() - bytes); k < bytes; ++k) {
        ++at_;
        if (scanner_.read(piece[k])) end_row();
        line_ += piece[k] == '\n';
        if (piece[k] == '\n' && !scanner_.is_in_row()) row_begin_ = at_, row_line_ = line_;
      }
      if (at_ - row_begin_ > most_row)
        throw data_error({.what = "a row of the table is too long",
                          .where = {file_.path(), ':', row_line_},
                          .expected = {"at most ", most_row, " bytes; a quoted field may be unclosed"},
                          .got = "more"});
    }
    if (scanner_.is_in_row()) end_row();
    end_part();
    return std::move(found_);
  }

 private:
  static constexpr std::uint64_t most_row = std::uint64_t{64} << 20;

  /// Skips a byte order mark.
  void skip_mark(std::string_view begin) {
    if (begin.starts_with("\xef\xbb\xbf")) at_ = part_begin_ = row_begin_ = 3;
  }

  void end_row() {
    ++rows_;
    bool const is_header = has_header_ && found_.places.empty();
    row_begin_ = at_;
    row_line_ = line_ + 1;
    if (is_header || at_ - part_begin_ >= block_bytes_) end_part();
  }

  void end_part() {
    if (rows_ > 0) {
      bool const is_header = has_header_ && found_.places.empty();
      found_.places.push_back({part_begin_, at_ - part_begin_});
      found_.places.push_back({first_row_, is_header ? 0 : rows_});
      found_.places.push_back({part_line_, 0});
      if (!is_header) first_row_ += rows_;
    }
    rows_ = 0;
    part_begin_ = at_;
    part_line_ = line_ + 1;  // the row's line end is not counted yet
  }

  forward_reader file_;
  row_scanner scanner_;
  std::uint64_t block_bytes_;
  bool has_header_;
  record_index found_;
  std::uint64_t at_ = 0, row_begin_ = 0, part_begin_ = 0;  // offsets in bytes
  std::uint64_t line_ = 1, row_line_ = 1, part_line_ = 1;
  std::uint64_t rows_ = 0;       // rows in the current part
  std::uint64_t first_row_ = 0;  // first row of the current part
};

}  // namespace detail

namespace detail {

/// Returns the size of a file.  Errors: data_error for a compressed file.
std::uint64_t bytes_of_table(std::string const& path) {
  forward_reader file(path);
  std::array<char, 2> begin{};
  if (file.read(begin.data(), begin.size()) == begin.size() && has_gzip_magic({begin.data(), begin.size()}))
    throw data_error({.what = "the file is compressed",
                      .where = path,
                      .expected = "text: gunzip the file first, because its rows are read in any order",
                      .got = "a gzip file"});
  return file.size();
}

}  // namespace detail

struct table_rows::content {
  struct file {
    std::uint64_t bytes = 0;
    std::int64_t first = 0;  // index of the first row
    record_index index{};
    field_place place(std::size_t part, detail::table_part_field field) const {
      return index.place(static_cast<std::int64_t>(part), field);
    }
    std::uint64_t rows() const {
      field_place const last = place(static_cast<std::size_t>(index.size()) - 1, detail::rows_field);
      return last.offset + last.bytes;
    }
  };

  std::vector<std::string> paths;
  table_rows_settings settings;
  std::vector<std::string> names;
  std::vector<file> files;
  std::int64_t size = 0;
  mutable detail::open_files descriptors;

  explicit content(std::size_t count) : descriptors(count) {}

  /// Returns the text of the parts `first` to `last` of a file.
  std::string text(std::size_t file, std::size_t first, std::size_t last) const {
    std::uint64_t const begin = files[file].place(first, detail::text_field).offset;
    field_place const end = files[file].place(last, detail::text_field);
    std::string made(end.offset + end.bytes - begin, '\0');
    descriptors.read(file, paths[file], files[file].bytes, {begin, made.size()},
                     reinterpret_cast<std::byte*>(made.data()));
    return made;
  }

  /// The number of the first part that contains rows.
  std::size_t first_part() const { return settings.format.header.value_or(true) ? 1 : 0; }

  /// Returns the index of the file that contains row `row`, counted over all files.
  std::size_t file_of(std::int64_t row) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(files, row, {}, &file::first) - files.begin())
           - 1;
  }

  /// The part of a file that contains its row `row`.
  std::size_t part_of(std::size_t file, std::uint64_t row) const {
    std::size_t first = first_part(), last = static_cast<std::size_t>(files[file].index.size());
    while (last - first > 1) {
      std::size_t const middle = first + (last - first) / 2;
      (files[file].place(middle, detail::rows_field).offset <= row ? first : last) = middle;
    }
    return first;
  }

  /// Consecutive rows of a file.
  struct row_range {
    std::uint64_t first, count, line;
  };

  /// Parses rows of a file from their text.
  data_table parse(std::string_view rows, std::size_t file, row_range const& range,
                   table_settings const& how) const {
    data_table made = detail::parse_rows(rows, paths[file], how,
                                         {.names = names,
                                          .first_line = static_cast<std::int64_t>(range.line),
                                          .rows_before = static_cast<std::int64_t>(range.first)});
    if (static_cast<std::uint64_t>(made.rows()) != range.count)
      throw data_error({.what = "the file changed after it was indexed",
                        .where = {paths[file], ':', range.line},
                        .expected = {range.count, " rows in this part"},
                        .got = {made.rows()}});
    return made;
  }

  /// Parses a part of a file.
  data_table parse(std::size_t file, std::size_t part, table_settings const& how) const {
    field_place const rows = files[file].place(part, detail::rows_field);
    return parse(text(file, part, part), file,
                 {rows.offset, rows.bytes, files[file].place(part, detail::line_field).offset}, how);
  }
};

namespace detail {

/// The data set that table_rows::examples returns.
class table_row_examples {
 public:
  table_row_examples(std::shared_ptr<table_rows::content const> rows, table_encoder encoder)
      : rows_(std::move(rows)),
        encoder_(std::move(encoder)),
        format_(rows_->settings.format),
        blocks_(std::make_shared<detail::block_cache<arrays>>(rows_->settings.max_block_bytes, bytes_of)) {
    format_.columns.clear();
    format_.number_columns.clear();
    format_.text_columns.clear();
    auto const add = [&](std::string const& name, bool is_text) {
      format_.columns.push_back(name);
      (is_text ? format_.text_columns : format_.number_columns).push_back(name);
    };
    for (encoded_column const& one : encoder_.columns()) add(one.name, one.is_text);
    bool const has_target = std::ranges::find(rows_->names, encoder_.target()) != rows_->names.end();
    if (!encoder_.target().empty() && has_target) add(encoder_.target(), !encoder_.label_names().empty());
    if (rows_->size == 0)
      throw data_error({.what = "a data set of a table needs rows",
                        .where = rows_->paths.front(),
                        .expected = "at least 1 row in the files",
                        .got = "0"});
    description_ = block(rows_->file_of(0), rows_->first_part())->describe();
  }

  data_description const& describe() const { return description_; }
  std::int64_t size() const { return rows_->size; }

  void get(std::int64_t i, example_view& out) const {
    std::size_t const file = rows_->file_of(i);
    table_rows::content::file const& from = rows_->files[file];
    auto const row = static_cast<std::uint64_t>(i - from.first);
    std::size_t const part = rows_->part_of(file, row);
    // The example points into the block until the thread's next request.
    thread_local std::shared_ptr<arrays const> current;
    current = block(file, part);
    current->get(static_cast<std::int64_t>(row - from.place(part, detail::rows_field).offset), out);
  }

 private:
  std::shared_ptr<arrays const> block(std::size_t file, std::size_t part) const {
    return blocks_->get({file, part}, [&] { return encoder_.examples(rows_->parse(file, part, format_)); });
  }

  static std::uint64_t bytes_of(arrays const& rows) {
    std::uint64_t bytes = 0;  // size of a row
    for (std::size_t part = 0; part < rows.describe().parts(); ++part) {
      tensor_description const& one = rows.describe().part(part);
      bytes += static_cast<std::uint64_t>(one.example.elements()) * cohort::bytes_of(one.stored);
    }
    return bytes * static_cast<std::uint64_t>(rows.size());
  }

  std::shared_ptr<table_rows::content const> rows_;
  table_encoder encoder_;
  table_settings format_;
  std::shared_ptr<detail::block_cache<arrays>> blocks_;
  data_description description_;
};

}  // namespace detail

table_rows::table_rows(std::vector<std::string> paths, table_rows_settings const& settings) {
  if (paths.empty())
    throw setting_error({.what = "the rows of a table need files",
                         .where = "paths",
                         .expected = "at least 1 path",
                         .got = "0"});
  if (settings.format.missing == missing_values::drop)
    throw setting_error({.what = "rows of large tables cannot be dropped",
                         .where = "table_rows_settings::format.missing",
                         .expected = "refuse or keep",
                         .got = "drop"});
  if (settings.format.number_type != element_type::f32 && settings.format.number_type != element_type::f64)
    throw setting_error({.what = "a table cannot have numbers of this type",
                         .where = "table_rows_settings::format.number_type",
                         .expected = "f32 or f64",
                         .got = {name_of(settings.format.number_type)}});
  if (settings.block_bytes == 0)
    throw setting_error({.what = "the block size is 0",
                         .where = "table_rows_settings::block_bytes",
                         .expected = "at least 1",
                         .got = "0"});
  auto made = std::make_shared<content>(paths.size());
  made->paths = std::move(paths);
  made->settings = settings;
  for (std::size_t k = 0; k < made->paths.size(); ++k) {
    std::string const& path = made->paths[k];
    char const separator = detail::separator_of(path, settings.format);
    content::file one{.bytes = detail::bytes_of_table(path), .first = made->size};
    record_format const parts{
        .name = detail::text_of({"table_rows 1, separator ", static_cast<int>(separator), ", merged ",
                                 static_cast<int>(settings.format.merge_separators), ", comment ",
                                 static_cast<int>(settings.format.comment), ", trim ",
                                 static_cast<int>(settings.format.trim), ", header ",
                                 static_cast<int>(settings.format.header.value_or(true)), ", blocks of ",
                                 settings.block_bytes}),
        .index = [&](std::string const& of) { return detail::table_indexer(of, separator, settings).run(); }};
    one.index = detail::index_of(path, parts, settings.cache);
    made->files.push_back(std::move(one));
    content::file const& file = made->files.back();
    auto const count = static_cast<std::size_t>(file.index.size());
    if (count == 0 || (count == made->first_part() && !settings.format.may_be_empty))
      throw data_error(
          {.what = "the table has no rows", .where = path, .expected = "at least 1 row", .got = "0"});
    std::vector<std::string> names = detail::table_names(made->text(k, 0, 0), path, settings.format);
    if (k > 0 && names != made->names)
      throw data_error({.what = "the tables have different columns",
                        .where = path,
                        .expected = detail::listed_columns(made->names),
                        .got = detail::listed_columns(names)});
    made->names = std::move(names);
    made->size += static_cast<std::int64_t>(file.rows());
  }
  content_ = std::move(made);
}

std::int64_t table_rows::size() const { return content_->size; }
std::vector<std::string> const& table_rows::columns() const& { return content_->names; }

data_table table_rows::read(std::int64_t first, std::int64_t count) const {
  if (first < 0 || first > size() || count < 0)
    throw setting_error({.what = "there are no such rows",
                         .where = "table_rows::read",
                         .expected = {"a first row from 0 to ", size(), " and a number from 0 on"},
                         .got = {first, " and ", count}});
  table_settings how = content_->settings.format;
  how.may_be_empty = true;
  std::size_t const number = content_->file_of(first);
  content::file const& file = content_->files[number];
  auto const begin = static_cast<std::uint64_t>(first - file.first);
  std::uint64_t const wanted = std::min(static_cast<std::uint64_t>(count), file.rows() - begin);
  if (wanted == 0) return content_->parse("", number, {begin, 0, 1}, how);
  std::size_t const part = content_->part_of(number, begin);
  std::string const text = content_->text(number, part, content_->part_of(number, begin + wanted - 1));
  detail::row_scanner scanner(detail::separator_of(content_->paths[number], how), how);
  std::size_t at = 0;
  std::uint64_t line = file.place(part, detail::line_field).offset;
  auto const skip = [&](std::uint64_t rows) {
    for (; rows > 0 && at < text.size(); ++at) {
      if (scanner.read(text[at])) --rows;
      line += text[at] == '\n';
    }
  };
  skip(begin - file.place(part, detail::rows_field).offset);
  content::row_range const range{begin, wanted, line};
  std::size_t const from = at;
  skip(wanted);
  return content_->parse(std::string_view(text).substr(from, at - from), number, range, how);
}

void table_rows::for_each_block(std::function<void(data_table const&)> const& use) const {
  for_each_block(use, [](data_error const& problem) { throw problem; });
}

void table_rows::for_each_block(std::function<void(data_table const&)> const& use,
                                std::function<void(data_error const&)> const& damaged) const {
  for (std::size_t file = 0; file < content_->files.size(); ++file)
    for (auto part = static_cast<std::int64_t>(content_->first_part());
         part < content_->files[file].index.size(); ++part) {
      std::optional<data_table> rows;
      try {
        auto const k = static_cast<std::size_t>(part);
        rows = content_->parse(file, k, content_->settings.format);
      } catch (data_error const& problem) {
        damaged(problem);
      }
      if (rows) use(*rows);
    }
}

dataset table_rows::examples(table_encoder const& encoder) const {
  return detail::table_row_examples(content_, encoder);
}

}  // namespace cohort
