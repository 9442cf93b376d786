// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/tcp.hpp>
#include <cohort/tcp/detail/membership_client.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cohort::detail {

/// A rank has left its job on request.
struct rank_has_left : communicator_error {
  using communicator_error::communicator_error;
};

/// Ranks that are processes connected by TCP, and whose membership may change. A new transport connects the
/// ranks of each membership.
class elastic_tcp final : public elastic_communicator {
 public:
  /// Order     the constructor waits for the first membership.
  elastic_tcp(tcp_settings from, communicator_settings limits);
  ~elastic_tcp() override;

  std::int64_t membership() const override { return now_.number; }
  bool has_ended() const override { return !client_ || client_->has_ended(); }
  bool waits_to_join() const override { return waits_to_join_; }
  int planned_size() const override { return from_.ranks; }
  int least_size() const override { return from_.min_ranks; }
  void regroup(std::int64_t step) override;
  void confirm() override;
  void accept_processes(bool accepts) override;
  bool leave() override;
  bool has_left() const override { return has_left_; }

  std::string_view name() const override { return "tcp"; }
  int rank() const override { return ranks().rank(); }
  int size() const override { return ranks().size(); }
  communicator_settings const& settings() const override { return how_; }
  pending_operation start_broadcast(elements data, int root) override {
    return ranks().start_broadcast(data, root);
  }
  pending_operation start_allreduce(elements data, reduction op) override {
    return ranks().start_allreduce(data, op);
  }
  pending_operation start_reduce_scatter_phase(elements data, reduction op) override {
    return ranks().start_reduce_scatter_phase(data, op);
  }
  pending_operation start_allgather_phase(elements data) override {
    return ranks().start_allgather_phase(data);
  }
  pending_operation start_reduce_scatter(elements data, reduction op) override {
    return ranks().start_reduce_scatter(data, op);
  }
  pending_operation start_allgather(elements data) override { return ranks().start_allgather(data); }
  pending_operation start_allgatherv(std::span<std::byte const> own, gathered& all) override {
    return ranks().start_allgatherv(own, all);
  }
  pending_operation start_barrier() override { return ranks().start_barrier(); }
  pending_operation start_send(std::span<std::byte const> data, int to, int tag) override {
    return ranks().start_send(data, to, tag);
  }
  pending_operation start_receive(std::span<std::byte> data, int from, int tag) override {
    return ranks().start_receive(data, from, tag);
  }
  std::optional<arrival> probe(int from, int tag) override { return ranks().probe(from, tag); }
  arrival wait_for_message(int from, int tag) override { return ranks().wait_for_message(from, tag); }
  std::unique_ptr<communicator> split(int color, int order) override { return ranks().split(color, order); }
  std::unique_ptr<communicator> duplicate() override { return ranks().duplicate(); }
  int abort(std::string const& why, int exit_status) noexcept override;
  void note(rank_progress here) noexcept override {
    if (ranks_) ranks_->note(here);
  }
  traffic sent() const override;

 private:
  /// The ranks of the current membership.  Errors: rank_has_left; communicator_error after a failed regroup.
  communicator& ranks() const;
  /// Resolves the name of the rendezvous again. The client's thread calls this function and the next one.
  std::vector<endpoint> meeting();
  void host_service(bool is_new);
  /// Ends the operations of the current membership, on any thread.
  void end_membership() noexcept;
  /// Closes the connections of the current membership.
  void disconnect();
  std::vector<tcp_socket> listen(std::vector<endpoint>& addresses) const;
  void connect(std::vector<tcp_socket> listening, std::vector<endpoint> const& addresses,
               membership_client::start begun);

  tcp_settings from_;
  communicator_settings how_;
  tcp_place place_;
  detail::membership now_{};
  bool waits_to_join_ = false, has_left_ = false;
  traffic former_{};  // of former memberships
  std::shared_ptr<std::optional<failure_report>> last_failure_;
  std::mutex mutex_;  // guards ranks_ against end_membership, which another thread calls
  std::unique_ptr<communicator> ranks_;
  std::vector<process_id> lost_{};  // of the last membership
  std::optional<membership_service> service_{};
  std::unique_ptr<membership_client> client_;
};

}  // namespace cohort::detail
