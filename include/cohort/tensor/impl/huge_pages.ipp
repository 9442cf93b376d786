// SPDX-License-Identifier: Apache-2.0
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cohort/tensor/detail/huge_pages.hpp>

namespace cohort::detail {

void request_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace cohort::detail
