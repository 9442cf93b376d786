// SPDX-License-Identifier: Apache-2.0
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cohort/tensor/detail/huge_pages.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace cohort::detail {

void request_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

/// The whole pages in a range of memory.
std::span<std::byte> whole_pages(void* begin, std::size_t bytes) {
#if defined(__linux__)
  static auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* first = begin;
  std::size_t rest = bytes;
  if (std::align(page, page, first, rest)) return {static_cast<std::byte*>(first), rest / page * page};
#endif
  return {static_cast<std::byte*>(begin), 0};
}

void request_small_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_NOHUGEPAGE)
  std::span<std::byte> const pages = whole_pages(begin, bytes);
  madvise(pages.data(), pages.size(), MADV_NOHUGEPAGE);
#endif
}

void clear_small_pages(void* begin, std::size_t bytes) {
  std::span<std::byte> const pages = whole_pages(begin, bytes);
  request_small_pages(begin, bytes);
  if (!free_pages(begin, bytes)) std::ranges::fill(pages, std::byte{0});
  auto* const first = static_cast<std::byte*>(begin);
  std::fill(first, pages.data(), std::byte{0});
  std::fill(pages.data() + pages.size(), first + bytes, std::byte{0});
}

bool free_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  std::span<std::byte> const pages = whole_pages(begin, bytes);
  return pages.empty() || madvise(pages.data(), pages.size(), MADV_DONTNEED) == 0;
#else
  return false;
#endif
}

}  // namespace cohort::detail
