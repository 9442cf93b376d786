// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Reads a big-endian integer of 1 to 8 bytes. `next` returns the next byte.
template <class Next>
std::int64_t read_big_endian(int bytes, Next next) {
  std::uint64_t found = 0;
  for (int k = 0; k < bytes; ++k) found = found << 8 | std::uint8_t{next()};
  return bytes == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(found))
                    : static_cast<std::int64_t>(found);
}

/// Reads a length that WritableUtils::writeVInt wrote. A first byte of −112 or more is the value. A smaller
/// first byte encodes the number of bytes that follow. These bytes are the value or, if the first byte is
/// below −120, the value's complement.
template <class Next>
std::int64_t read_variable(Next next) {
  int const first = static_cast<std::int8_t>(std::uint8_t{next()});
  if (first >= -112) return first;
  bool const negative = first < -120;
  std::int64_t const value = read_big_endian(negative ? -120 - first : -112 - first, next);
  return negative ? ~value : value;
}

/// Reads bytes in memory. Returns zeros after the end.
struct bytes_in_memory {
  std::span<std::byte const> all;
  std::size_t at = 0;

  std::uint8_t operator()() {
    std::size_t const here = at++;
    return here < all.size() ? std::to_integer<std::uint8_t>(all[here]) : std::uint8_t{0};
  }
  bool is_past_end() const { return at > all.size(); }
};

/// Lists the records of a SequenceFile.
class sequence_file_indexer {
 public:
  sequence_file_indexer(std::string const& path, io::inflater const& inflate)
      : file_(path), inflate_(inflate), found_{.fields = {"key", "value"}}, next_first_(file_.size()) {}

  record_index run() {
    read_head();
    while (file_.position() < file_.size()) blocks_ ? read_block() : read_record();
    return std::move(found_);
  }

 private:
  using sync_mark = std::array<char, 16>;
  static constexpr std::uint64_t most_text = 1 << 16;  // bytes of a class name or of a text of the metadata
  static constexpr std::int64_t most_metadata = 1 << 12;
  static constexpr std::uint64_t most_block = std::uint64_t{1} << 30;    // decompressed bytes of a block
  static constexpr std::uint64_t most_lengths = std::uint64_t{1} << 26;  // bytes of the lengths of a block
  static constexpr std::size_t longest_prefix = 9;                       // bytes of a length

  [[noreturn]] void refuse(char const* what, clause expected, clause got) const {
    throw data_error({.what = {"cannot read the SequenceFile: ", what},
                      .where = {file_.path(), ", byte ", file_.position()},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  void read(void* to, std::size_t bytes) {
    std::uint64_t const rest = file_.size() - file_.position();
    if (bytes > rest) refuse("it is truncated", {bytes, " bytes"}, {rest, " bytes"});
    if (file_.read(to, bytes) < bytes) refuse("it became shorter", {bytes, " bytes"}, "fewer");
  }
  std::uint8_t byte() {
    std::uint8_t found = 0;
    read(&found, 1);
    return found;
  }
  std::int64_t big_endian() {
    return read_big_endian(4, [this] { return byte(); });
  }
  std::int64_t variable() {
    return read_variable([this] { return byte(); });
  }
  std::string text() {
    std::int64_t const bytes = variable();
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > most_text)
      refuse("a text is damaged", {"0 to ", most_text, " bytes"}, {bytes});
    std::string found(static_cast<std::size_t>(bytes), '\0');
    read(found.data(), found.size());
    return found;
  }

  void read_head() {
    std::array<char, 4> magic{};
    read(magic.data(), magic.size());
    if (std::memcmp(magic.data(), "SEQ", 3) != 0)
      refuse("it is not a SequenceFile", "SEQ at byte 0", "other bytes");
    if (magic[3] != 6) refuse("unsupported version", "version 6", {static_cast<int>(magic[3])});
    for (std::string& one : classes_) one = text();
    compressed_ = byte() != 0;
    blocks_ = byte() != 0;
    if (blocks_ && !compressed_)
      refuse("the header is damaged", "blocks that are compressed", "blocks without compression");
    if (compressed_) require_codec(text());
    std::int64_t const pairs = big_endian();
    if (pairs < 0 || pairs > most_metadata)
      refuse("its metadata is damaged", {"0 to ", most_metadata, " pairs"}, {pairs});
    for (std::int64_t k = 0; k < 2 * pairs; ++k) text();
    read(sync_.data(), sync_.size());
  }

  void require_codec(std::string const& codec) const {
    std::string const package = "org.apache.hadoop.io.compress.";
    bool const known = codec == package + "DefaultCodec" || codec == package + "DeflateCodec"
                       || codec == package + "GzipCodec";
    if (!known)
      refuse("its codec is not supported",
             "no compression, DefaultCodec or GzipCodec: rewrite the file with one of these", codec);
    if (!inflate_)
      refuse(blocks_ ? "its blocks are compressed" : "its records are compressed",
             "no compression; sequence_file(gzip::inflate) of cohort/zlib.hpp reads it", codec);
  }

  /// Reads the rest of a sync mark, after the length −1.
  void read_sync() {
    sync_mark found{};
    read(found.data(), found.size());
    if (found != sync_) refuse("a sync mark is damaged", "the sync mark of the header", "different bytes");
  }

  void read_record() {
    std::int64_t const bytes = big_endian();
    if (bytes == -1) return read_sync();
    std::int64_t const of_key = big_endian();
    std::uint64_t const begin = file_.position(), rest = file_.size() - begin;
    if (of_key < 0 || bytes < of_key)
      refuse("the lengths of a record are damaged", {"a key of 0 to ", bytes, " bytes"}, {of_key});
    if (static_cast<std::uint64_t>(bytes) > rest)
      refuse("it is truncated", {"a record of ", bytes, " bytes"}, {rest, " bytes"});
    auto const whole = static_cast<std::uint64_t>(bytes), key = static_cast<std::uint64_t>(of_key);
    found_.places.push_back(content_in_file(classes_[0], {begin, key}));
    file_.seek(begin + key);
    if (compressed_)
      add_value(whole - key);
    else
      found_.places.push_back(content_in_file(classes_[1], {begin + key, whole - key}));
    file_.seek(begin + whole);
  }

  /// Adds a value that is compressed separately.
  void add_value(std::uint64_t packed) {
    std::array<std::byte, longest_prefix> begin{};
    std::uint64_t const offset = file_.position();
    read_packed(packed);
    std::uint64_t const bytes = inflate(begin, most_block);
    field_place const place{add_block(offset, bytes), bytes};
    found_.places.push_back(
        content(classes_[1], place, std::span(begin).first(std::min<std::uint64_t>(bytes, begin.size()))));
  }

  void read_block() {
    if (std::int64_t const mark = big_endian(); mark != -1)
      refuse("a block does not begin with a sync mark", {-1}, {mark});
    read_sync();
    std::int64_t const records = variable();
    if (records < 0 || static_cast<std::uint64_t>(records) > most_lengths)
      refuse("a block is damaged", {"0 to ", most_lengths, " records"}, {records});
    // Compressed blocks may contain many empty objects. This limit bounds the memory of the index.
    std::uint64_t const most = (std::uint64_t{1} << 20) + 8 * file_.size();
    if (found_.places.size() / 2 + static_cast<std::uint64_t>(records) > most)
      refuse("the file has too many records for its size", {"at most ", most}, "more");
    std::vector<field_place> keys = read_objects(classes_[0], records),
                             values = read_objects(classes_[1], records);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      found_.places.push_back(keys[k]);
      found_.places.push_back(values[k]);
    }
  }

  /// Reads the lengths of a block's keys or values, and then the keys or values. Returns their places.
  std::vector<field_place> read_objects(std::string const& type, std::int64_t records) {
    std::uint64_t const first_byte = read_packed_buffer();
    lengths_.resize(inflate({}, most_lengths));
    inflate(lengths_, lengths_.size());
    std::vector<field_place> places;
    std::uint64_t bytes = 0;  // size of all objects
    bytes_in_memory from{lengths_};
    for (std::int64_t k = 0; k < records && !from.is_past_end(); ++k) {
      std::int64_t const length = read_variable([&] { return from(); });
      if (length < 0 || static_cast<std::uint64_t>(length) > most_block - bytes)
        refuse("a block is damaged", {"objects of at most ", most_block, " bytes"}, {length, " more bytes"});
      places.push_back({bytes, static_cast<std::uint64_t>(length)});
      bytes += static_cast<std::uint64_t>(length);
    }
    if (from.at != lengths_.size())
      refuse("a block is damaged", {records, " lengths"},
             {lengths_.size(), " bytes of lengths at byte ", first_byte});
    std::uint64_t const offset = read_packed_buffer();
    // Deflate produces at most 1032 bytes from one, so the memory is bounded by the file's size.
    if (bytes / 1032 > packed_.size())
      refuse("a block is damaged", {bytes, " bytes of keys or values"},
             {packed_.size(), " compressed bytes, which are too few"});
    objects_.resize(bytes);
    if (std::uint64_t const got = inflate(objects_, bytes); got != bytes)
      refuse("a block is damaged", {bytes, " bytes of keys or values"}, {got});
    std::uint64_t const first = add_block(offset, bytes);
    for (field_place& one : places) {
      std::span<std::byte const> const begin =
          std::span(objects_).subspan(one.offset, std::min<std::uint64_t>(one.bytes, longest_prefix));
      one = content(type, {first + one.offset, one.bytes}, begin);
    }
    return places;
  }

  /// Reads a buffer of a block, and the length before it. Returns the buffer's offset in the file.
  std::uint64_t read_packed_buffer() {
    std::int64_t const bytes = variable();
    if (bytes < 0) refuse("the length of a buffer is damaged", "0 or more bytes", {bytes});
    std::uint64_t const offset = file_.position();
    read_packed(static_cast<std::uint64_t>(bytes));
    return offset;
  }

  void read_packed(std::uint64_t bytes) {
    std::uint64_t const rest = file_.size() - file_.position();
    if (bytes > rest) refuse("it is truncated", {bytes, " compressed bytes"}, {rest, " bytes"});
    packed_.resize(bytes);
    read(packed_.data(), packed_.size());
  }

  /// Decompresses packed_.
  std::uint64_t inflate(std::span<std::byte> to, std::uint64_t max_bytes) {
    return inflate_(packed_, to, max_bytes, [this] {
      return text_of({file_.path(), ", ", packed_.size(), " bytes before byte ", file_.position()});
    });
  }

  /// Adds packed_ as a block. Returns the offset of its content.
  std::uint64_t add_block(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t const first = next_first_;
    found_.blocks.push_back({.first = first, .bytes = bytes, .offset = offset, .packed = packed_.size()});
    next_first_ += bytes;
    return first;
  }

  field_place content_in_file(std::string const& type, field_place const& object) {
    std::array<std::byte, longest_prefix> begin{};
    file_.seek(object.offset);
    auto const known = static_cast<std::size_t>(std::min<std::uint64_t>(object.bytes, begin.size()));
    read(begin.data(), known);
    return content(type, object, std::span(begin).first(known));
  }

  /// Returns the place of an object's content, without the length that some classes write before the content.
  /// `begin`: the first bytes of the object.
  field_place content(std::string_view type, field_place const& object,
                      std::span<std::byte const> begin) const {
    bool const bytes = type == "org.apache.hadoop.io.BytesWritable",
               is_text = type == "org.apache.hadoop.io.Text";
    if (!bytes && !is_text) return object;
    bytes_in_memory from{begin};
    auto const next = [&] { return from(); };
    std::int64_t const length = bytes ? read_big_endian(4, next) : read_variable(next);
    if (length < 0 || from.at > object.bytes || static_cast<std::uint64_t>(length) != object.bytes - from.at)
      refuse("the length of a key or value is damaged", {object.bytes, " bytes with the length"},
             {length, " bytes after ", from.at});
    return {object.offset + from.at, static_cast<std::uint64_t>(length)};
  }

  forward_reader file_;
  io::inflater const& inflate_;
  record_index found_;
  std::string classes_[2];
  sync_mark sync_{};
  bool compressed_ = false, blocks_ = false;
  std::uint64_t next_first_;  // offset of the next block's content
  std::vector<std::byte> packed_, lengths_, objects_;
};

}  // namespace cohort::detail

namespace cohort {

record_format sequence_file(io::inflater inflate) {
  return {
      .name = "sequence_file 2",
      .index =
          [inflate](std::string const& path) { return detail::sequence_file_indexer(path, inflate).run(); },
      .inflate = inflate};
}

}  // namespace cohort
