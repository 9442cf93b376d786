// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace cohort {

/// Memory of a simulated GPU. The processor cannot access it, except while work of the GPU runs (class
/// access). Each piece is enclosed by inaccessible pages, so that an access beyond its end (rounded up to 256
/// bytes) or after its release ends the program. With the address sanitizer, which checks bounds itself, all
/// pieces stay accessible.
class guarded_memory {
 public:
  guarded_memory() = default;
  guarded_memory(guarded_memory const&) = delete;
  guarded_memory& operator=(guarded_memory const&) = delete;
  ~guarded_memory() {
    while (!pieces_.empty()) release(pieces_.begin()->first);
  }

  /// Returns memory at a multiple of 256 bytes, as cuMemAlloc does, with arbitrary previous contents.
  void* allocate(std::size_t bytes) {
    std::size_t const room = (bytes + 255) / 256 * 256;
    piece made{.bytes = bytes};
    std::byte* at = nullptr;
    if (guards) {
      made.pages = (room + page() - 1) / page() * page();
      void* const mapped = ::mmap(nullptr, made.pages + 2 * page(), PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped == MAP_FAILED) std::abort();
      made.first_page = static_cast<std::byte*>(mapped) + page();
      at = made.first_page + made.pages - room;  // ends at the guard
      ::mprotect(made.first_page, made.pages, PROT_READ | PROT_WRITE);
    } else {
      at = static_cast<std::byte*>(std::aligned_alloc(256, room));
    }
    std::memset(at, 0xff, bytes);
    std::lock_guard const in_turn(mutex_);
    pieces_[at] = made;
    if (accesses_ == 0) protect(made, PROT_NONE);
    return at;
  }
  /// Returns whether the memory was allocated here.
  bool release(void* at) {
    std::lock_guard const in_turn(mutex_);
    auto const found = pieces_.find(at);
    if (found == pieces_.end()) return false;
    guards ? static_cast<void>(::munmap(found->second.first_page - page(), found->second.pages + 2 * page()))
           : std::free(at);
    pieces_.erase(found);
    return true;
  }

  bool empty() const { return size() == 0; }
  std::size_t size() const {
    std::lock_guard const in_turn(mutex_);
    return pieces_.size();
  }
  std::size_t bytes() const {
    std::lock_guard const in_turn(mutex_);
    std::size_t all = 0;
    for (auto const& one : pieces_) all += one.second.bytes;
    return all;
  }

  /// Lets the processor access the memory while this object exists: it runs work of the GPU.
  class access {
   public:
    explicit access(guarded_memory& to) : to_(to) { to_.change(1); }
    access(access const&) = delete;
    ~access() { to_.change(-1); }

   private:
    guarded_memory& to_;
  };

 private:
#ifdef __SANITIZE_ADDRESS__
  static constexpr bool guards = false;
#else
  static constexpr bool guards = true;
#endif

  struct piece {
    std::size_t bytes = 0;
    std::byte* first_page = nullptr;  // between the guards
    std::size_t pages = 0;            // in bytes
  };

  static std::size_t page() {
    static auto const bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
  }
  static void protect(piece const& one, int how) {
    if (guards) ::mprotect(one.first_page, one.pages, how);
  }
  void change(int by) {
    std::lock_guard const in_turn(mutex_);
    int const before = accesses_;
    accesses_ += by;
    if (before > 0 && accesses_ > 0) return;
    for (auto const& one : pieces_) protect(one.second, accesses_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  mutable std::mutex mutex_;
  std::map<void*, piece> pieces_;
  int accesses_ = 0;
};

}  // namespace cohort
