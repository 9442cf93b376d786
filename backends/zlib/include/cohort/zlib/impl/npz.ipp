// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/zip_writer.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/npz.hpp>
#include <cohort/zlib/detail/zip_contents.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Returns a .npy header and its array, deflated (raw, without zlib's header).
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
    deflate(&z, Z_FINISH);  // `packed` is large enough
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
    if (one.size > max_bytes || (sum += one.size) > max_bytes)
      archive.refuse(one, "is too large",
                     "at most " + std::to_string(max_bytes) + " bytes of all arrays, or another max_bytes",
                     std::to_string(std::max(sum, one.size)));
  }
  std::vector<std::byte> memory;
  for (detail::zip_entry const& one : archive.entries()) {
    std::string const name = one.name.substr(0, one.name.size() - 4),
                      where = made.name_ + ", entry " + one.name;
    auto const contents = detail::contents_of_entry(archive, one, archive.packed(one), memory);
    if (std::string type = detail::unread_npy_type(contents, where); !type.empty()) {
      made.tensors_.push_back({name, {nullptr, element_type::f32, {0}}, std::move(type)});
      continue;
    }
    made.arrays_.push_back(npy_array::parse(contents, where));
    made.tensors_.push_back({name, made.arrays_.back().view()});
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
  std::uint64_t most = 0;  // upper bound of the file's size
  for (stored_tensor const& one : tensors) {
    if (one.name.empty() || one.name.size() > 1000 || !names.insert(one.name).second)
      refuse(one.name, "unique names of 1 to 1000 bytes", "this name");
    if (!one.unread_type.empty())
      refuse(one.name, "a tensor with data", "type " + detail::quote_for_error(one.unread_type));
    headers.push_back(detail::npy_header(one.view.type, one.view.dims));
    std::uint64_t const size = headers.back().size() + one.view.bytes();
    most += size + size / 1000 + 200 + 2 * one.name.size();
    if (most >= detail::zip_format::full || names.size() >= 0xffff)
      refuse(one.name, "less than 4 GiB and 65535 tensors; a safetensors file has no such limit", "more");
  }

  io::file_writer file(path);
  detail::zip_writer archive(file);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    stored_tensor const& one = tensors[i];
    std::string const& header = headers[i];
    std::span<std::byte const> const data(one.view.data, one.view.bytes());
    std::uint64_t const size = header.size() + data.size();
    auto crc = crc32_z(0, reinterpret_cast<Bytef const*>(header.data()), header.size());
    if (!data.empty())  // a null pointer would reset crc32_z
      crc = crc32_z(crc, reinterpret_cast<Bytef const*>(data.data()), data.size());
    bool const is_compressed = how == npz_compression::deflate;
    std::vector<std::byte> packed;
    if (is_compressed) packed = detail::deflate_array(header, one.view);
    archive.begin({.name = one.name + ".npy",
                   .method = is_compressed ? 8U : 0U,
                   .crc = static_cast<std::uint32_t>(crc),
                   .packed = is_compressed ? packed.size() : size,
                   .size = size});
    if (is_compressed) {
      file.write(reinterpret_cast<char const*>(packed.data()), packed.size());
    } else {
      file.write(header);
      file.write(reinterpret_cast<char const*>(data.data()), data.size());
    }
  }
  archive.finish();
  file.commit();
}

}  // namespace cohort
