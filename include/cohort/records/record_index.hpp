// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/io/inflater.hpp>
#include <cohort/records/detail/implementation.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Place of one field of a record: a byte range of the record's file, or of the content of a packed block.
struct field_place {
  static constexpr std::uint64_t missing = ~std::uint64_t{0};

  std::uint64_t offset = missing;  ///< `missing` if the record does not have the field
  std::uint64_t bytes = 0;

  bool operator==(field_place const&) const = default;
};

/// A part of a file whose content must be unpacked: a compressed part, or a chunk of an array.
struct packed_block {
  /// none: not compressed. stream: a stream of zlib or gzip. deflate: without header and checksum, as in zip
  /// archives. lzf: LibLZF.
  enum class compression : std::uint8_t { none, stream, deflate, lzf };

  std::uint64_t first = 0;   ///< offset that field_place uses for the first byte of the block's content
  std::uint64_t bytes = 0;   ///< size of the content
  std::uint64_t offset = 0;  ///< position of the stored bytes in the file
  std::uint64_t packed = 0;  ///< number of the stored bytes; 0: a chunk of the grid's `fill`
  compression packing = compression::stream;
  bool has_fletcher32 = false;  ///< the stored bytes end with the Fletcher-32 of the bytes before
  std::uint32_t crc = 0;        ///< of compression::deflate: the CRC-32 of the content
  /// If not 0: the content is elements of this size, stored as all first bytes, then all second ones, ….
  std::uint64_t shuffled = 0;

  bool operator==(packed_block const&) const = default;
};

/// Chunks of an array (N, ...) of rows. Each chunk is a block whose content is in row-major order. Chunks
/// that extend beyond the array are padded.
struct chunk_grid {
  std::vector<std::uint64_t> extents{};  ///< extents of the array; empty: its rows are not in chunks
  std::vector<std::uint64_t> chunk{};    ///< extents of each chunk
  std::uint64_t element_bytes = 0;
  /// Index of the array's first block. Its blocks are in row-major order of the chunks.
  std::size_t first = 0;
  std::uint64_t fill = 0;  ///< bytes of the elements of a chunk that was never written, in their order

  bool operator==(chunk_grid const&) const = default;
};

/// Index of one file: the places of the fields of all records.
///
/// Shapes    `places`: records × fields. If `rows` is not 0, the fields are rows of arrays: there are `rows`
///           records, `places` contains only the places of record 0, and each array's rows are contiguous (in
///           the file or in a block) or in the chunks of a grid. `grids`: empty, or one per field. `keys`:
///           one per record, or empty if the format has no keys. `blocks`: in the order of `first`; empty for
///           a file that is not packed.
/// Units     offsets below the file's size refer to the file. All other offsets refer to the contents of the
///           blocks, one after the other: blocks.front().first is the file's size.
struct record_index {
  std::vector<std::string> fields{};
  std::vector<field_place> places{};
  std::vector<std::string> keys{};
  std::vector<packed_block> blocks{};
  std::vector<chunk_grid> grids{};
  std::uint64_t rows = 0;

  std::int64_t size() const {
    return static_cast<std::int64_t>(rows > 0 ? rows : fields.empty() ? 0 : places.size() / fields.size());
  }
  /// Returns the place of a field of a record.
  field_place place(std::int64_t record, std::size_t field) const {
    auto const number = static_cast<std::size_t>(record);
    if (rows == 0) return places[number * fields.size() + field];
    return {places[field].offset + number * places[field].bytes, places[field].bytes};
  }
  bool operator==(record_index const&) const = default;
};

/// A format of files that contain records.
///
/// `name`        name and version of the format; part of the key of a cached index.
/// `index`       reads a file from beginning to end and returns its index. Throws file_error; data_error with
///               the byte if the file is damaged.
/// `inflate`     decompresses the blocks of an index; may be empty if no block is compressed.
/// `grouping`    the rule that groups files or bytes into records, for the message about a missing field; may
///               be empty.
/// `content`     checks the stored bytes of a field, for example a checksum, and returns the field's content;
///               may be empty. `where` describes the record for the message of a data_error.
struct record_format {
  std::string name{};
  std::function<record_index(std::string const& path)> index{};
  std::function<std::span<std::byte const>(std::span<std::byte const> stored,
                                           std::function<std::string()> const& where)>
      content{};
  io::inflater inflate{};
  std::string grouping{};
};

namespace detail {

/// Returns an index as bytes, for a cache.
std::string encoded_index(record_index const& index);
/// Returns the index that `encoded_index` encoded as `bytes`; nullopt for any other bytes.
std::optional<record_index> decoded_index(std::string_view bytes);

/// Returns the index of a file: the cached one if the cache folder contains an index of the same file,
/// otherwise the result of format.index. Two files are the same if path, size, time of the last change and a
/// checksum of their first and last 64 KiB are equal.
///
/// Parameters  `cache`: a folder; "" for no cache.
/// Errors    those of format.index. An unusable cache is ignored.
record_index index_of(std::string const& path, record_format const& format, std::string const& cache);

}  // namespace detail

}  // namespace cohort
