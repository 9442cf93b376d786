// SPDX-License-Identifier: Apache-2.0
#pragma once
#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <cstddef>

namespace cohort::detail {

/// Memory that is large enough to gain from pages of 2 MiB instead of 4 KiB begins on such a page's boundary: fewer entries for a
/// processor to look up, and a first touch that asks the system once for 512 pages.
///
/// Units     bytes; rounding up to a whole page costs less than a tenth from `least` on where all of it is touched.
struct huge_page {
  static constexpr std::size_t bytes = std::size_t{1} << 21;
  static constexpr std::size_t least = 2 * bytes;
};

/// Asks the system for them, where it has them and leaves the choice to programs (Linux: `madvise` or `always` in
/// /sys/kernel/mm/transparent_hugepage/enabled); elsewhere nothing happens.  Before: nobody has touched the memory.
void ask_for_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/tensor/impl/huge_pages.ipp>
#endif
