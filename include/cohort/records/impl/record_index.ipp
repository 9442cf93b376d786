// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/records/record_index.hpp>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

namespace cohort::detail {

/// Appends numbers and texts, or reads them in the same order. After a read beyond the end, all reads fail.
class index_bytes {
 public:
  explicit index_bytes(std::string_view from = {}) : from_(from) {}

  void put(std::uint64_t number) { written.append(reinterpret_cast<char const*>(&number), sizeof number); }
  void put(std::string const& text) {
    put(static_cast<std::uint64_t>(text.size()));
    written += text;
  }
  std::uint64_t number() {
    std::uint64_t found = 0;
    if (from_.size() < sizeof found) return fail();
    std::memcpy(&found, from_.data(), sizeof found);
    from_.remove_prefix(sizeof found);
    return found;
  }
  /// Reads a number of elements. Fails if the remaining bytes are fewer than `bytes` for each element.
  std::uint64_t count(std::uint64_t bytes) {
    std::uint64_t const found = number();
    return found > from_.size() / bytes ? fail() : found;
  }
  std::string text() {
    std::uint64_t const bytes = count(1);
    std::string found(from_.substr(0, bytes));
    from_.remove_prefix(bytes);
    return found;
  }
  bool ended() const { return good_ && from_.empty(); }

  std::string written;

 private:
  std::uint64_t fail() {
    good_ = false;
    from_ = {};
    return 0;
  }

  std::string_view from_;
  bool good_ = true;
};

std::string encoded_index(record_index const& index) {
  index_bytes to;
  for (auto const* list : {&index.fields, &index.keys}) {
    to.put(static_cast<std::uint64_t>(list->size()));
    for (std::string const& one : *list) to.put(one);
  }
  to.put(index.rows);
  to.put(static_cast<std::uint64_t>(index.places.size()));
  for (field_place const& one : index.places) {
    to.put(one.offset);
    to.put(one.bytes);
  }
  to.put(static_cast<std::uint64_t>(index.blocks.size()));
  for (packed_block const& one : index.blocks)
    for (std::uint64_t const number :
         {one.first, one.bytes, one.offset, one.packed, static_cast<std::uint64_t>(one.packing),
          std::uint64_t{one.has_fletcher32}, std::uint64_t{one.crc}, one.shuffled})
      to.put(number);
  to.put(static_cast<std::uint64_t>(index.grids.size()));
  for (chunk_grid const& grid : index.grids) {
    for (auto const* extents : {&grid.extents, &grid.chunk}) {
      to.put(static_cast<std::uint64_t>(extents->size()));
      for (std::uint64_t const extent : *extents) to.put(extent);
    }
    to.put(grid.element_bytes);
    to.put(static_cast<std::uint64_t>(grid.first));
    to.put(grid.fill);
  }
  return std::move(to.written);
}

std::optional<record_index> decoded_index(std::string_view bytes) {
  index_bytes from(bytes);
  record_index found;
  for (auto* list : {&found.fields, &found.keys}) {
    list->resize(from.count(sizeof(std::uint64_t)));
    for (std::string& one : *list) one = from.text();
  }
  found.rows = from.number();
  found.places.resize(from.count(2 * sizeof(std::uint64_t)));
  for (field_place& one : found.places) one = {from.number(), from.number()};
  found.blocks.resize(from.count(8 * sizeof(std::uint64_t)));
  for (packed_block& one : found.blocks)
    one = {from.number(),
           from.number(),
           from.number(),
           from.number(),
           static_cast<packed_block::compression>(from.number()),
           from.number() != 0,
           static_cast<std::uint32_t>(from.number()),
           from.number()};
  found.grids.resize(from.count(5 * sizeof(std::uint64_t)));
  for (chunk_grid& grid : found.grids) {
    for (auto* extents : {&grid.extents, &grid.chunk}) {
      extents->resize(from.count(sizeof(std::uint64_t)));
      for (std::uint64_t& extent : *extents) extent = from.number();
    }
    grid.element_bytes = from.number();
    grid.first = from.number();
    grid.fill = from.number();
  }
  constexpr auto most_rows = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  auto const fits = [&](field_place const& one) {  // the rows of an array end below 2^63
    return one.offset <= most_rows && (one.bytes == 0 || found.rows <= (most_rows - one.offset) / one.bytes);
  };
  bool const has_rows = found.rows <= most_rows && found.places.size() == found.fields.size()
                        && std::ranges::all_of(found.places, fits);
  bool const has_places = found.fields.empty() ? found.places.empty()  // a file without records
                                               : found.places.size() % found.fields.size() == 0;
  bool const whole = from.ended() && (found.rows > 0 ? has_rows && !found.fields.empty() : has_places)
                     && (found.keys.empty() || std::ssize(found.keys) == found.size())
                     && (found.grids.empty() || found.grids.size() == found.fields.size());
  if (!whole) return std::nullopt;
  return found;
}

/// Returns a text that identifies a file and its version. Another file, or the same file after a change, has
/// a different text.
std::string identity_of(std::string const& path) {
  constexpr std::size_t most = std::size_t{1} << 16;
  regular_file const file = open_regular_file(path, "cannot read the file");
  struct stat status {};
  ::fstat(file.descriptor(), &status);
  std::vector<std::byte> ends(2 * most);
  std::size_t used = read_at(file, path, 0, ends.data(), most);
  if (file.size() > most) used += read_at(file, path, file.size() - most, ends.data() + used, most);
  std::error_code ignored;
  std::string const whole = std::filesystem::weakly_canonical(path, ignored).string();
  return text_of({whole.empty() ? path : whole, ", ", file.size(), " bytes, ", status.st_mtim.tv_sec, ".",
                  status.st_mtim.tv_nsec, " s, crc32c ",
                  io::crc32c(best_isa(), std::span(ends).first(used))});
}

record_index index_of(std::string const& path, record_format const& format, std::string const& cache) {
  if (cache.empty()) return format.index(path);
  constexpr std::uint64_t most = std::uint64_t{1} << 34;  // 500 million records with two fields
  cached_file const kept(cache, "cohort records 5", ".index", format.name + "\n" + identity_of(path) + "\n",
                         most);
  if (std::optional<record_index> found = decoded_index(kept.read())) return *std::move(found);
  record_index made = format.index(path);
  kept.write(encoded_index(made));
  return made;
}

}  // namespace cohort::detail
