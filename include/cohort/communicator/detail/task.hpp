// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/detail/chrono.hpp>
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

/// The ranks of a communicator. `members`: for each of them, its rank on the transport. `context` identifies
/// the communicator's messages.
struct rank_group {
  std::vector<int> members{};
  int rank = 0;
  std::uint32_t context = 0;
};

/// The transport of a rank's operations, and its counters.
struct port {
  std::unique_ptr<transport> wire;
  isa vectors = best_isa();
  std::uint64_t moves = 0;  ///< messages that have ended; the progress thread compares the number
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::uint64_t> messages_sent{0};
};

/// A contiguous range of the elements.
elements slice_of(elements const& all, index_slice const& cut);

class engine;

/// An operation and its progress. Reused after it has ended and no handle refers to it.
///
/// `home` is destroyed with its communicators. A handle may outlive them, so its owner must read `ended`
/// before it uses `home`.
/// Order     `advance` advances the operation as far as possible without waiting, and returns whether it has
///           ended. One thread at a time calls `advance`, and repeats the call whenever a message may have
///           ended.
struct task final : activity {
  task(port& through, engine& of) : at(through), home(of) {}
  bool done() override;
  std::chrono::steady_clock::time_point wait() override;

  port& at;
  engine& home;
  std::atomic<bool> ended{true};
  std::chrono::steady_clock::time_point ended_at{};  ///< valid after the operation has ended

  std::string_view name{};
  bool (*advance)(task&) = nullptr;
  std::shared_ptr<rank_group const> ranks{};
  channel on = channel::collective;
  std::uint32_t tag = 0;
  elements data{};
  reduction how = reduction::sum;
  int peer = -1;  ///< the root of a broadcast, or the other rank; −1: any
  gathered* all = nullptr;
  std::span<std::byte const> mine{};
  std::chrono::milliseconds patience{};

  int phase = 0;
  int step = 0;
  elements whole{};  ///< all elements, if `data` is a segment of them
  std::size_t segment = 0;
  std::optional<transport::waiting> found{};
  std::vector<rank_status> standings{};
  reusable_buffer scratch{};

  int size() const { return static_cast<int>(ranks->members.size()); }
  int rank() const { return ranks->rank; }
  /// Rank k modulo the number of ranks.
  int wrapped(int k) const;
  /// Returns the transport's rank of a rank of the communicator.
  int on_wire(int rank) const { return ranks->members[static_cast<std::size_t>(rank)]; }

  /// Part k (modulo the number of ranks) of the elements, which are divided as equally as possible.
  elements part(int k) const;

  /// Starts a message. At most 32 may be pending.
  void send(int to, std::span<std::byte const> bytes);
  void receive(int from, std::span<std::byte> bytes);
  void receive_combining(int from, elements into);
  /// Returns whether all messages that were started have ended.
  bool all_complete();

 private:
  void add_pending(transport::ticket one);

  std::array<transport::ticket, 32> pending_{};  // a tree's root sends to ⌈log2 P⌉ at once
  int pending_count_ = 0;
};

inline std::span<std::byte> bytes_in(elements const& some) { return {some.data, some.bytes()}; }

}  // namespace cohort::detail
