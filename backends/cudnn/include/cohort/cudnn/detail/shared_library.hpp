// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/io/data_folders.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace cohort::detail {

/// How shared libraries and their functions are found: by the system, or as a test wants them.
struct library_source {
  /// A handle, or null and why.
  std::function<void*(std::string const& name, std::string& why)> open;
  /// An address, or null.
  std::function<void*(void* library, char const* symbol)> find;
};

/// Where CUDA's libraries are looked for after the system's own places: $CUDA_PATH, the toolkit's folder, and the cache
/// that cmake/setup.sh --cuda fills.
inline std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> folders;
  if (std::string const toolkit = environment_variable("CUDA_PATH"); !toolkit.empty())
    folders.push_back(toolkit + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  if (std::string const cache = cache_folder("cuda-13.0"); !cache.empty()) folders.push_back(cache + "/lib");
  return folders;
}

/// What NVRTC opens by its bare name when it compiles: where it lies beside it, and not in the system's places, it is found if it is
/// open already.
inline void open_builtins(std::string const& folder) {
  glob_t found{};
  if (::glob((folder + "/libnvrtc-builtins.so.*").c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) ::dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  ::globfree(&found);
}

/// The system's loader; why says what is wrong with a library that is there. One that is open stays open: what CUDA's register to be run at exit would outlive it.
inline library_source system_libraries() {
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

/// A table of functions, which are its `each`, from the first of `names` that opens. `what` is the library's name for a user.
///
/// Errors    backend_error where none opens, with the reason of the first; where a function is missing, naming it.
template <class Functions>
Functions load_functions(library_source const& from, char const* what, std::span<std::string const> names) {
  void* library = nullptr;
  std::string name, why;
  for (std::string const& candidate : names) {
    std::string reason;
    library = from.open(candidate, reason);
    if (why.empty()) why = reason;
    name = candidate;
    if (library) break;
  }
  if (!library) throw backend_error({.what = {what, " cannot be loaded"}, .where = why});
  Functions made;
  made.each([&](char const* symbol, auto& function) {
    void* const found = from.find(library, symbol);
    if (!found) throw backend_error({.what = {what, " lacks a function"}, .where = name, .expected = symbol});
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  });
  return made;
}

}  // namespace cohort::detail
