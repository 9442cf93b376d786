// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cohort/cudnn/detail/shared_library.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/io/data_folders.hpp>
#include <cstddef>

namespace cohort::detail {

COHORT_CUDNN_INLINE std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> folders;
  if (std::string const toolkit = environment_variable("CUDA_PATH"); !toolkit.empty())
    folders.push_back(toolkit + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  if (std::string const cache = io::cache_folder("cuda-13.0"); !cache.empty())
    folders.push_back(cache + "/lib");
  return folders;
}

/// Opens the library that NVRTC opens by its bare name when it compiles. If it is next to NVRTC but not in
/// the system's folders, NVRTC finds it only if it is already open.
COHORT_CUDNN_INLINE void open_builtins(std::string const& folder) {
  glob_t found{};
  if (::glob((folder + "/libnvrtc-builtins.so.*").c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) ::dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  ::globfree(&found);
}

COHORT_CUDNN_INLINE library_source system_libraries() {
  return {.open =
              [](std::string const& name, std::string& why) {
                void* opened = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
                if (opened) return opened;
                why = ::dlerror();
                for (std::string const& folder : cuda_library_folders()) {
                  std::string const path = folder + '/' + name;
                  if (name.rfind("libnvrtc.", 0) == 0) open_builtins(folder);
                  opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
                  if (opened) break;
                  if (::access(path.c_str(), F_OK) == 0) why = ::dlerror();
                }
                return opened;
              },
          .find = [](void* library, char const* symbol) { return ::dlsym(library, symbol); }};
}

}  // namespace cohort::detail
