// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cohort/error/exceptions.hpp>
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
std::vector<std::string> cuda_library_folders();

/// The system's loader; why says what is wrong with a library that is there. One that is open stays open: what CUDA's register to be run at exit would outlive it.
library_source system_libraries();

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

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/shared_library.ipp>
#endif
