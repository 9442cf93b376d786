// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The bytes of one field of a record: a range of its file.
struct field_place {
  static constexpr std::uint64_t missing = ~std::uint64_t{0};

  std::uint64_t offset = missing;  ///< `missing` if the record does not have the field
  std::uint64_t bytes = 0;

  bool operator==(field_place const&) const = default;
};

/// The places of all records of one file.
///
/// Shapes    `places`: records × fields. `keys`: one per record, or empty if the format has none.
struct record_index {
  std::vector<std::string> fields{};
  std::vector<field_place> places{};
  std::vector<std::string> keys{};

  std::int64_t size() const {
    return fields.empty() ? 0 : static_cast<std::int64_t>(places.size() / fields.size());
  }
  bool operator==(record_index const&) const = default;
};

/// A format of files that contain records.
///
/// `name`        name and version of the format. It is a part of the key of a cached index.
/// `index`       reads a file from its beginning to its end, and returns its index. Throws file_error, or
///               data_error with the byte if the file is damaged.
/// `content`     checks the stored bytes of a field, and returns its content, a part of them. Throws
///               data_error; `where` returns the record's description for the message. Empty function: the
///               stored bytes are the content.
struct record_format {
  std::string name{};
  std::function<record_index(std::string const& path)> index{};
  std::function<std::span<std::byte const>(std::span<std::byte const> stored,
                                           std::function<std::string()> const& where)>
      content{};
};

namespace detail {

/// Returns an index as bytes, for a cache.
std::string encoded_index(record_index const& index);
/// Returns the index that `encoded_index` wrote; nullopt for other bytes.
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

#ifndef COHORT_CORE_COMPILED
#include <cohort/records/impl/record_index.ipp>
#endif
