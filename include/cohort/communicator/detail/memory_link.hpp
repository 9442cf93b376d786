// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/memory_ring.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace cohort::detail {

/// Writing side of a link between two processes of one host: a memory_ring in addition to a connection. The
/// writer creates the ring and offers its location. The reader maps the ring and confirms. The writer then
/// announces over the connection that later bytes are in the ring. From then on, the connection only wakes
/// the other process and reports that process's end.
class memory_writer {
 public:
  /// Creates the ring. Returns the ring's location; nullopt if the system does not allow a ring.
  std::optional<ring_location> offer() {
    ring_ = memory_ring::create();
    return ring_ ? std::optional(ring_->location()) : std::nullopt;
  }
  bool is_offered() const { return ring_.has_value(); }
  /// Switches to the ring: later bytes are written to the ring.
  void begin() { is_used_ = true; }
  bool is_used() const { return is_used_; }

  /// Writes as many bytes as there is space for, and returns their number.
  std::size_t write(std::span<std::byte const> bytes) { return ring_->write(bytes); }
  /// Returns whether the caller must wake the reader after a write: true once for each sleep of the reader.
  bool must_wake_reader() { return ring_->must_wake_reader(); }
  /// Records in the ring whether this process is about to sleep (`now`) although it has bytes to write
  /// (`has_bytes`). Returns true if this process may sleep: if the ring is not used or is full, or if there
  /// are no bytes to write. If the ring is full, the reader wakes this process.
  bool sleeps(bool now, bool has_bytes) {
    return !is_used_ || ring_->writer_waits(now && has_bytes) || !has_bytes;
  }

 private:
  std::optional<memory_ring> ring_;
  bool is_used_ = false;
};

/// Reading side of a memory_writer's link.
class memory_reader {
 public:
  /// Maps the ring of the other process. Returns false if that process is on another host, the ring is not
  /// readable, or a ring is already used.
  bool map(ring_location const& at) {
    if (!is_used_) ring_ = memory_ring::map(at);
    return !is_used_ && ring_.has_value();
  }
  /// Switches to the ring: later bytes are read from the ring. Returns false if there is no ring, or if the
  /// ring is already used.
  bool begin() { return ring_ && !std::exchange(is_used_, true); }
  bool is_used() const { return is_used_; }
  /// Releases the ring, because the connection has ended.
  void end() {
    is_used_ = false;
    ring_.reset();
  }

  std::span<std::byte const> readable() const { return ring_->readable(); }
  void consume(std::size_t count) { ring_->consume(count); }
  /// Returns whether the caller must wake the writer after a consume: true once for each sleep of the writer.
  bool must_wake_writer() { return is_used_ && ring_->must_wake_writer(); }
  /// Records in the ring whether this process is about to sleep (`now`). Returns true if this process may
  /// sleep: if the ring is not used or is empty.
  bool sleeps(bool now) { return !is_used_ || ring_->reader_sleeps(now); }

 private:
  std::optional<memory_ring> ring_;
  bool is_used_ = false;
};

}  // namespace cohort::detail
