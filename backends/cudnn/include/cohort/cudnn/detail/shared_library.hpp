// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace cohort::detail {

/// Functions that open shared libraries and find their symbols: the system's functions, or replacements in
/// tests.
struct library_source {
  /// Returns a handle, or null with the reason in `why`.
  std::function<void*(std::string const& name, std::string& why)> open;
  /// Returns an address, or null.
  std::function<void*(void* library, char const* symbol)> find;
};

/// Returns the folders to search for CUDA's libraries after the system's folders: $CUDA_PATH/lib64, the
/// toolkit's folder, the cache that cmake/setup.sh --cuda fills, and the folders of NVIDIA's pip packages
/// (nvidia/*/lib) below each folder of PYTHONPATH and below the site packages of $VIRTUAL_ENV, $CONDA_PREFIX,
/// ~/.local, /usr/local and /usr.
std::vector<std::string> cuda_library_folders();

/// Returns the system's loader. If a library exists but does not load, `why` receives the loader's error.
/// Libraries are never closed, because CUDA's exit handlers still need them.
library_source system_libraries();

/// Opens the first of the libraries `names` that loads, and returns the functions that Functions::each
/// visits. `what` is the library's name in messages.
///
/// Errors    backend_error if none loads, with the reason for the first; backend_error naming a function that
///           is missing.
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
