// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/version.hpp>
#include <string>

#ifdef COHORT_CORE_COMPILED
namespace cohort::detail {

/// Every object file that is compiled against the compiled library refers to this object. Its type contains
/// the library's version and the settings of the standard library. If the library was compiled with another
/// version or other settings, the program does not link.
template <int major, int minor, int patch, bool cxx11_strings, bool debug_containers>
struct compiled_library {
  static char const has_same_version_and_settings;
};

#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI == 0
inline constexpr bool has_cxx11_strings = false;
#else
inline constexpr bool has_cxx11_strings = true;
#endif
#ifdef _GLIBCXX_DEBUG
inline constexpr bool has_debug_containers = true;
#else
inline constexpr bool has_debug_containers = false;
#endif

/// Part k of the version: 0 major, 1 minor, 2 patch.
constexpr int version_part(int k) {
  int part = 0;
  for (char const c : version) {
    if (c == '.')
      --k;
    else if (k == 0)
      part = 10 * part + (c - '0');
  }
  return part;
}

using this_library = compiled_library<version_part(0), version_part(1), version_part(2), has_cxx11_strings,
                                      has_debug_containers>;

[[gnu::used]] static char const* const library_guard = &this_library::has_same_version_and_settings;

}  // namespace cohort::detail
#endif
