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

namespace cohort::detail {

/// Types that describe how a source is compiled. A linker error shows them in the undefined symbol's name.
template <int major, int minor, int patch>
struct version;
struct exact_mathematics;
struct fast_mathematics;
struct no_sanitizer;
struct address_sanitizer;
struct memory_sanitizer;
struct thread_sanitizer;
struct baseline_instructions;
struct avx2_instructions;
struct avx512_instructions;

template <class Version, class Mathematics, class Sanitizer, class Instructions>
struct build;

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

// clang-format off
using this_build = build<
    version<version_part(0), version_part(1), version_part(2)>,
#ifdef __FAST_MATH__
    fast_mathematics,
#else
    exact_mathematics,
#endif
#ifdef __has_feature
#define COHORT_HAS_FEATURE(name) __has_feature(name)
#else
#define COHORT_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || COHORT_HAS_FEATURE(address_sanitizer)
    address_sanitizer,
#elif defined(__SANITIZE_THREAD__) || COHORT_HAS_FEATURE(thread_sanitizer)
    thread_sanitizer,
#elif COHORT_HAS_FEATURE(memory_sanitizer)
    memory_sanitizer,
#else
    no_sanitizer,
#endif
#undef COHORT_HAS_FEATURE
#if defined(__AVX512F__)
    avx512_instructions>;
#elif defined(__AVX2__) || defined(__FMA__)
    avx2_instructions>;
#else
    baseline_instructions>;
#endif
// clang-format on

}  // namespace cohort::detail

// Every object file refers to an object of the implementation. A program does not link if the implementation
// is missing, or has another version or other flags. The symbol's name states the remedy. SOURCE is
// cohort_src_hpp, or cohort_onednn_src_hpp for <cohort/onednn/src.hpp>. `retain` keeps the reference when the
// linker removes unused sections.
#if __has_cpp_attribute(gnu::retain)
#define COHORT_RETAIN gnu::retain
#else
#define COHORT_RETAIN gnu::used
#endif
#define COHORT_USES_IMPLEMENTATION(SOURCE)                                                  \
  namespace cohort::detail {                                                                \
  template <class Build>                                                                    \
  struct one_source_with_these_flags_includes_##SOURCE {                                    \
    static char const or_link_its_cmake_target;                                             \
  };                                                                                        \
  [[gnu::used, COHORT_RETAIN]] static char const* const guard_of_##SOURCE =                 \
      &one_source_with_these_flags_includes_##SOURCE<this_build>::or_link_its_cmake_target; \
  }
// Defines the object of SOURCE. Used in exactly one implementation file.
#define COHORT_IS_IMPLEMENTATION(SOURCE)                                                         \
  namespace cohort::detail {                                                                     \
  template <class Build>                                                                         \
  char const one_source_with_these_flags_includes_##SOURCE<Build>::or_link_its_cmake_target = 1; \
  template struct one_source_with_these_flags_includes_##SOURCE<this_build>;                     \
  }

COHORT_USES_IMPLEMENTATION(cohort_src_hpp)
