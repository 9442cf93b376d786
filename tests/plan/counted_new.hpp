// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

/// Replaces operator new in the test program that includes this header. Counts the calls and their bytes
/// while `counting`, except calls from the shared library whose file name contains `not_ours`. `held_bytes`:
/// bytes not freed; `most_bytes`: their maximum. The address and thread sanitizers have their own operators:
/// skip the test there.
#if defined(__SANITIZE_ADDRESS__)
#define COUNTED_NEW_IS_THE_SANITIZERS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTED_NEW_IS_THE_SANITIZERS
#endif
#endif
inline std::atomic<long> allocations = 0;
inline std::atomic<std::size_t> allocated_bytes = 0;
inline std::atomic<long long> held_bytes = 0;
inline std::atomic<long long> most_bytes = 0;
inline std::atomic<bool> counting = false;
inline char const* not_ours = nullptr;

inline bool counts_call_from(void* caller) {
  Dl_info from{};
  if (!counting) return false;
  return !(not_ours && dladdr(caller, &from) != 0 && from.dli_fname && std::strstr(from.dli_fname, not_ours));
}
inline void* counted(void* memory, void* caller, std::size_t bytes) {
  if (!memory || !counts_call_from(caller)) return memory;
  ++allocations;
  allocated_bytes += bytes;
  long long const held = held_bytes += static_cast<long long>(malloc_usable_size(memory));
  for (long long most = most_bytes; held > most && !most_bytes.compare_exchange_weak(most, held);) {
  }
  return memory;
}
inline void* counted_back(void* memory, void* caller) {
  if (memory && counts_call_from(caller)) held_bytes -= static_cast<long long>(malloc_usable_size(memory));
  return memory;
}

#ifndef COUNTED_NEW_IS_THE_SANITIZERS
constexpr bool counts_allocations = true;

// Not inlined, because gcc would consider free mismatched with new. Weak, because several files of a program
// may include this header.

[[gnu::weak, gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = counted(std::malloc(bytes ? bytes : 1), __builtin_return_address(0), bytes))
    return memory;
  throw std::bad_alloc();
}
[[gnu::weak, gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return counted(std::malloc(bytes ? bytes : 1), __builtin_return_address(0), bytes);
}
[[gnu::weak, gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  auto const unit = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (counted(memory, __builtin_return_address(0), bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak, gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(counted_back(memory, __builtin_return_address(0)));
}
[[gnu::weak, gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(counted_back(memory, __builtin_return_address(0)));
}
[[gnu::weak, gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(counted_back(memory, __builtin_return_address(0)));
}
[[gnu::weak, gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(counted_back(memory, __builtin_return_address(0)));
}

#else
constexpr bool counts_allocations = false;
#endif
