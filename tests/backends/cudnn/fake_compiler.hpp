// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/nvrtc_functions.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace cohort {

/// An NVRTC that accepts any program and records its options.
///
/// Order     only one may exist at a time: its functions have no argument that identifies the compiler.
struct fake_compiler {
  std::vector<int> architectures{75, 80, 86, 89, 90, 100, 120};
  nvrtcResult compile = NVRTC_SUCCESS;
  std::string compiler_log = "line 1: so it is";
  std::vector<std::string> compiled{};  // options of each compilation

 protected:
  detail::nvrtc_functions compiler_functions() {
    known = this;
    detail::nvrtc_functions made;
    made.version = [](int* major, int* minor) {
      *major = 13;
      *minor = 0;
      return NVRTC_SUCCESS;
    };
    made.architectures = [](int* count) {
      *count = static_cast<int>(known->architectures.size());
      return NVRTC_SUCCESS;
    };
    made.get_architectures = [](int* to) {
      for (int one : known->architectures) *to++ = one;
      return NVRTC_SUCCESS;
    };
    made.error_text = [](nvrtcResult) { return "NVRTC_ERROR_PRETENDED"; };
    made.create = [](nvrtcProgram* program, char const*, char const*, int, char const* const*,
                     char const* const*) {
      *program = reinterpret_cast<nvrtcProgram>(known);
      return NVRTC_SUCCESS;
    };
    made.destroy = [](nvrtcProgram*) { return NVRTC_SUCCESS; };
    made.compile = [](nvrtcProgram, int count, char const* const* options) {
      std::string all;
      for (int i = 0; i < count; ++i) all += (i > 0 ? " " : "") + std::string(options[i]);
      known->compiled.push_back(all);
      return known->compile;
    };
    made.log_size = [](nvrtcProgram, std::size_t* bytes) {
      *bytes = known->compiler_log.size() + 1;
      return NVRTC_SUCCESS;
    };
    made.get_log = [](nvrtcProgram, char* to) {
      std::strcpy(to, known->compiler_log.c_str());
      return NVRTC_SUCCESS;
    };
    made.cubin_size = [](nvrtcProgram, std::size_t* bytes) {
      *bytes = code().size();
      return NVRTC_SUCCESS;
    };
    made.get_cubin = [](nvrtcProgram, char* to) {
      std::memcpy(to, code().data(), code().size());
      return NVRTC_SUCCESS;
    };
    return made;
  }

 private:
  static inline fake_compiler* known = nullptr;
  static std::string code() { return "code for " + known->compiled.back(); }
};

}  // namespace cohort
