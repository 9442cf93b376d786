// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/random/detail/hash.hpp>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

COHORT_CORE_INLINE cached_file::cached_file(std::string folder, std::string format, char const* extension,
                                            std::string key)
    : folder_(std::move(folder)), format_(std::move(format)), key_(std::move(key)) {
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(fnv1a(key_)));
  path_ = folder_ + name + extension;
}

COHORT_CORE_INLINE std::string cached_file::read() const try {
  if (folder_.empty() || !size_of_file(path_)) return {};
  std::vector<std::byte> const bytes = io::read_file(path_, max_bytes);
  std::string_view const whole(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  std::size_t const begin = whole.find('\n');
  if (begin == whole.npos) return {};
  std::string_view const rest = whole.substr(begin + 1);
  if (rest.substr(0, key_.size()) != key_) return {};
  std::string_view const content = rest.substr(key_.size());
  return whole.substr(0, begin + 1) == header_for(content) ? std::string(content) : std::string();
} catch (file_error const&) {
  return {};
}

COHORT_CORE_INLINE void cached_file::write(std::string_view content) const try {
  if (folder_.empty()) return;
  make_folder(folder_);
  io::file_writer file(path_);
  file.write(header_for(content));
  file.write(key_);
  file.write(content);
  file.commit();
} catch (file_error const&) {
}

COHORT_CORE_INLINE std::string cached_file::header_for(std::string_view content) const {
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, ", %zu + %zu bytes, crc32c %08x\n", key_.size(), content.size(),
                io::crc32c(isa::baseline, std::as_bytes(std::span(content.data(), content.size()))));
  return format_ + numbers;
}

}  // namespace cohort::detail
