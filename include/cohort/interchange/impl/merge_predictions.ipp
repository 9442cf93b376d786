// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/key_runs.hpp>
#include <cohort/interchange/detail/merge_predictions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

[[noreturn]] void refuse_part(std::string const& path, clause expected, clause got) {
  throw data_error({.what = "a part file is damaged or of another run",
                    .where = path,
                    .expected = std::move(expected),
                    .got = {got, "; remove the file, then the next run computes it again"}});
}

/// Copies the rest of a file in pieces of 1 MB; calls visit(piece) and progress.
template <class Visit>
void copy_rest(io::file_reader& from, io::file_writer& to, std::string& buffer, Visit visit,
               std::function<void()> const& progress) {
  buffer.resize(std::size_t{1} << 20);
  while (std::size_t const count = from.read(buffer.data(), buffer.size())) {
    visit(std::string_view(buffer).substr(0, count));
    to.write(buffer.data(), count);
    progress();
  }
}

void expect_prefix(io::file_reader& file, std::string const& wanted, char const* what) {
  std::string begin(std::min<std::uint64_t>(wanted.size(), file.size()), '\0');
  file.read_exactly(begin.data(), begin.size());
  if (begin != wanted) refuse_part(file.path(), what, "other bytes");
}

/// Appends the rows of all CSV parts, and checks their number.
void append_csv_parts(prediction_layout const& layout, io::file_writer& to,
                      std::function<void()> const& progress) {
  std::string const header = layout.header();
  std::string buffer;
  for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
    io::file_reader from(layout.part(c, csv_suffix));
    expect_prefix(from, header, "the header with these outputs");
    std::int64_t rows = 0;
    bool quoted = false, ended = true;
    copy_rest(
        from, to, buffer,
        [&](std::string_view piece) {
          for (char const one : piece) {
            if (one == '"') quoted = !quoted;
            if (one == '\n' && !quoted) ++rows;
          }
          ended = piece.back() == '\n';
        },
        progress);
    if (rows != layout.chunks[c].examples.count || !ended)
      refuse_part(from.path(), {layout.chunks[c].examples.count, " rows"},
                  {rows, ended ? "" : " and an incomplete row"});
  }
}

/// Returns the width in bytes of the text keys in a part file.
std::size_t text_width(std::string const& path) {
  io::file_reader file(path);
  std::string begin(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 128)), '\0');
  file.read_exactly(begin.data(), begin.size());
  constexpr std::string_view before = "'|S";
  std::size_t const at = begin.find(before);
  std::size_t width = 0;
  if (at != begin.npos)
    std::from_chars(begin.data() + at + before.size(), begin.data() + begin.size(), width);
  if (width < 1 || width > longest_key) refuse_part(path, "keys of at most 65536 bytes", {width});
  return width;
}

/// One array of the result, and the row widths of its part files.
struct merged_array {
  prediction_array array;
  std::size_t row_bytes;              // size of a row in the result
  std::vector<std::size_t> widths{};  // widths of text keys, by chunk; empty for other arrays

  std::string part_header(prediction_layout const& layout, std::size_t c) const {
    return array.header(layout.chunks[c].examples.count, widths.empty() ? 0 : widths[c]);
  }
  std::size_t part_row_bytes(std::size_t c) const { return widths.empty() ? row_bytes : widths[c]; }
};

std::vector<merged_array> merged_arrays_of(prediction_layout const& layout) {
  std::vector<merged_array> all;
  for (prediction_array const& one : layout.arrays()) {
    merged_array& made = all.emplace_back(merged_array{one, one.row_bytes});
    if (one.type == "|S") {
      made.row_bytes = 1;
      for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
        made.widths.push_back(text_width(layout.part(c, one.suffix)));
        made.row_bytes = std::max(made.row_bytes, made.widths.back());
      }
    }
    for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
      io::file_reader part(layout.part(c, one.suffix));
      std::string const header = made.part_header(layout, c);
      expect_prefix(part, header, "an array with this shape");
      std::uint64_t const bytes =
          header.size()
          + static_cast<std::uint64_t>(layout.chunks[c].examples.count) * made.part_row_bytes(c);
      if (part.size() != bytes) refuse_part(part.path(), {bytes, " bytes"}, {part.size()});
    }
  }
  return all;
}

void append_npy_parts(prediction_layout const& layout, merged_array const& one, io::file_writer& to,
                      std::function<void()> const& progress) {
  std::string buffer, narrow;
  for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
    io::file_reader from(layout.part(c, one.array.suffix));
    expect_prefix(from, one.part_header(layout, c), "an array with this shape");
    if (one.part_row_bytes(c) == one.row_bytes) {
      copy_rest(
          from, to, buffer, [](std::string_view) {}, progress);
      continue;
    }
    std::size_t const width = one.part_row_bytes(c), at_once = (std::size_t{1} << 20) / one.row_bytes + 1;
    auto remaining = static_cast<std::size_t>(layout.chunks[c].examples.count);
    while (remaining > 0) {
      std::size_t const rows = std::min(remaining, at_once);
      narrow.resize(rows * width);
      from.read_exactly(narrow.data(), narrow.size());
      buffer.assign(rows * one.row_bytes, '\0');
      for (std::size_t i = 0; i < rows; ++i)
        std::memcpy(buffer.data() + i * one.row_bytes, narrow.data() + i * width, width);
      to.write(buffer);
      progress();
      remaining -= rows;
    }
  }
}

/// Random access to the rows of the part files, with at most 128 open files.
class part_rows {
 public:
  part_rows(prediction_layout const& layout, std::string suffix)
      : layout_(layout), suffix_(std::move(suffix)) {}

  /// Returns the size of a chunk's part file in bytes.
  std::uint64_t size(std::size_t chunk) { return opened(chunk).file.size(); }
  void read(std::size_t chunk, std::uint64_t offset, char* into, std::size_t bytes) {
    part const& from = opened(chunk);
    if (std::size_t const got = read_at(from.file, from.path, offset, into, bytes); got < bytes)
      refuse_part(from.path, {bytes - got, " more bytes"}, "the end of the file");
  }

 private:
  struct part {
    explicit part(std::string of) : path(std::move(of)) {}
    std::string path;
    regular_file file = open_regular_file(path, "cannot read the part file");
  };
  part const& opened(std::size_t chunk) {
    auto const found = open_.find(chunk);
    if (found != open_.end()) return found->second;
    constexpr std::size_t most = 128;
    if (open_.size() == most) {
      auto const closed = open_.upper_bound(chunk);  // closes any file, because the reads have no order
      open_.erase(closed == open_.end() ? open_.begin() : closed);
    }
    return open_.try_emplace(chunk, layout_.part(chunk, suffix_)).first->second;
  }

  prediction_layout const& layout_;
  std::string suffix_;
  std::map<std::size_t, part> open_;
};

constexpr std::size_t runs_at_once = 64;  // number of sorted files that are merged at once

/// Calls visit(entry) for all keys in ascending order.
template <class Visit>
void for_each_key(prediction_layout const& layout, Visit visit, std::function<void()> const& progress) {
  std::vector<std::string> runs;
  for (std::size_t c = 0; c < layout.chunks.size(); ++c) runs.push_back(layout.part(c, key_run_suffix));
  runs = reduce_key_runs(std::move(runs), layout.folder() + "/merge", runs_at_once, progress);
  merged_key_runs merged(runs);
  key_entry now, former;
  std::int64_t count = 0;
  for (; merged.next(now); ++count, std::swap(now, former)) {
    if (now.row < 0 || now.row >= layout.rows)
      refuse_part(layout.folder(), {"rows below ", layout.rows}, {now.row});
    if (count > 0 && now.key == former.key)
      throw data_error({.what = "two examples have the same key",
                        .where = {layout.path, ", key ",
                                  layout.keys == key_type::integer ? std::to_string(integer_of(now.key))
                                                                   : quote_for_error(now.key)},
                        .expected = "one example per key (or prediction_order::examples)",
                        .got = {layout.example_of(former.row), " and ", layout.example_of(now.row)}});
    visit(now);
  }
  if (count != layout.rows) refuse_part(layout.folder(), {layout.rows, " keys"}, {count});
}

/// Collects rows, and writes them in pieces of 1 MB.
class row_writer {
 public:
  row_writer(std::string const& path, std::function<void()> const& progress)
      : file_(path), progress_(progress) {}
  /// Returns memory for the next row.
  char* add(std::size_t bytes) {
    if (text_.size() >= std::size_t{1} << 20) flush();
    text_.resize(text_.size() + bytes);
    return text_.data() + text_.size() - bytes;
  }
  void add(std::string_view text) { std::ranges::copy(text, add(text.size())); }
  void flush() {
    file_.write(text_);
    text_.clear();
    progress_();
  }
  io::file_writer& file() { return file_; }

 private:
  io::file_writer file_;
  std::function<void()> const& progress_;
  std::string text_;
};

void merge_csv(prediction_layout const& layout, std::function<void()> const& progress) {
  row_writer to(layout.path, progress);
  to.add(layout.header());
  if (layout.sorted()) {
    part_rows rows(layout, std::string(csv_suffix));
    for_each_key(
        layout,
        [&](key_entry const& one) {
          std::size_t const c = layout.chunk_of(one.row);
          if (one.bytes > rows.size(c))
            refuse_part(layout.part(c, key_run_suffix), {"a row of at most ", rows.size(c), " bytes"},
                        {one.bytes});
          char* const row = to.add(static_cast<std::size_t>(one.bytes));
          rows.read(c, one.offset, row, static_cast<std::size_t>(one.bytes));
          if (one.bytes == 0 || row[one.bytes - 1] != '\n')
            refuse_part(layout.part(c, csv_suffix), "a row", "other bytes");
        },
        progress);
  }
  to.flush();
  if (!layout.sorted()) append_csv_parts(layout, to.file(), progress);
  to.file().commit();
}

void merge_npy(prediction_layout const& layout, std::function<void()> const& progress) {
  std::vector<merged_array> const arrays = merged_arrays_of(layout);
  std::vector<std::unique_ptr<row_writer>> to;
  std::vector<std::unique_ptr<part_rows>> rows;
  std::vector<std::vector<std::uint64_t>> firsts;  // byte of the first row, by array and chunk
  for (merged_array const& one : arrays) {
    to.push_back(std::make_unique<row_writer>(layout.file(one.array.suffix), progress));
    to.back()->add(one.array.header(layout.rows, one.row_bytes));
    rows.push_back(std::make_unique<part_rows>(layout, one.array.suffix));
    std::vector<std::uint64_t>& first = firsts.emplace_back();
    for (std::size_t c = 0; c < layout.chunks.size(); ++c) first.push_back(one.part_header(layout, c).size());
  }
  if (layout.sorted())
    for_each_key(
        layout,
        [&](key_entry const& one) {
          std::size_t const c = layout.chunk_of(one.row);
          auto const local = static_cast<std::uint64_t>(one.row - layout.chunks[c].row);
          for (std::size_t a = 0; a < arrays.size(); ++a) {
            std::size_t const bytes = arrays[a].part_row_bytes(c);
            char* const row = to[a]->add(arrays[a].row_bytes);
            std::fill(row, row + arrays[a].row_bytes, '\0');
            rows[a]->read(c, firsts[a][c] + local * bytes, row, bytes);
          }
        },
        progress);
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    to[a]->flush();
    if (!layout.sorted()) append_npy_parts(layout, arrays[a], to[a]->file(), progress);
  }
  for (auto const& one : to) one->file().commit();
}

void merge_predictions(prediction_layout const& layout, std::function<void()> const& progress) {
  if (layout.format == prediction_format::csv)
    merge_csv(layout, progress);
  else
    merge_npy(layout, progress);
}

}  // namespace cohort::detail
