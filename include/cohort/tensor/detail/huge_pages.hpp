// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>

namespace cohort::detail {

/// Size of a huge page, and the minimum size of a buffer that is aligned to huge pages and uses them. Huge
/// pages (2 MiB instead of 4 KiB) need fewer TLB entries, and one page fault maps as much memory as 512
/// faults for small pages.
///
/// Units     bytes.
struct huge_page {
  static constexpr std::size_t bytes = std::size_t{1} << 21;
  static constexpr std::size_t min_buffer_bytes = 2 * bytes;
};

/// Requests huge pages for a memory range. Has an effect only if the system supports transparent huge pages:
/// on Linux, if /sys/kernel/mm/transparent_hugepage/enabled is `madvise` or `always`.
///
/// Before    no page of the range has been touched.
void request_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes);

/// Requests small pages for the whole pages in a range of host memory.
void request_small_pages(void* begin, std::size_t bytes);

/// Sets host memory to zero, with small pages, of which only those at the ends are accessed: free_pages frees
/// a huge page only as a whole.
void clear_small_pages(void* begin, std::size_t bytes);

/// Returns the whole pages in a range of private host memory to the system, if the system supports this. The
/// next access gets new pages. Returns whether the elements in whole pages are zeros now; otherwise the range
/// is unchanged.
bool free_pages(void* begin, std::size_t bytes);

}  // namespace cohort::detail
