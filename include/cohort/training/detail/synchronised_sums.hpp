// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/layer/batch_sums.hpp>
#include <cohort/plan/plan.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Sums of layers over all parts of a batch (synchronised batch normalisation): over the workers in their
/// order, then over the ranks.
///
/// Order     in a run of the team, each worker either computes with of(w), or calls join_forward and
///           join_backward.
/// Errors    communicator_error on all ranks if a rank is lost or has called abandon.
class synchronised_sums {
 public:
  /// `sizes`: the sizes of the sums, from any training plan of the network. `world`: null for a single rank;
  /// otherwise the constructor is collective.
  synchronised_sums(team& workers, plan_sums sizes, std::unique_ptr<communicator> world);

  /// Returns how often each worker participates, with or without examples. If a batch of `examples` examples
  /// is divided evenly over all ranks, the result is the number of micro-batches of the worker with the most
  /// rows. If the ranks' numbers of rows are unknown (a stream that ranks share, or separate data on each
  /// rank), `examples` is below 1, and the result is `micro_batches`.
  ///
  /// Exact     all ranks get the same result.
  int rounds(std::int64_t examples, int micro_batches) const;

  plan_sums const& sizes() const { return sizes_; }
  /// The interface that a worker's layers use for their sums.
  batch_sums* of(int worker) { return &parts_[static_cast<std::size_t>(worker)]; }

  /// Participates without examples: adds zeros as often as the other workers add terms.
  void join_forward(int worker) { join(worker, sizes_.forward); }
  void join_backward(int worker) { join(worker, sizes_.backward); }

  /// Aborts the sums over ranks after an error.
  void abandon(std::string_view why) noexcept;

 private:
  class part final : public batch_sums {
   public:
    part(synchronised_sums& all, int worker) : all_(&all), worker_(worker) {}
    void sum(std::span<double> values) override;
    void add_zeros(int count);
    std::span<double const> values() const { return values_; }

   private:
    synchronised_sums* all_;
    int worker_;
    std::span<double> values_{};
    std::vector<double> zeros_{};
  };

  void join(int worker, std::vector<int> const& sizes);

  void sum(int worker, std::span<double> values);

  team& team_;
  std::unique_ptr<communicator> world_;
  plan_sums sizes_;
  std::vector<int> workers_by_rank_;  // number of workers of each rank
  std::vector<part> parts_;
  std::vector<double> total_;
};

}  // namespace cohort::detail
