// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/records/detail/block_cache.hpp>
#include <cohort/records/detail/block_content.hpp>
#include <cohort/records/detail/open_files.hpp>
#include <cohort/records/record_set.hpp>
#include <cstring>
#include <utility>

namespace cohort {

static_assert(sizeof(packed_block) <= 48);  // the documented memory of an index

struct record_set::content {
  struct file {
    std::uint64_t bytes = 0;
    std::int64_t first = 0;  // index of the file's first record in the set
    record_index index;
    // For each field of the set, its column in `index`; index.fields.size() if the file does not have the
    // field.
    std::vector<std::size_t> columns;
  };

  std::vector<std::string> paths;
  record_format format;
  std::uint64_t max_field_bytes;
  std::vector<file> files;
  std::vector<std::string> fields;
  std::int64_t size = 0;
  std::unique_ptr<detail::open_files> descriptors;
  std::unique_ptr<detail::block_cache<std::vector<std::byte>>> blocks;
};

record_set::record_set(std::vector<std::string> paths, record_format format,
                       record_settings const& settings) {
  if (paths.empty())
    throw setting_error(
        {.what = "no files for a record set", .where = "paths", .expected = "at least 1 path", .got = "0"});
  auto made = std::make_shared<content>();
  made->max_field_bytes = settings.max_field_bytes;
  for (std::string const& path : paths) {
    content::file one;
    one.bytes = io::file_reader(path).size();
    one.index = detail::index_of(path, format, settings.cache);
    // A cached index may have been made by the same format with a decompressor.
    auto const compressed = std::ranges::count_if(one.index.blocks, [](packed_block const& block) {
      return block.packing == packed_block::compression::stream
             || block.packing == packed_block::compression::deflate;
    });
    if (compressed > 0 && !format.inflate)
      throw data_error(
          {.what = "the file is compressed",
           .where = path,
           .expected = "no compression, or a format with gzip::inflate of cohort/zlib.hpp as an argument",
           .got = {compressed, " compressed blocks"}});
    // Reading a row of an array that is one block would otherwise unpack the block again for each row.
    std::uint64_t arrays = 0;
    for (packed_block const& block : one.index.blocks)
      if (block.packing == packed_block::compression::deflate) arrays += block.bytes;
    if (arrays > settings.max_block_bytes)
      throw data_error({.what = "the compressed arrays of a file do not fit into the cache of blocks",
                        .where = path,
                        .expected = {"at most ", settings.max_block_bytes,
                                     " bytes (record_settings::max_block_bytes), or arrays without "
                                     "compression, as numpy.savez writes them"},
                        .got = {arrays, " bytes"}});
    one.first = made->size;
    made->size += one.index.size();
    for (std::string const& field : one.index.fields)
      if (std::ranges::find(made->fields, field) == made->fields.end()) made->fields.push_back(field);
    made->files.push_back(std::move(one));
  }
  for (content::file& one : made->files)
    for (std::string const& field : made->fields)
      one.columns.push_back(
          static_cast<std::size_t>(std::ranges::find(one.index.fields, field) - one.index.fields.begin()));
  made->descriptors = std::make_unique<detail::open_files>(paths.size());
  made->blocks = std::make_unique<detail::block_cache<std::vector<std::byte>>>(
      settings.max_block_bytes,
      [](std::vector<std::byte> const& bytes) -> std::uint64_t { return bytes.size(); });
  made->paths = std::move(paths);
  made->format = std::move(format);
  content_ = std::move(made);
}

std::int64_t record_set::size() const { return content_->size; }
std::vector<std::string> const& record_set::fields() const& { return content_->fields; }
std::vector<std::string> const& record_set::paths() const& { return content_->paths; }
std::string const& record_set::grouping() const& { return content_->format.grouping; }

std::size_t record_set::field(std::string_view name) const {
  auto const found = std::ranges::find(content_->fields, name);
  if (found != content_->fields.end()) return static_cast<std::size_t>(found - content_->fields.begin());
  std::string known;
  for (std::string const& one : content_->fields) known += (known.empty() ? "" : ", ") + one;
  throw setting_error({.what = "the records do not have this field",
                       .where = content_->paths.front(),
                       .expected = {"one of ", known},
                       .got = std::string(name)});
}

record_set::place record_set::place_of(std::int64_t record) const {
  auto const after = std::ranges::upper_bound(content_->files, record, {}, &content::file::first);
  auto const file = static_cast<std::size_t>(after - content_->files.begin()) - 1;
  return {file, record - content_->files[file].first};
}

field_place record_set::field_at(place const& record, std::size_t field) const {
  content::file const& file = content_->files[record.file];
  std::size_t const column = file.columns[field];
  return column == file.index.fields.size() ? field_place() : file.index.place(record.record, column);
}

bool record_set::has(std::int64_t record, std::size_t field) const {
  return field_at(place_of(record), field).offset != field_place::missing;
}

std::uint64_t record_set::stored_bytes(std::int64_t record, std::size_t field) const {
  field_place const at = field_at(place_of(record), field);
  return at.offset == field_place::missing ? 0 : at.bytes;
}

std::span<std::byte const> record_set::read(std::int64_t record, std::size_t field,
                                            std::vector<std::byte>& memory) const {
  place const in_files = place_of(record);
  field_place const at = field_at(in_files, field);
  if (at.offset == field_place::missing)
    throw data_error(
        {.what = "a record does not have a field",
         .where = where(record),
         .expected = {"the field ", content_->fields[field], grouping().empty() ? "" : "; ", grouping()},
         .got = "none"});
  if (at.bytes > content_->max_field_bytes)
    throw data_error({.what = "a field of a record is too large",
                      .where = {where(record), ", field ", content_->fields[field]},
                      .expected = {"at most ", content_->max_field_bytes, " bytes (max_field_bytes)"},
                      .got = {at.bytes, " bytes"}});
  std::size_t const file = in_files.file;
  if (memory.size() < at.bytes) memory.resize(at.bytes);
  record_index const& index = content_->files[file].index;
  std::size_t const column = content_->files[file].columns[field];
  if (!index.grids.empty() && !index.grids[column].extents.empty())
    read_chunks(record, in_files, index.grids[column], memory.data());
  else if (at.offset >= content_->files[file].bytes && at.bytes > 0)
    read_packed(record, file, at, memory.data());
  else
    content_->descriptors->read(file, content_->paths[file], content_->files[file].bytes, at, memory.data());
  std::span<std::byte const> const stored(memory.data(), at.bytes);
  return content_->format.content ? content_->format.content(stored, [&] { return where(record); }) : stored;
}

void record_set::read_packed(std::int64_t record, std::size_t file, field_place const& at,
                             std::byte* to) const {
  std::vector<packed_block> const& blocks = content_->files[file].index.blocks;
  if (blocks.empty())
    throw file_error({.what = "a file changed after it was indexed",
                      .where = where(record),
                      .expected = {at.offset, " bytes or more before the field"},
                      .got = {content_->files[file].bytes, " bytes"}});
  auto const after = std::ranges::upper_bound(blocks, at.offset, {}, &packed_block::first);
  auto const number = static_cast<std::size_t>(after - blocks.begin()) - 1;
  auto const whole = unpacked(record, file, number);
  std::copy_n(whole->begin() + static_cast<std::ptrdiff_t>(at.offset - blocks[number].first), at.bytes, to);
}

std::shared_ptr<std::vector<std::byte> const> record_set::unpacked(std::int64_t record, std::size_t file,
                                                                   std::size_t number) const {
  packed_block const& block = content_->files[file].index.blocks[number];
  return content_->blocks->get({file, number}, [&] {
    std::vector<std::byte> stored(block.packed);
    content_->descriptors->read(file, content_->paths[file], content_->files[file].bytes,
                                {block.offset, block.packed}, stored.data());
    return detail::unpack(block, std::move(stored), content_->format.inflate, [&] { return where(record); });
  });
}

void record_set::read_chunks(std::int64_t record, place const& in_files, chunk_grid const& grid,
                             std::byte* to) const {
  std::size_t const rank = grid.extents.size(), file = in_files.file;
  auto const row = static_cast<std::uint64_t>(in_files.record);
  std::uint64_t chunks = 1;  // number of chunks that contain a part of the row
  for (std::size_t axis = 1; axis < rank; ++axis)
    chunks *= (grid.extents[axis] + grid.chunk[axis] - 1) / grid.chunk[axis];
  std::size_t const first = grid.first + static_cast<std::size_t>(row / grid.chunk[0] * chunks);
  // `begin`: index in the row of a chunk's first element. `count`: extents of the chunk's part that belongs
  // to the row. `run_begin`: index of a run in this part, 0 again after the last run.
  std::vector<std::uint64_t> begin(rank), count(rank), run_begin(rank);
  std::vector<packed_block> const& blocks = content_->files[file].index.blocks;
  for (std::size_t number = 0; number < chunks; ++number) {
    bool const is_written = blocks[first + number].packed > 0;
    auto const content = is_written ? unpacked(record, file, first + number) : nullptr;
    std::uint64_t rest = number, runs = 1;
    for (std::size_t axis = rank; axis-- > 1;) {
      std::uint64_t const along = (grid.extents[axis] + grid.chunk[axis] - 1) / grid.chunk[axis];
      begin[axis] = rest % along * grid.chunk[axis];
      rest /= along;
      count[axis] = std::min(grid.chunk[axis], grid.extents[axis] - begin[axis]);
      if (axis + 1 < rank) runs *= count[axis];
    }
    std::uint64_t const run = (rank > 1 ? count[rank - 1] : 1) * grid.element_bytes;
    for (std::uint64_t k = 0; k < runs; ++k) {
      std::uint64_t source = row % grid.chunk[0], target = 0;
      for (std::size_t axis = 1; axis < rank; ++axis) {
        source = source * grid.chunk[axis] + run_begin[axis];
        target = target * grid.extents[axis] + begin[axis] + run_begin[axis];
      }
      std::byte* const run_to = to + target * grid.element_bytes;
      if (is_written)
        std::copy_n(content->begin() + static_cast<std::ptrdiff_t>(source * grid.element_bytes), run, run_to);
      else
        for (std::uint64_t byte = 0; byte < run; byte += grid.element_bytes)
          std::memcpy(run_to + byte, &grid.fill, grid.element_bytes);
      for (std::size_t axis = rank - 1; axis-- > 1;) {  // the next run
        if (++run_begin[axis] < count[axis]) break;
        run_begin[axis] = 0;
      }
    }
  }
}

std::string_view record_set::key(std::int64_t record) const& {
  place const at = place_of(record);
  std::vector<std::string> const& keys = content_->files[at.file].index.keys;
  return keys.empty() ? std::string_view() : keys[static_cast<std::size_t>(at.record)];
}

std::string record_set::where(std::int64_t record) const {
  place const at = place_of(record);
  std::string_view const named = key(record);
  return detail::text_of(
      {content_->paths[at.file], ", record ", at.record, named.empty() ? "" : ", ", named});
}

std::vector<std::string> numbered_paths(std::string const& pattern) {
  std::size_t const open = pattern.find('{'), dots = pattern.find("..", open), close = pattern.find('}');
  if (open == pattern.npos && close == pattern.npos) return {pattern};
  auto const refuse = [&] {
    throw setting_error({.what = "invalid pattern of numbered files",
                         .where = "numbered_paths",
                         .expected = "NAME{FIRST..LAST}NAME with FIRST <= LAST and at most 1,000,000 files",
                         .got = pattern});
  };
  if (open == pattern.npos || dots == pattern.npos || close == pattern.npos || dots > close
      || pattern.find('{', open + 1) != pattern.npos)
    refuse();
  auto const number = [&](std::size_t begin, std::size_t end) {
    std::uint64_t value = 0;
    char const *const first = pattern.data() + begin, *const last = pattern.data() + end;
    auto const [stop, error] = std::from_chars(first, last, value);
    if (begin == end || stop != last || error != std::errc{}) refuse();
    return value;
  };
  std::uint64_t const first = number(open + 1, dots), last = number(dots + 2, close);
  if (first > last || last - first >= 1'000'000) refuse();
  std::size_t const digits = dots - open - 1;
  std::vector<std::string> paths;
  for (std::uint64_t k = 0; k <= last - first; ++k) {
    std::string text = std::to_string(first + k);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    paths.push_back(pattern.substr(0, open) + text + pattern.substr(close + 1));
  }
  return paths;
}

}  // namespace cohort
