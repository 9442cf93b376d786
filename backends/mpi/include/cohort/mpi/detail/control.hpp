// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/finalize_check.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// Sends and receives the messages of a rank_monitor over MPI. Failures and farewells use synchronous sends,
/// which complete only when the message has arrived.
class mpi_control final : public rank_monitor {
 public:
  /// `patience`: time limit for all ranks to join.
  mpi_control(MPI_Comm original, std::chrono::milliseconds heartbeat, std::chrono::milliseconds patience);
  ~mpi_control() override;

  /// Frees the MPI objects.
  ///
  /// Before    wait_for_farewells() has returned true.
  void free() noexcept {
    channel_.free();
    finalize_check_.free();
  }

 private:
  struct incoming {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> buffer{};
  };
  struct message {
    int to;
    control_message what;
    std::vector<std::byte> bytes;  // the address of the bytes stays the same when the message moves
    MPI_Request request;
  };

  void receive(int from) override;
  void send(int to, control_message what, std::span<std::byte const> bytes) override;
  void complete_sends() override;
  bool is_sending(int to, control_message what) const override;
  bool is_sending() const override { return !sent_.empty(); }
  /// Allows MPI_Finalize, because MPI is not called any more.
  void on_stop() noexcept override { finalize_check_.end(); }

  incoming& next_from(int rank) { return received_[static_cast<std::size_t>(rank)]; }
  void post_receive(int from);
  /// Leaks the buffers that MPI may still access.
  void leak();

  mpi_duplicate channel_;
  finalize_check finalize_check_;
  std::vector<incoming> received_;
  std::vector<message> sent_;
};

}  // namespace cohort::detail
