// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// The ranks of a communicator. `members[r]` is the transport's number of rank r, and `rank` is this rank.
/// `context` identifies the communicator's messages.
struct rank_group {
  std::vector<int> members{};
  int rank = 0;
  std::uint32_t context = 0;
};

/// The transport of a rank's operations, and its counters.
struct port {
  std::unique_ptr<transport> wire;
  isa vectors = best_isa();
  std::uint64_t moves = 0;  ///< number of messages that have ended; polled by the progress thread
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::uint64_t> messages_sent{0};
};

/// Identifies an operation: its name in reports, its ranks, and the channel and tag of its messages.
struct operation_call {
  std::string_view name{};
  std::shared_ptr<rank_group const> ranks{};
  channel on = channel::collective;
  std::uint32_t tag = 0;
  int awaited = rank_status::several;  ///< see rank_status::waits_for
};

/// The pending messages of one operation, and scratch memory for received elements.
struct operation_messages {
  explicit operation_messages(port& through) : rank_port(through) {}

  port& rank_port;
  operation_call call{};
  reusable_buffer scratch{};

  int size() const { return static_cast<int>(call.ranks->members.size()); }
  int rank() const { return call.ranks->rank; }
  /// Rank k modulo the number of ranks.
  int wrapped(int k) const { return (k % size() + size()) % size(); }
  /// Part k (modulo the number of ranks) of the elements, which are divided as equally as possible at
  /// multiples of `grain`.
  elements part(elements const& all, int k, std::int64_t grain = 1) const;

  /// Start a message. At most 32 messages may be pending.
  void send(int to, std::span<std::byte const> bytes);
  void receive(int from, std::span<std::byte> bytes);
  /// Starts a receive of elements to be reduced into `into`. If the transport combines, the transport reduces
  /// the elements. Otherwise combine_received reduces them after the message has ended.
  void receive_combining(int from, elements into, reduction op);
  void combine_received(elements into, reduction op);
  /// Returns a message that has arrived from rank `from`, or from any rank (−1).
  std::optional<transport::waiting> probe(int from);
  /// Returns whether all messages that were started have ended.
  bool all_complete();

 private:
  /// Converts a rank of the communicator to the transport's rank.
  int on_wire(int rank) const { return call.ranks->members[static_cast<std::size_t>(rank)]; }

  std::array<transport::ticket, 32> pending_{};  // the root of a tree sends ⌈log2 P⌉ messages
  std::size_t pending_count_ = 0;
};

/// A contiguous range of the elements.
elements slice_of(elements const& all, index_slice const& cut);

inline std::span<std::byte> bytes_in(elements const& some) { return {some.data, some.bytes()}; }

}  // namespace cohort::detail
