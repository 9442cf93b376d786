// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

/// Replaces operator new in the one test program that includes it, and counts the calls and their bytes while `counting`; not
/// those of the shared library whose file name contains `not_ours`. The thread sanitizer brings its own: skip the test there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTED_NEW_IS_THE_SANITIZERS
#endif
#endif
inline std::atomic<long> allocations = 0;
inline std::atomic<std::size_t> allocated_bytes = 0;
inline std::atomic<bool> counting = false;
inline char const* not_ours = nullptr;

inline void count_call_from(void* caller, std::size_t bytes) {
  Dl_info from{};
  if (!counting) return;
  if (not_ours && dladdr(caller, &from) != 0 && from.dli_fname && std::strstr(from.dli_fname, not_ours))
    return;
  ++allocations;
  allocated_bytes += bytes;
}

#ifndef COUNTED_NEW_IS_THE_SANITIZERS
constexpr bool counts_allocations = true;

// Not inlined: gcc takes free for the wrong partner of new.

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  count_call_from(__builtin_return_address(0), bytes);
  if (void* const memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  count_call_from(__builtin_return_address(0), bytes);
  return std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_call_from(__builtin_return_address(0), bytes);
  auto const unit = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#else
constexpr bool counts_allocations = false;
#endif
