// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/control.hpp>
#include <memory>
#include <vector>

namespace cohort::detail {

/// Time limits for other ranks to join a new communicator and to leave it.
struct mpi_timeouts {
  std::chrono::milliseconds to_begin;
  std::chrono::milliseconds to_end;
};

/// Transport over MPI. Uses three duplicates of a communicator: for collectives, for messages between two
/// ranks, and for control messages.
///
/// Order     created collectively by all ranks of `original`, like `control`. Only the constructor, the
///           destructor and the progress thread call MPI.
/// Errors    communicator_error with MPI's error text.
class mpi_transport final : public transport {
 public:
  mpi_transport(MPI_Comm original, std::shared_ptr<mpi_control> control, mpi_timeouts patience);
  /// Waits for the other ranks to leave, because their messages may arrive until then.
  ~mpi_transport() override;

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return control_->rank(); }
  int size() const override { return control_->size(); }

  ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override;
  ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override;
  bool done(ticket one) override;
  std::optional<waiting> probe(int from, channel on, std::uint32_t tag) override;

  bool needs_progress_thread() const override { return true; }
  void make_progress() override { control_->make_progress(); }
  void wait_for_event(std::chrono::microseconds longest) override { sleep_between_polls(longest); }

  void note(rank_progress here) noexcept override { control_->note(here); }
  void note_wait(int waits_for) noexcept override { control_->note_wait(waits_for); }
  std::vector<rank_status> query_ranks(std::chrono::milliseconds patience) override {
    return control_->query_ranks(patience);
  }
  void announce(failure_report const& why) noexcept override { control_->announce(why); }
  std::optional<failure_report> trouble() const override { return control_->trouble(); }
  /// Cancels receives. Operations that cannot be cancelled (a partly received message, a send to a lost rank)
  /// may still complete while the other ranks are notified. If an operation is pending afterwards, MPI is
  /// never called again, so that MPI does not access the operation's memory.
  void abandon() noexcept override;
  void leave() noexcept override { control_->leave(); }

 private:
  static constexpr auto shortest_abandon = std::chrono::milliseconds(100);
  static constexpr auto longest_abandon = std::chrono::milliseconds(800);

  struct message {
    MPI_Request request = MPI_REQUEST_NULL;
    int from = -1;  // the sender, for a receive
    std::uint32_t tag = 0;
    std::size_t expected = 0;
  };

  MPI_Comm comm(channel on) const { return comms_[on == channel::peer].get(); }

  ticket store(message one);
  bool has_pending();
  void check_size(message const& one, int code, MPI_Status const& status) const;

  std::shared_ptr<mpi_control> control_;
  mpi_timeouts const timeouts_;
  mpi_duplicate comms_[2];
  std::vector<message> pending_;
  std::vector<ticket> unused_;
};

}  // namespace cohort::detail
