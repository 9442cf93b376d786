// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <chrono>
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

/// The ranks of a communicator by their numbers on the transport, and what sets its messages apart.
struct rank_group {
  std::vector<int> members{};
  int rank = 0;
  std::uint32_t context = 0;
};

/// What all operations of a rank send through.
struct port {
  std::unique_ptr<transport> wire;
  isa vectors = best_isa();
  std::uint64_t moves = 0;  ///< messages that have ended: by it a poller sees whether anything happens
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::uint64_t> messages_sent{0};
};

/// Some of the elements.
elements slice_of(elements const& all, index_slice const& cut);

class engine;

/// An operation under way: what is to be done, and how far it is. Used again when it has ended and nobody holds it.
///
/// Order     `advance` moves it on as far as it gets without waiting, and says whether it has ended. It is called by one
///           thread at a time, again and again, whenever a message may have moved.
/// `home` lives no longer than its communicators, a handle may: who has one looks at `ended` first.
struct task final : activity {
  task(port& through, engine& of) : at(through), home(of) {}
  bool done() override;
  std::chrono::steady_clock::time_point wait() override;

  port& at;
  engine& home;
  std::atomic<bool> ended{true};
  std::chrono::steady_clock::time_point ended_at{};  ///< to be read when it has ended

  std::string_view name{};
  bool (*advance)(task&) = nullptr;
  std::shared_ptr<rank_group const> ranks{};
  channel on = channel::collective;
  std::uint32_t tag = 0;
  elements data{};
  reduction how = reduction::sum;
  int peer = -1;  ///< the root, or the other rank; −1: any
  gathered* all = nullptr;
  std::span<std::byte const> mine{};
  std::chrono::milliseconds patience{};

  int phase = 0;
  int step = 0;
  elements whole{};  ///< where `data` is a segment of it
  std::size_t segment = 0;
  std::optional<transport::waiting> found{};
  std::vector<standing> standings{};
  reusable_buffer scratch{};

  int size() const { return static_cast<int>(ranks->members.size()); }
  int rank() const { return ranks->rank; }
  /// The rank whose number is k modulo their count.
  int wrapped(int k) const;
  int on_wire(int rank) const { return ranks->members[static_cast<std::size_t>(rank)]; }

  /// The k-th (modulo the ranks) of the parts in which the elements are cut, as equal as possible.
  elements part(int k) const;

  void send(int to, std::span<std::byte const> bytes);
  void receive(int from, std::span<std::byte> bytes);
  void receive_combining(int from, elements into);
  /// Whether all that was sent and received so far has ended.
  bool settled();

 private:
  void await(transport::ticket one);

  std::array<transport::ticket, 32> pending_{};  // a tree's root sends to ⌈log2 P⌉ at once
  int pendings_ = 0;
};

inline std::span<std::byte> bytes_in(elements const& some) { return {some.data, some.bytes()}; }

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/task.ipp>
#endif
