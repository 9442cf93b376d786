// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort_test {

/// Returns the resident bytes among the pages of an arena.
inline std::size_t resident_bytes(std::byte const* arena, std::size_t bytes) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto const first = (reinterpret_cast<std::uintptr_t>(arena) + page - 1) / page * page;
  std::size_t const pages = (reinterpret_cast<std::uintptr_t>(arena) + bytes - first) / page;
  std::vector<unsigned char> flags(pages);
  if (::mincore(reinterpret_cast<void*>(first), pages * page, flags.data()) != 0) return bytes;
  return page * static_cast<std::size_t>(std::ranges::count_if(flags, [](unsigned char flag) {
           return (flag & 1) != 0;
         }));
}

}  // namespace cohort_test
