// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/communicator/detail/allreduce_parts.hpp>
#include <cohort/communicator/detail/engine.hpp>
#include <cohort/communicator/detail/task.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cohort::detail {

/// Communicator over a transport that all its relatives share.
///
/// Units     a tag on the wire has two fields: the context (11 bits), and the number of the collective or the
///           tag of the message (12 bits). MPI over UCX limits tags to 23 bits. The context distinguishes
///           relatives.
class message_communicator final : public communicator {
 public:
  message_communicator(std::shared_ptr<engine> shared_engine, std::shared_ptr<rank_group const> ranks);

  std::string_view name() const override { return engine_->wire->name(); }
  int rank() const override { return ranks_->rank; }
  int size() const override { return static_cast<int>(ranks_->members.size()); }
  communicator_settings const& settings() const override { return engine_->settings; }

  pending_operation start_broadcast(elements data, int root) override;
  pending_operation start_allreduce(elements data, reduction how) override;
  /// Like start_allreduce(data, how), but the caller chooses the algorithm, the same on every rank. `phase`:
  /// `both`, unless the elements have parts.
  pending_operation start_allreduce(elements data, reduction how, allreduce_algorithm algorithm,
                                    allreduce_phase phase = allreduce_phase::both);
  pending_operation start_reduce_scatter_phase(elements data, reduction op) override;
  pending_operation start_allgather_phase(elements data) override;
  pending_operation start_reduce_scatter(elements data, reduction how) override;
  pending_operation start_allgather(elements data) override;
  pending_operation start_allgatherv(std::span<std::byte const> mine, gathered& all) override;
  pending_operation start_barrier() override;

  pending_operation start_send(std::span<std::byte const> data, int to, int tag) override;
  pending_operation start_receive(std::span<std::byte> data, int from, int tag) override;
  std::optional<arrival> probe(int from, int tag) override;
  arrival wait_for_message(int from, int tag) override;

  std::unique_ptr<communicator> split(int color, int order) override;
  std::unique_ptr<communicator> duplicate() override { return split(0, rank()); }

  int abort(std::string const& why, int exit_status) noexcept override;
  void note(rank_progress here) noexcept override { engine_->wire->note(here); }
  traffic sent() const override;

 private:
  static constexpr int tag_bits = 12;
  static constexpr std::uint32_t largest_context = (1U << (transport::tag_bits - tag_bits)) - 1;
  static_assert(largest_tag < 1 << tag_bits);

  pending_operation start_collective(std::string_view name, operation value);
  /// Starts an operation on the messages of one tag. `awaited`: see rank_status::waits_for.
  std::shared_ptr<task> start_message(std::string_view name, int awaited, int tag, operation value);
  std::optional<arrival> probe_message(std::string_view name, int tag, message_probe value);

  /// Converts a rank of this communicator to the transport's rank.
  int on_wire(int rank) const { return ranks_->members[static_cast<std::size_t>(rank)]; }
  /// Returns `data`.  Errors: setting_error for elements in device memory.
  elements const& check_memory(std::string_view name, elements const& data) const;
  void check_rank(char const* what, int rank) const;

  std::shared_ptr<engine> engine_;
  std::shared_ptr<rank_group const> ranks_;
  std::atomic<std::uint32_t> started_{0};  // number of started collectives
};

}  // namespace cohort::detail
