// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zlib.h>
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/npz.hpp>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

namespace cohort::detail {

inline constexpr std::uint32_t zip_local_signature = 0x04034b50, zip_central_signature = 0x02014b50,
                               zip_end_signature = 0x06054b50;
inline constexpr std::size_t zip_local_bytes = 30, zip_central_bytes = 46, zip_end_bytes = 22;
inline constexpr std::uint32_t zip64_mark = 0xffffffff;

/// An entry of a zip archive, as its directory describes it.
struct zip_entry {
  std::string name;
  unsigned flags, method;
  std::uint32_t crc;
  std::uint64_t packed, size;  // bytes
  std::uint64_t local;         // byte of its local header
  std::uint64_t data = 0;      // byte of its data
};

/// Reads the directory of a zip archive in memory.
class npz_directory {
 public:
  npz_directory(std::span<std::byte const> bytes, std::string const& where, std::size_t max_bytes)
      : bytes_(bytes), where_(where) {
    std::size_t const end = find_end();
    if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0 || number(end + 8, 2) != number(end + 10, 2))
      refuse(end, "an archive of one part", "a part of several");
    std::uint64_t const count = number(end + 10, 2), size = number(end + 12, 4), first = number(end + 16, 4);
    if (count == 0xffff || size == zip64_mark || first == zip64_mark)
      refuse(end, "an archive of less than 4 GiB", "zip64");
    if (first > end || size != end - first)
      refuse(end, "a directory that ends here",
             std::to_string(size) + " bytes from byte " + std::to_string(first));
    read_entries(count, static_cast<std::size_t>(first), end);
    find_data(static_cast<std::size_t>(first), max_bytes);
  }

  std::vector<zip_entry> const& entries() const { return entries_; }

  /// Returns the contents of an entry. If it is compressed, decompresses it into `memory`.
  std::span<std::byte const> read(zip_entry const& one, std::vector<std::byte>& memory) const {
    auto const packed =
        bytes_.subspan(static_cast<std::size_t>(one.data), static_cast<std::size_t>(one.packed));
    std::span<std::byte const> made = packed;
    if (one.method == 8) {
      memory.resize(static_cast<std::size_t>(one.size));
      inflate_entry(one, packed, memory);
      made = memory;
    }
    if (crc_of(made) != one.crc)
      refuse(one, "is damaged", "the CRC-32 of its directory entry", "another one");
    return made;
  }

  static std::uint32_t crc_of(std::span<std::byte const> bytes) {
    return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
  }

  [[noreturn]] void refuse(zip_entry const& one, char const* what, std::string expected,
                           std::string got) const {
    throw data_error({.what = {"cannot read the .npz file: an entry ", what},
                      .where = {where_, ", entry ", quote_for_error(one.name)},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

 private:
  [[noreturn]] void refuse(std::size_t byte, std::string expected, std::string got) const {
    throw data_error({.what = "cannot read the .npz file",
                      .where = {where_, ", byte ", byte},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  /// Returns a little-endian number.  Before: the file has its bytes.
  std::uint64_t number(std::size_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at + i]);
    return value;
  }

  /// Returns the byte of the end record, whose comment ends the file.
  std::size_t find_end() const {
    constexpr std::size_t longest_comment = 0xffff;
    if (bytes_.size() >= zip_end_bytes)
      for (std::size_t back = 0; back <= std::min(longest_comment, bytes_.size() - zip_end_bytes); ++back) {
        std::size_t const at = bytes_.size() - zip_end_bytes - back;
        if (number(at, 4) == zip_end_signature && number(at + 20, 2) == back) return at;
      }
    refuse(0, "a zip archive, which ends with its directory",
           std::to_string(bytes_.size()) + " bytes without one");
  }

  void read_entries(std::uint64_t count, std::size_t at, std::size_t end) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (end - at < zip_central_bytes || number(at, 4) != zip_central_signature)
        refuse(at, "entry " + std::to_string(i + 1) + " of " + std::to_string(count), "no entry");
      std::size_t const name = static_cast<std::size_t>(number(at + 28, 2));
      std::size_t const bytes = zip_central_bytes + name + static_cast<std::size_t>(number(at + 30, 2))
                                + static_cast<std::size_t>(number(at + 32, 2));
      if (end - at < bytes)
        refuse(at, "an entry that ends in the directory", std::to_string(bytes) + " bytes");
      entries_.push_back(
          {.name = std::string(reinterpret_cast<char const*>(bytes_.data()) + at + zip_central_bytes, name),
           .flags = static_cast<unsigned>(number(at + 8, 2)),
           .method = static_cast<unsigned>(number(at + 10, 2)),
           .crc = static_cast<std::uint32_t>(number(at + 16, 4)),
           .packed = number(at + 20, 4),
           .size = number(at + 24, 4),
           .local = number(at + 42, 4)});
      zip_entry const& one = entries_.back();
      if (one.packed == zip64_mark || one.size == zip64_mark || one.local == zip64_mark)
        refuse(one, "is too large", "less than 4 GiB", "zip64");
      if ((one.flags & 1) != 0) refuse(one, "is encrypted", "an entry without encryption", "encryption");
      if (one.method != 0 && one.method != 8)
        refuse(one, "has another compression", "stored (0) or deflate (8)",
               "method " + std::to_string(one.method));
      at += bytes;
    }
    if (at != end) refuse(at, "the end of the directory", std::to_string(end - at) + " more bytes");
  }

  /// Finds the data of all entries, which must not overlap, and checks their sizes.
  void find_data(std::size_t directory, std::size_t max_bytes) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    std::uint64_t sum = 0;
    for (zip_entry& one : entries_) {
      if (one.local > directory || directory - one.local < zip_local_bytes
          || number(static_cast<std::size_t>(one.local), 4) != zip_local_signature)
        refuse(one, "is damaged", "a local header", "none at byte " + std::to_string(one.local));
      auto const local = static_cast<std::size_t>(one.local);
      one.data = one.local + zip_local_bytes + number(local + 26, 2) + number(local + 28, 2);
      if (one.data > directory || one.packed > directory - one.data)
        refuse(one, "is truncated", std::to_string(one.packed) + " bytes before the directory",
               std::to_string(one.data > directory ? 0 : directory - one.data));
      // deflate codes at most 258 bytes by one bit for a length and one for a distance
      std::uint64_t const most = one.method == 0 ? one.packed : one.packed * 1032;
      if (one.size > most || (one.method == 0 && one.size != one.packed))
        refuse(one, "has an impossible size",
               "at most " + std::to_string(most) + " bytes from " + std::to_string(one.packed),
               std::to_string(one.size));
      sum += one.size;
      if (sum > max_bytes)
        refuse(one, "is too large", "at most " + std::to_string(max_bytes) + " bytes of all arrays",
               std::to_string(sum));
      ranges.emplace_back(one.local, one.data + one.packed);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first < ranges[i - 1].second)
        refuse(static_cast<std::size_t>(ranges[i].first), "entries that do not overlap",
               "two with the same bytes");
  }

  void inflate_entry(zip_entry const& one, std::span<std::byte const> packed,
                     std::span<std::byte> into) const {
    z_stream z{};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)  // without zlib's header
      throw memory_error({.what = "zlib cannot be initialised", .where = where_});
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    z.avail_in = static_cast<uInt>(packed.size());  // less than 4 GiB
    std::byte beyond{};                             // one extra byte detects a result larger than claimed
    z.next_out = reinterpret_cast<Bytef*>(into.empty() ? &beyond : into.data());
    z.avail_out = static_cast<uInt>(into.empty() ? 1 : into.size());
    int code = inflate(&z, Z_FINISH);
    if (code == Z_BUF_ERROR && z.avail_out == 0 && !into.empty()) {
      z.next_out = reinterpret_cast<Bytef*>(&beyond);
      z.avail_out = 1;
      code = inflate(&z, Z_FINISH);
    }
    std::uint64_t const made = z.total_out, rest = z.avail_in;
    inflateEnd(&z);
    if (code != Z_STREAM_END || made != one.size || rest != 0)
      refuse(one, "is damaged",
             std::to_string(one.size) + " bytes by deflate from " + std::to_string(one.packed),
             code == Z_STREAM_END ? std::to_string(made) + " from " + std::to_string(one.packed - rest)
             : made > one.size    ? "more"
                                  : "a damaged or truncated stream");
  }

  std::span<std::byte const> bytes_;
  std::string const& where_;
  std::vector<zip_entry> entries_;
};

/// A little-endian number of a record.
struct zip_number {
  std::uint64_t value;
  int width;
};

COHORT_ZLIB_INLINE void append_record(std::string& to, std::initializer_list<zip_number> numbers) {
  for (auto const [value, width] : numbers)
    for (int i = 0; i < width; ++i) to += static_cast<char>(value >> (8 * i) & 255);
}

/// Returns the bytes of an array and its header, compressed without zlib's header.
COHORT_ZLIB_INLINE std::vector<std::byte> deflate_array(std::string const& header, tensor_view array) {
  z_stream z{};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw memory_error({.what = "zlib cannot be initialised"});
  try {
    std::vector<std::byte> packed(deflateBound(&z, header.size() + array.bytes()) + 16);
    z.next_out = reinterpret_cast<Bytef*>(packed.data());
    z.avail_out = static_cast<uInt>(packed.size());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(header.data()));
    z.avail_in = static_cast<uInt>(header.size());
    deflate(&z, Z_NO_FLUSH);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(array.data));
    z.avail_in = static_cast<uInt>(array.bytes());
    deflate(&z, Z_FINISH);  // the bound suffices
    packed.resize(z.total_out);
    deflateEnd(&z);
    return packed;
  } catch (...) {
    deflateEnd(&z);
    throw;
  }
}

}  // namespace cohort::detail

namespace cohort {

COHORT_ZLIB_INLINE npz_file npz_file::load(std::string const& path, std::size_t max_bytes) {
  return parse(io::read_file(path, max_bytes), path, max_bytes);
}

COHORT_ZLIB_INLINE npz_file npz_file::parse(std::span<std::byte const> bytes, std::string name,
                                            std::size_t max_bytes) {
  npz_file made;
  made.name_ = std::move(name);
  detail::npz_directory const archive(bytes, made.name_, max_bytes);
  std::set<std::string_view> names;
  std::vector<std::byte> memory;
  for (detail::zip_entry const& one : archive.entries()) {
    if (!one.name.ends_with(".npy") || one.name.size() == 4)
      archive.refuse(one, "is not an array", "a name that ends with .npy", "this name");
    if (!names.insert(one.name).second)
      archive.refuse(one, "exists twice", "different names", "two of this name");
    made.arrays_.push_back(npy_array::parse(archive.read(one, memory), made.name_ + ", entry " + one.name));
    made.tensors_.push_back({one.name.substr(0, one.name.size() - 4), made.arrays_.back().view()});
  }
  return made;
}

COHORT_ZLIB_INLINE void save_npz(std::string const& path, std::span<stored_tensor const> tensors,
                                 npz_compression how) {
  auto const refuse = [&](std::string const& name, std::string expected, std::string got) {
    throw data_error({.what = "cannot write the .npz file",
                      .where = {path, ", tensor ", detail::quote_for_error(name)},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  std::set<std::string_view> names;
  std::vector<std::string> headers;
  std::uint64_t most = detail::zip_end_bytes;  // bytes of the file, compressed or not
  for (stored_tensor const& one : tensors) {
    if (one.name.empty() || one.name.size() > 1000 || !names.insert(one.name).second)
      refuse(one.name, "unique names of 1 to 1000 bytes", "this name");
    headers.push_back(detail::npy_header(one.view.type, one.view.dims));
    std::uint64_t const size = headers.back().size() + one.view.bytes();
    most += size + size / 1000 + 100 + detail::zip_local_bytes + detail::zip_central_bytes
            + 2 * (one.name.size() + 4);
    if (most >= detail::zip64_mark || names.size() >= 0xffff)
      refuse(one.name, "less than 4 GiB and 65535 tensors; a safetensors file has no such limit", "more");
  }

  io::file_writer file(path);
  std::string directory;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    stored_tensor const& one = tensors[i];
    std::string const& header = headers[i];
    std::span<std::byte const> const data(one.view.data, one.view.bytes());
    std::uint64_t const size = header.size() + data.size();
    auto crc = crc32_z(0, reinterpret_cast<Bytef const*>(header.data()), header.size());
    if (!data.empty())  // crc32_z begins anew at a null pointer
      crc = crc32_z(crc, reinterpret_cast<Bytef const*>(data.data()), data.size());
    std::vector<std::byte> packed;
    if (how == npz_compression::deflate) packed = detail::deflate_array(header, one.view);
    // Fields that the local header and the directory share: version 2.0, UTF-8 names, method, 1 January 1980,
    // sizes.
    bool const compressed = how == npz_compression::deflate;
    std::uint64_t const stored = compressed ? packed.size() : size;
    std::string shared, local;
    detail::append_record(shared, {{20, 2},
                                   {0x800, 2},
                                   {compressed ? 8U : 0U, 2},
                                   {0, 2},
                                   {33, 2},
                                   {crc, 4},
                                   {stored, 4},
                                   {size, 4},
                                   {one.name.size() + 4, 2},
                                   {0, 2}});
    detail::append_record(local, {{detail::zip_local_signature, 4}});
    local += shared + one.name + ".npy";
    detail::append_record(directory, {{detail::zip_central_signature, 4}, {20, 2}});
    directory += shared;
    detail::append_record(directory, {{0, 2}, {0, 2}, {0, 2}, {0, 4}, {at, 4}});
    directory += one.name + ".npy";
    file.write(local);
    if (compressed) {
      file.write(reinterpret_cast<char const*>(packed.data()), packed.size());
    } else {
      file.write(header);
      file.write(reinterpret_cast<char const*>(data.data()), data.size());
    }
    at += local.size() + stored;
  }
  std::string end;
  detail::append_record(end, {{detail::zip_end_signature, 4},
                              {0, 2},
                              {0, 2},
                              {tensors.size(), 2},
                              {tensors.size(), 2},
                              {directory.size(), 4},
                              {at, 4},
                              {0, 2}});
  file.write(directory);
  file.write(end);
  file.commit();
}

}  // namespace cohort
