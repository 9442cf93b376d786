// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/random/hash.hpp>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What can be made again, as a file in a cache: a head, the description of all that the content depends on, the content. The
/// description's hash names the file and need not be trusted: what is read is compared.
///
/// Shapes    `what`: the head's first words, as "cohort kernels 1", with a version of the content's form; `ending` of the name.
/// Errors    none: what is wrong with a file or its folder costs making the content again.
class cached_file {
 public:
  cached_file(std::string folder, std::string what, char const* ending, std::string description)
      : folder_(std::move(folder)), what_(std::move(what)), description_(std::move(description)) {
    char name[32];
    std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(fnv1a(description_)));
    path_ = folder_ + name + ending;
  }

  std::string const& path() const { return path_; }

  /// The content; "" if there is no such file, or it is damaged, or of another description whose hash is the same.
  std::string read() const try {
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

  /// As a whole or not at all. Where the folder is "" or cannot be written, nothing is.
  void write(std::string_view content) const try {
    if (folder_.empty()) return;
    make_folder(folder_);
    file_writer file(path_);
    file.write(head_of(content));
    file.write(description_);
    file.write(content);
    file.commit();
  } catch (file_error const&) {
  }

 private:
  static constexpr std::size_t largest = std::size_t{64} << 20;

  std::string head_of(std::string_view content) const {
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, ", %zu + %zu bytes, crc32c %08x\n", description_.size(),
                  content.size(),
                  crc32c(isa::baseline, std::as_bytes(std::span(content.data(), content.size()))));
    return what_ + numbers;
  }

  std::string folder_;
  std::string what_;
  std::string description_;
  std::string path_;
};

}  // namespace cohort::detail
