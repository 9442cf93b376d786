// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/memory_ring.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace cohort::detail {

/// The writing half of a link between two processes of one host: a memory_ring beside a connection. The
/// writer makes the ring and offers its location; the reader maps the ring and confirms it; then the writer
/// announces over the connection that later bytes are in the ring. From then on the connection only wakes the
/// other process, and shows its end.
class memory_writer {
 public:
  /// Makes the ring. Returns where it is; nullopt if the system does not allow it.
  std::optional<ring_location> offer() {
    ring_ = memory_ring::create();
    return ring_ ? std::optional(ring_->location()) : std::nullopt;
  }
  bool is_offered() const { return ring_.has_value(); }
  /// Later bytes are written to the ring.
  void begin() { is_used_ = true; }
  bool is_used() const { return is_used_; }

  /// Writes as many bytes as there is space for, and returns their number.
  std::size_t write(std::span<std::byte const> bytes) { return ring_->write(bytes); }
  /// Whether the reader must be woken after a write; the answer is true once.
  bool must_wake_reader() { return ring_->must_wake_reader(); }
  /// Marks the ring: this process is going to sleep, or is awake. `has_bytes`: to write. Returns whether it
  /// has none, or there is no space for them. In the latter case the reader wakes this process.
  bool sleeps(bool now, bool has_bytes) {
    return !is_used_ || ring_->writer_waits(now && has_bytes) || !has_bytes;
  }

 private:
  std::optional<memory_ring> ring_;
  bool is_used_ = false;
};

/// The reading half of a memory_writer's link.
class memory_reader {
 public:
  /// Maps the ring of the other process. Returns false if it is on another host, or not readable.
  bool map(ring_location const& at) {
    if (!is_used_) ring_ = memory_ring::map(at);
    return !is_used_ && ring_.has_value();
  }
  /// Later bytes are read from the ring.  Returns false if there is none, or if it is used already.
  bool begin() { return ring_ && !std::exchange(is_used_, true); }
  bool is_used() const { return is_used_; }
  /// Gives the ring up, because its connection has ended.
  void end() {
    is_used_ = false;
    ring_.reset();
  }

  std::span<std::byte const> readable() const { return ring_->readable(); }
  void consume(std::size_t count) { ring_->consume(count); }
  /// Whether the writer must be woken after a consume; the answer is true once.
  bool must_wake_writer() { return is_used_ && ring_->must_wake_writer(); }
  /// Marks the ring: this process is going to sleep, or is awake. Returns whether there is nothing to read.
  bool sleeps(bool now) { return !is_used_ || ring_->reader_sleeps(now); }

 private:
  std::optional<memory_ring> ring_;
  bool is_used_ = false;
};

}  // namespace cohort::detail
