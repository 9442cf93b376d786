// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cohort/cudnn/detail/shared_library.hpp>
#include <cohort/io/data_folders.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

/// Returns the existing paths that match a pattern, sorted.
std::vector<std::string> paths_like(std::string const& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

/// Returns glob patterns of the folders in which Python searches for packages.
std::vector<std::string> python_package_folders() {
  std::vector<std::string> folders;
  std::string const listed = environment_variable("PYTHONPATH");
  for (std::size_t begin = 0; begin < listed.size();) {
    std::size_t const end = std::min(listed.find(':', begin), listed.size());
    if (end > begin) folders.push_back(listed.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string const home = environment_variable("HOME");
  for (std::string const& prefix :
       {environment_variable("VIRTUAL_ENV"), environment_variable("CONDA_PREFIX"),
        home.empty() ? home : home + "/.local", std::string("/usr/local"), std::string("/usr")})
    if (!prefix.empty()) folders.push_back(prefix + "/lib/python3*/*-packages");
  return folders;
}

std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> folders;
  if (std::string const toolkit = environment_variable("CUDA_PATH"); !toolkit.empty())
    folders.push_back(toolkit + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  if (std::string const cache = io::cache_folder("cuda-13.0"); !cache.empty())
    folders.push_back(cache + "/lib");
  for (std::string const& packages : python_package_folders())
    for (std::string& found : paths_like(packages + "/nvidia/*/lib")) folders.push_back(std::move(found));
  return folders;
}

/// Opens libnvrtc-builtins, which NVRTC opens by its bare name when it compiles. If the library is next to
/// NVRTC but not in the system's folders, NVRTC finds it only if it is already open.
void open_builtins(std::string const& folder) {
  for (std::string const& path : paths_like(folder + "/libnvrtc-builtins.so.*"))
    ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

library_source system_libraries() {
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
