// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/nccl/detail/gpu_sum.hpp>
#include <cohort/nccl/detail/implementation.hpp>
#include <cohort/nccl/detail/nccl_family.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Communicator that sums arrays in GPU memory directly between GPUs with NCCL, concurrently with the GPUs'
/// computation. All other operations are forwarded to a duplicate of `world`. If a rank cannot load NCCL, all
/// operations of all ranks are forwarded; the rank that cannot load NCCL logs the reason.
///
///     nccl ranks(world);
///     auto run = trainer<cudnn>(net, ranks, allreduce{}, settings);
///
/// Order     created collectively. Each relative (see communicator) creates an NCCL communicator when it
///           starts its first sum.
/// Before    each rank has a separate GPU (CUDA_VISIBLE_DEVICES). All arrays of a communicator belong to one
///           backend object.
/// Moves     2(P−1)/P·n bytes per rank for a sum of n bytes, as for a ring. `sent` counts these bytes,
///           although NCCL may choose another algorithm.
/// Exact     results are equal on every rank; NCCL determines the order of a sum.
/// Errors    communicator_error on every rank if NCCL fails or a sum exceeds the deadline; the error is
///           thrown at the latest after twice the deadline. setting_error if two ranks have the same GPU.
class nccl final : public communicator {
 public:
  explicit nccl(communicator& world, detail::library_source const& from = detail::system_libraries());
  ~nccl() override;

  /// Returns the reason why sums do not use NCCL; "" if they do.
  std::string const& why_not() const { return why_not_; }

  std::string_view name() const override { return name_; }
  int rank() const override { return over_->rank(); }
  int size() const override { return over_->size(); }
  communicator_settings const& settings() const override { return over_->settings(); }

  bool sums_in(memory_space const& space) const override;
  pending_operation start_allreduce(elements data, reduction how) override;

  pending_operation start_broadcast(elements data, int root) override {
    return over_->start_broadcast(data, root);
  }
  pending_operation start_reduce_scatter_phase(elements data, reduction op) override {
    return over_->start_reduce_scatter_phase(data, op);
  }
  pending_operation start_allgather_phase(elements data) override {
    return over_->start_allgather_phase(data);
  }
  pending_operation start_reduce_scatter(elements data, reduction how) override;
  pending_operation start_allgather(elements data) override { return over_->start_allgather(data); }
  pending_operation start_allgatherv(std::span<std::byte const> mine, gathered& all) override;
  pending_operation start_barrier() override { return over_->start_barrier(); }
  pending_operation start_send(std::span<std::byte const> data, int to, int tag) override;
  pending_operation start_receive(std::span<std::byte> data, int from, int tag) override;
  std::optional<arrival> probe(int from, int tag) override { return over_->probe(from, tag); }
  arrival wait_for_message(int from, int tag) override { return over_->wait_for_message(from, tag); }

  std::unique_ptr<communicator> split(int color, int order) override;
  std::unique_ptr<communicator> duplicate() override;

  int abort(std::string const& why, int exit_status = 1) noexcept override;
  void note(rank_progress here) noexcept override { over_->note(here); }
  traffic sent() const override;

 private:
  nccl(std::unique_ptr<communicator> over, std::shared_ptr<detail::nccl_family> family,
       std::string why_not = {});

  /// Returns a completed sum that no handle refers to, or a new one.
  std::shared_ptr<detail::gpu_sum> acquire_sum();

  std::shared_ptr<communicator> over_;
  std::shared_ptr<detail::nccl_family> family_;  // null if sums do not use NCCL
  std::string why_not_, name_;
  std::mutex mutex_;
  std::shared_ptr<detail::nccl_ranks> ranks_;
  std::vector<std::shared_ptr<detail::gpu_sum>> sums_;
};

}  // namespace cohort
