// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cohort/communicator/detail/memory_ring.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

static_assert(sizeof(ring_location) == ring_location::bytes);

std::array<std::byte, ring_location::bytes> ring_location::encoded() const {
  return std::bit_cast<std::array<std::byte, bytes>>(*this);
}

ring_location ring_location::decoded(std::span<std::byte const, bytes> from) {
  ring_location made;
  std::memcpy(&made, from.data(), bytes);
  return made;
}

/// Header at the beginning of the shared memory. Each position and flag has a separate cache line.
struct memory_ring::header {
  ring_location::nonce number{};
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) std::atomic<std::uint32_t> reader_sleeps{0};
  alignas(64) std::atomic<std::uint32_t> writer_waits{0};
};

struct memory_ring::mapping {
  static constexpr std::size_t data_at = 4096;
  static constexpr std::size_t bytes = data_at + capacity;
  static_assert(sizeof(header) <= data_at && std::atomic<std::uint64_t>::is_always_lock_free);

  mapping(int descriptor, void* at) : descriptor(descriptor), at(at) {}
  mapping(mapping const&) = delete;
  ~mapping() {
    ::munmap(at, bytes);
    ::close(descriptor);
  }
  /// Maps the file; closes it if that fails.
  static std::shared_ptr<mapping> of(int descriptor) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at != MAP_FAILED) return std::make_shared<mapping>(descriptor, at);
    ::close(descriptor);
    return nullptr;
  }

  int descriptor;
  void* at;
};

memory_ring::memory_ring(std::shared_ptr<mapping> memory, ring_location const& where)
    : memory_(std::move(memory)), where_(where) {}

memory_ring::header& memory_ring::head() const { return *static_cast<header*>(memory_->at); }
std::byte* memory_ring::data() const { return static_cast<std::byte*>(memory_->at) + mapping::data_at; }

std::optional<memory_ring> memory_ring::create() {
  int const file = ::memfd_create("cohort", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return std::nullopt;
  // The file is sealed, because the reader would end by SIGBUS if the file shrank.
  bool const ready = ::ftruncate(file, static_cast<off_t>(mapping::bytes)) == 0
                     && ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!ready) {
    ::close(file);
    return std::nullopt;
  }
  std::shared_ptr<mapping> memory = mapping::of(file);
  if (!memory) return std::nullopt;
  auto* const at = new (memory->at) header;
  ring_location where{static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(file)};
  if (::getentropy(where.number.data(), where.number.size()) != 0) return std::nullopt;
  at->number = where.number;
  return memory_ring(std::move(memory), where);
}

std::optional<memory_ring> memory_ring::map(ring_location const& at) {
  std::string const path = text_of({"/proc/", at.process, "/fd/", at.descriptor});
  int const file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return std::nullopt;
  struct stat found {};
  int const seals = ::fcntl(file, F_GET_SEALS);
  bool const is_ring = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(file, &found) == 0
                       && found.st_size == static_cast<off_t>(mapping::bytes);
  if (!is_ring) {
    ::close(file);
    return std::nullopt;
  }
  std::shared_ptr<mapping> memory = mapping::of(file);
  if (!memory || static_cast<header*>(memory->at)->number != at.number) return std::nullopt;
  return memory_ring(std::move(memory), at);
}

std::uint64_t memory_ring::difference() const {
  std::uint64_t const read = head().read.load(std::memory_order_acquire);
  return head().written.load(std::memory_order_acquire) - read;
}

std::size_t memory_ring::used() const {
  std::uint64_t const bytes = difference();
  if (bytes > capacity)
    throw communicator_error({.what = "the memory shared with another process is damaged",
                              .expected = {"at most ", capacity, " bytes"},
                              .got = {bytes}});
  return bytes;
}

std::size_t memory_ring::write(std::span<std::byte const> bytes) {
  std::size_t const count = std::min(bytes.size(), capacity - used());
  std::uint64_t const from = head().written.load(std::memory_order_relaxed);
  std::size_t const at = from % capacity, first = std::min(count, capacity - at);
  std::memcpy(data() + at, bytes.data(), first);
  if (first < count) std::memcpy(data(), bytes.data() + first, count - first);
  head().written.store(from + count, std::memory_order_release);
  return count;
}

std::span<std::byte const> memory_ring::readable() const {
  std::size_t const at = head().read.load(std::memory_order_relaxed) % capacity;
  return {data() + at, std::min(used(), capacity - at)};
}

void memory_ring::consume(std::size_t count) {
  head().read.store(head().read.load(std::memory_order_relaxed) + count, std::memory_order_release);
}

// Each side sets its flag, then reads the position of the other side. The other side moves its position, then
// reads the flag. All four accesses have one total order, so at least one side reads the other's new value.
bool memory_ring::reader_sleeps(bool sleeps) {
  head().reader_sleeps.store(sleeps ? 1 : 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return difference() == 0;
}
bool memory_ring::writer_waits(bool waits) {
  head().writer_waits.store(waits ? 1 : 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return difference() == capacity;
}
bool memory_ring::must_wake_reader() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return head().reader_sleeps.load(std::memory_order_relaxed) != 0 && head().reader_sleeps.exchange(0) != 0;
}
bool memory_ring::must_wake_writer() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return head().writer_waits.load(std::memory_order_relaxed) != 0 && head().writer_waits.exchange(0) != 0;
}

}  // namespace cohort::detail
