// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks how a program is compiled. Every header with an implementation file includes this one, directly or
// indirectly.
#include <cohort/version.hpp>

#if __cplusplus < 202002L
#error "cohort: expected C++20 or newer (-std=c++20)"
#endif
#ifndef __cpp_exceptions
#error "cohort: expected exceptions; remove -fno-exceptions"
#endif
#ifndef __cpp_rtti
#error "cohort: expected run-time type information; remove -fno-rtti"
#endif
#ifdef _GLIBCXX_DEBUG
#error "cohort: expected the release containers, got _GLIBCXX_DEBUG; _GLIBCXX_ASSERTIONS is supported"
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI == 0
#error "cohort: expected the C++11 strings of libstdc++; remove -D_GLIBCXX_USE_CXX11_ABI=0"
#endif
#ifdef slots
#error "cohort: the macro `slots` is defined; include Cohort's headers before Qt's, or define QT_NO_KEYWORDS"
#endif

#ifdef COHORT_CORE_COMPILED
namespace cohort::detail {

/// Every object file that is compiled against the compiled library refers to this object. Its type contains
/// the library's version. A program of another version does not link.
template <int major, int minor, int patch>
struct compiled_library {
  static char const has_this_version;
};

/// Part k of the version: 0 major, 1 minor, 2 patch.
constexpr int version_part(int k) {
  int part = 0;
  for (char const c : library_version) {
    if (c == '.')
      --k;
    else if (k == 0)
      part = 10 * part + (c - '0');
  }
  return part;
}

using this_library = compiled_library<version_part(0), version_part(1), version_part(2)>;

// `retain` keeps the reference when the linker removes unused sections.
#if __has_cpp_attribute(gnu::retain)
[[gnu::used, gnu::retain]]
#else
[[gnu::used]]
#endif
static char const* const library_guard = &this_library::has_this_version;

}  // namespace cohort::detail
#endif
