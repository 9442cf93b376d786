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

/// Location by which another process of the same host opens a ring.
struct ring_location {
  static constexpr std::size_t bytes = 24;
  using nonce = std::array<std::byte, 16>;

  std::uint32_t process = 0;
  std::uint32_t descriptor = 0;
  nonce number{};  // random; also stored in the ring, to detect the location of another host

  std::array<std::byte, bytes> encoded() const;
  static ring_location decoded(std::span<std::byte const, bytes> from);
};

/// Single-producer, single-consumer ring buffer in memory that two processes of one host share.
///
/// Order     one thread writes and one thread reads.
/// Errors    write and readable: communicator_error if the positions in the shared memory are impossible.
class memory_ring {
 public:
  static constexpr std::size_t capacity = std::size_t{256} << 10;

  /// Creates the ring of a writer; returns nullopt if the system does not allow a ring.
  static std::optional<memory_ring> create();
  /// Maps the ring of another process; returns nullopt if that process is on another host, or the ring is not
  /// readable.
  static std::optional<memory_ring> map(ring_location const& at);

  ring_location const& location() const { return where_; }

  /// Writes as many bytes as there is space for, and returns their number.
  std::size_t write(std::span<std::byte const> bytes);
  /// The first bytes that can be read; more may follow them.
  std::span<std::byte const> readable() const;
  /// Frees the first `count` readable bytes for the writer.
  void consume(std::size_t count);

  /// Records whether the reader is about to sleep. Returns whether there is nothing to read. Like
  /// writer_waits, does not check the positions; the next read or write does.
  bool reader_sleeps(bool sleeps);
  /// Records whether the writer is about to sleep until there is space. Returns whether the ring is full.
  bool writer_waits(bool waits);
  /// Returns whether the caller must wake the reader after a write: true once for each sleep of the reader.
  bool must_wake_reader();
  /// Returns whether the caller must wake the writer after a consume: true once for each sleep of the writer.
  bool must_wake_writer();

 private:
  struct header;
  struct mapping;

  explicit memory_ring(std::shared_ptr<mapping> memory, ring_location const& where);
  header& head() const;
  std::byte* data() const;
  /// Returns the writer's position minus the reader's, unchecked: the other process may have written any
  /// value.
  std::uint64_t difference() const;
  /// Number of bytes that can be read.  Errors: communicator_error if the difference is impossible.
  std::size_t used() const;

  std::shared_ptr<mapping> memory_;
  ring_location where_;
};

}  // namespace cohort::detail
