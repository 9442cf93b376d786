// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cstdio>
#include <span>
#include <utility>

namespace cohort::detail {

cached_file::cached_file(std::string folder, std::string format, char const* extension, std::string key,
                         std::uint64_t max_bytes)
    : folder_(std::move(folder)), format_(std::move(format)), key_(std::move(key)), max_bytes_(max_bytes) {
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(fnv1a(key_)));
  path_ = folder_ + name + extension;
}

std::string cached_file::read() const try {
  if (folder_.empty() || !io::size_of_file(path_)) return {};
  std::string whole = io::read_text(path_, max_bytes_);
  std::size_t const begin = whole.find('\n');
  if (begin == whole.npos || whole.compare(begin + 1, key_.size(), key_) != 0) return {};
  std::size_t const prefix = begin + 1 + key_.size();
  std::string_view const content = std::string_view(whole).substr(prefix);
  if (whole.compare(0, begin + 1, header_for(content)) != 0) return {};
  whole.erase(0, prefix);  // in place: an index may be large
  return whole;
} catch (error const&) {  // file_error; data_error for a file that is too large
  return {};
}

void cached_file::write(std::string_view content) const try {
  if (folder_.empty()) return;
  std::string const header = header_for(content);
  if (header.size() + key_.size() + content.size() > max_bytes_) return;
  io::make_folder(folder_);
  io::file_writer file(path_);
  file.write(header);
  file.write(key_);
  file.write(content);
  file.commit();
} catch (file_error const&) {
}

std::string cached_file::header_for(std::string_view content) const {
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, ", %zu + %zu bytes, crc32c %08x\n", key_.size(), content.size(),
                io::crc32c(machine_isa(), std::as_bytes(std::span(content.data(), content.size()))));
  return format_ + numbers;
}

}  // namespace cohort::detail
