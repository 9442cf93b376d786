// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <memory>
#include <optional>
#include <string>

namespace cohort_test {

/// Wraps a communicator and counts the point-to-point messages that its user sends and receives.
class counting_communicator : public cohort::communicator {
 public:
  explicit counting_communicator(cohort::communicator& real) : real_(real) {}
  int handled = 0;

  std::string_view name() const override { return real_.name(); }
  int rank() const override { return real_.rank(); }
  int size() const override { return real_.size(); }
  cohort::communicator_settings const& settings() const override { return real_.settings(); }
  cohort::pending_operation start_broadcast(cohort::elements data, int root) override {
    return real_.start_broadcast(data, root);
  }
  cohort::pending_operation start_allreduce(cohort::elements data, cohort::reduction how) override {
    return real_.start_allreduce(data, how);
  }
  cohort::pending_operation start_reduce_scatter_phase(cohort::elements data,
                                                       cohort::reduction how) override {
    return real_.start_reduce_scatter_phase(data, how);
  }
  cohort::pending_operation start_allgather_phase(cohort::elements data) override {
    return real_.start_allgather_phase(data);
  }
  cohort::pending_operation start_reduce_scatter(cohort::elements data, cohort::reduction how) override {
    return real_.start_reduce_scatter(data, how);
  }
  cohort::pending_operation start_allgather(cohort::elements data) override {
    return real_.start_allgather(data);
  }
  cohort::pending_operation start_allgatherv(std::span<std::byte const> mine,
                                             cohort::gathered& all) override {
    return real_.start_allgatherv(mine, all);
  }
  cohort::pending_operation start_barrier() override { return real_.start_barrier(); }
  cohort::pending_operation start_send(std::span<std::byte const> data, int to, int tag) override {
    ++handled;
    return real_.start_send(data, to, tag);
  }
  cohort::pending_operation start_receive(std::span<std::byte> data, int from, int tag) override {
    ++handled;
    return real_.start_receive(data, from, tag);
  }
  std::optional<cohort::arrival> probe(int from, int tag) override { return real_.probe(from, tag); }
  cohort::arrival wait_for_message(int from, int tag) override { return real_.wait_for_message(from, tag); }
  std::unique_ptr<communicator> split(int color, int order) override { return real_.split(color, order); }
  std::unique_ptr<communicator> duplicate() override { return real_.duplicate(); }
  int abort(std::string const& why, int exit_status) noexcept override {
    return real_.abort(why, exit_status);
  }
  void note(cohort::rank_progress here) noexcept override { real_.note(here); }
  cohort::traffic sent() const override { return real_.sent(); }

 private:
  cohort::communicator& real_;
};

}  // namespace cohort_test
