// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/detail/zip_directory.hpp>
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

/// Decompresses an entry into `to`, which has the size of the entry.
void inflate_entry(zip_directory const& archive, zip_entry const& one, std::span<std::byte> to) {
  std::span<std::byte const> const packed = archive.packed(one);
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK)  // without zlib's header
    throw memory_error({.what = "zlib cannot be initialised", .where = one.name});
  std::uint64_t read = 0, made = 0;
  std::byte beyond{};  // one extra byte detects a result larger than claimed
  int code = Z_OK;
  while (code == Z_OK && made <= one.size) {
    constexpr std::uint64_t most = 1U << 30;  // zlib counts the bytes of a call in 32 bits
    auto const input = static_cast<uInt>(std::min(packed.size() - read, most));
    auto const room = static_cast<uInt>(made == one.size ? 1 : std::min(one.size - made, most));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    z.avail_in = input;
    z.next_out = reinterpret_cast<Bytef*>(made == one.size ? &beyond : to.data() + made);
    z.avail_out = room;
    code = inflate(&z, Z_NO_FLUSH);
    read += input - z.avail_in;
    made += room - z.avail_out;
  }
  inflateEnd(&z);
  if (code != Z_STREAM_END || made != one.size || read != one.packed)
    archive.refuse(one, "is damaged",
                   std::to_string(one.size) + " bytes by deflate from " + std::to_string(one.packed),
                   code == Z_STREAM_END ? std::to_string(made) + " from " + std::to_string(read)
                   : made > one.size    ? "more"
                                        : "a damaged or truncated stream");
}

/// Returns the contents of an entry. A compressed one is decompressed into `memory`.
std::span<std::byte const> read_npz_entry(zip_directory const& archive, zip_entry const& one,
                                          std::vector<std::byte>& memory) {
  std::span<std::byte const> made = archive.packed(one);
  if (one.method == 8) {
    memory.resize(static_cast<std::size_t>(one.size));
    inflate_entry(archive, one, memory);
    made = memory;
  }
  archive.expect_crc(
      one, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<Bytef const*>(made.data()), made.size())));
  return made;
}

/// A little-endian number of a record.
struct zip_number {
  std::uint64_t value;
  int width;
};

void append_record(std::string& to, std::initializer_list<zip_number> numbers) {
  for (auto const [value, width] : numbers)
    for (int i = 0; i < width; ++i) to += static_cast<char>(value >> (8 * i) & 255);
}

/// Returns the bytes of an array and its header, compressed without zlib's header.
std::vector<std::byte> deflate_array(std::string const& header, tensor_view array) {
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

npz_file npz_file::load(std::string const& path, std::size_t max_bytes) {
  return parse(io::read_file(path, max_bytes), path, max_bytes);
}

npz_file npz_file::parse(std::span<std::byte const> bytes, std::string name, std::size_t max_bytes) {
  npz_file made;
  made.name_ = std::move(name);
  detail::zip_directory const archive(bytes, ".npz file", made.name_);
  std::uint64_t sum = 0;
  for (detail::zip_entry const& one : archive.entries()) {
    if (!one.name.ends_with(".npy") || one.name.size() == 4)
      archive.refuse(one, "is not an array", "a name that ends with .npy", "another name");
    if (one.method != 0 && one.method != 8)
      archive.refuse(one, "has an unknown compression", "stored (0) or deflate (8)",
                     "method " + std::to_string(one.method));
    if (one.size > max_bytes || (sum += one.size) > max_bytes)
      archive.refuse(one, "is too large",
                     "at most " + std::to_string(max_bytes) + " bytes of all arrays, or another max_bytes",
                     std::to_string(std::max(sum, one.size)));
  }
  std::vector<std::byte> memory;
  for (detail::zip_entry const& one : archive.entries()) {
    made.arrays_.push_back(
        npy_array::parse(detail::read_npz_entry(archive, one, memory), made.name_ + ", entry " + one.name));
    made.tensors_.push_back({one.name.substr(0, one.name.size() - 4), made.arrays_.back().view()});
  }
  return made;
}

void save_npz(std::string const& path, std::span<stored_tensor const> tensors, npz_compression how) {
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
