// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#ifdef COHORT_CORE_COMPILED
namespace cohort::detail {

/// Every object file that is compiled against the compiled library refers to this object of its own version and settings of
/// the standard library. If the library was compiled with others, the program does not link.
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

using this_library = compiled_library<0, 1, 0, has_cxx11_strings, has_debug_containers>;

[[gnu::used]] static char const* const library_guard = &this_library::has_same_version_and_settings;

}  // namespace cohort::detail
#endif
