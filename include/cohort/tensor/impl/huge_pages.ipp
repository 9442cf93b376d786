// SPDX-License-Identifier: Apache-2.0
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cohort/tensor/detail/huge_pages.hpp>
#include <cstdint>

namespace cohort::detail {

void request_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

void prepare_to_free_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_NOHUGEPAGE)
  madvise(begin, bytes, MADV_NOHUGEPAGE);
#endif
  free_pages(begin, bytes);
}

void free_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  static auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto const address = reinterpret_cast<std::uintptr_t>(begin);
  std::uintptr_t const first = (address + page - 1) / page * page, last = (address + bytes) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#endif
}

}  // namespace cohort::detail
