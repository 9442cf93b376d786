// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace cohort::detail {

/// Data by which another process of the same host opens a ring.
struct ring_location {
  static constexpr std::size_t bytes = 24;
  using nonce = std::array<std::byte, 16>;

  std::uint32_t process = 0;
  std::uint32_t descriptor = 0;
  nonce number{};  // random; also in the ring, so that a process of another host finds nothing

  std::array<std::byte, bytes> encoded() const;
  static ring_location decoded(std::span<std::byte const, bytes> from);
};

/// Bytes that one process writes and another one of the same host reads, in memory that both map.
///
/// Order     one thread writes and one thread reads.
/// Errors    communicator_error of write and readable if the positions in the memory are impossible.
class memory_ring {
 public:
  static constexpr std::size_t capacity = std::size_t{256} << 10;

  /// Makes the ring of a writer; nullopt if the system does not allow it.
  static std::optional<memory_ring> create();
  /// Maps the ring of another process; nullopt if it is on another host, or not readable.
  static std::optional<memory_ring> map(ring_location const& at);

  ring_location const& location() const { return where_; }

  /// Writes as many bytes as there is space for, and returns their number.
  std::size_t write(std::span<std::byte const> bytes);
  /// The first bytes that can be read; more may follow them.
  std::span<std::byte const> readable() const;
  /// Gives the space of the first `count` readable bytes to the writer.
  void consume(std::size_t count);

  /// The reader is going to sleep, or is awake again. Returns whether there is nothing to read. Like
  /// writer_waits, it accepts impossible positions: the next read or write refuses them.
  bool reader_sleeps(bool sleeps);
  /// The writer is going to sleep until there is space, or is awake again. Returns whether there is none.
  bool writer_waits(bool waits);
  /// Whether the reader must be woken after a write; the answer is true once.
  bool must_wake_reader();
  /// Whether the writer must be woken after a consume; the answer is true once.
  bool must_wake_writer();

 private:
  struct header;
  struct mapping;

  explicit memory_ring(std::shared_ptr<mapping> memory, ring_location const& where);
  header& head() const;
  std::byte* data() const;
  /// Position of the writer minus that of the reader, as the other process has written them.
  std::uint64_t difference() const;
  /// Bytes that can be read.  Errors: communicator_error if the difference is impossible.
  std::size_t used() const;

  std::shared_ptr<mapping> memory_;
  ring_location where_;
};

}  // namespace cohort::detail
