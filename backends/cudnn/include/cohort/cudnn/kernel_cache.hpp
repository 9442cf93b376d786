// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/file_writer.hpp>
#include <cohort/checkpoint/folder.hpp>
#include <cohort/codec/crc32c.hpp>
#include <cohort/cudnn/compile_kernels.hpp>
#include <cohort/data/file.hpp>
#include <cohort/random/hash.hpp>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Machine code of one program for one compute capability, as a file: a head, all that the code depends on, the code.
class kernel_file {
 public:
  kernel_file(std::string folder, std::string description)
      : folder_(std::move(folder)), description_(std::move(description)) {
    char name[32];
    std::snprintf(name, sizeof name, "/%016llx.cubin", static_cast<unsigned long long>(fnv1a(description_)));
    path_ = folder_ + name;
  }

  std::string const& path() const { return path_; }

  /// The code; "" if there is no such file, or it is damaged, or another program's whose hash is the same.
  std::string read() const try {
    if (!size_of_file(path_)) return {};
    std::vector<std::byte> const bytes = read_file(path_, largest);
    std::string_view const whole(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    std::size_t const begin = whole.find('\n');
    if (begin == whole.npos) return {};
    std::string_view const rest = whole.substr(begin + 1);
    if (rest.substr(0, description_.size()) != description_) return {};
    std::string_view const code = rest.substr(description_.size());
    return whole.substr(0, begin + 1) == head_of(code) ? std::string(code) : std::string();
  } catch (file_error const&) {
    return {};
  }

  /// Where the folder cannot be written, nothing is: the next program compiles again.
  void write(std::string_view code) const try {
    make_folder(folder_);
    file_writer file(path_);
    file.write(head_of(code));
    file.write(description_);
    file.write(code);
    file.commit();
  } catch (file_error const&) {
  }

 private:
  static constexpr std::size_t largest = std::size_t{64} << 20;

  std::string head_of(std::string_view code) const {
    char head[96];
    std::snprintf(head, sizeof head, "cohort kernels 1, %zu + %zu bytes, crc32c %08x\n", description_.size(),
                  code.size(), crc32c(isa::baseline, std::as_bytes(std::span(code.data(), code.size()))));
    return head;
  }

  std::string folder_;
  std::string description_;
  std::string path_;
};

/// A program's machine code for a compute capability: from its file in the folder, else compiled and put there. An empty folder
/// is none.
///
/// Errors    backend_error as compile_kernels. What is wrong with a file or the folder costs a compilation, no more.
inline std::string cached_kernels(nvrtc_functions const& compiler, std::string const& program, int capability,
                                  std::string const& folder) {
  if (folder.empty()) return compile_kernels(compiler, program, capability);
  int major = 0, minor = 0;
  compiler.version(&major, &minor);
  std::string description = "NVRTC " + std::to_string(major) + '.' + std::to_string(minor);
  for (std::string const& option : kernel_options(capability)) description += ' ' + option;
  kernel_file const file(folder, description + '\n' + program);
  std::string code = file.read();
  if (!code.empty()) return code;
  code = compile_kernels(compiler, program, capability);
  file.write(code);
  return code;
}

}  // namespace cohort::detail
