// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/random/hash.hpp>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

COHORT_CORE_INLINE cached_file::cached_file(std::string folder, std::string what, char const* ending,
                                            std::string description)
    : folder_(std::move(folder)), what_(std::move(what)), description_(std::move(description)) {
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(fnv1a(description_)));
  path_ = folder_ + name + ending;
}

COHORT_CORE_INLINE std::string cached_file::read() const try {
  if (folder_.empty() || !size_of_file(path_)) return {};
  std::vector<std::byte> const bytes = read_file(path_, largest);
  std::string_view const whole(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  std::size_t const begin = whole.find('\n');
  if (begin == whole.npos) return {};
  std::string_view const rest = whole.substr(begin + 1);
  if (rest.substr(0, description_.size()) != description_) return {};
  std::string_view const content = rest.substr(description_.size());
  return whole.substr(0, begin + 1) == head_of(content) ? std::string(content) : std::string();
} catch (file_error const&) {
  return {};
}

COHORT_CORE_INLINE void cached_file::write(std::string_view content) const try {
  if (folder_.empty()) return;
  make_folder(folder_);
  file_writer file(path_);
  file.write(head_of(content));
  file.write(description_);
  file.write(content);
  file.commit();
} catch (file_error const&) {
}

COHORT_CORE_INLINE std::string cached_file::head_of(std::string_view content) const {
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, ", %zu + %zu bytes, crc32c %08x\n", description_.size(),
                content.size(),
                crc32c(isa::baseline, std::as_bytes(std::span(content.data(), content.size()))));
  return what_ + numbers;
}

}  // namespace cohort::detail
