// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/detail/dissemination_barrier.hpp>
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cohort/communicator/detail/point_to_point.hpp>
#include <cohort/communicator/detail/rank_query.hpp>
#include <cohort/communicator/detail/recursive_doubling.hpp>
#include <cohort/communicator/detail/recursive_halving.hpp>
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_allgatherv.hpp>
#include <cohort/communicator/detail/ring_allreduce.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cohort/communicator/detail/tree_broadcast.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstddef>
#include <variant>

namespace cohort::detail {

/// An operation: the parameters and the state of one kind. Every kind has
///     bool advance(operation_messages&)                   advances as far as possible without waiting, and
///                                                         returns whether the operation has ended
///     std::size_t scratch_bytes(port const&, int) const   scratch memory for this number of ranks; optional
///
/// Order     one thread at a time calls advance, and repeats the call whenever a message may have ended.
using operation = std::variant<message_send, message_receive, message_probe, rank_query, ring_allreduce,
                               recursive_doubling, recursive_halving, ring_reduce_scatter, ring_allgather,
                               ring_allgatherv, tree_broadcast, dissemination_barrier>;

class engine;

/// An operation and its progress. A task is reused when it has ended and no handle refers to it.
///
/// `home` is destroyed with its communicators. A handle may outlive `home`, so the handle's owner must read
/// `ended` before it uses `home`.
struct task final : activity {
  task(port& through, engine& of) : messages(through), home(of) {}
  bool done() override;
  std::chrono::steady_clock::time_point wait() override;

  bool advance() {
    return std::visit([this](auto& kind) { return kind.advance(messages); }, running);
  }

  operation running{};
  operation_messages messages;
  engine& home;
  std::atomic<bool> ended{true};
  std::chrono::steady_clock::time_point ended_at{};  ///< valid after the operation has ended
};

}  // namespace cohort::detail
