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

/// The sums that layers of one network make over the parts of a batch: in workers' order, then over the ranks.
///
/// Order     in a run of the team each worker computes, with of(w), or takes part by join_forward and join_backward.
/// Errors    communicator_error on all ranks if one is lost or called abandon.
class synchronised_sums {
 public:
  /// `sizes` are those of any of the network's plans for training; `world`: null for one rank alone, else all its ranks do
  /// this together.
  synchronised_sums(team& workers, plan_sums sizes, std::unique_ptr<communicator> world);

  /// How often each worker takes part, computing or not, when a batch of all ranks is taken in so many pieces: as often as the
  /// one with most rows has pieces. `examples` below 1: nobody knows how many (a stream that ranks share).
  ///
  /// Exact     the same on all ranks.
  int rounds(std::int64_t examples, int pieces) const;

  batch_sums* of(int worker) { return &parts_[static_cast<std::size_t>(worker)]; }

  /// What a worker does instead of computing: it adds nothing, as often as the others add.
  void join_forward(int worker) { join(worker, sizes_.forward); }
  void join_backward(int worker) { join(worker, sizes_.backward); }

  void abandon(std::string_view why) noexcept;

 private:
  class part final : public batch_sums {
   public:
    part(synchronised_sums& all, int worker) : all_(&all), worker_(worker) {}
    void sum(std::span<double> values) override;
    void add_nothing(int count);
    std::span<double const> given() const { return given_; }

   private:
    synchronised_sums* all_;
    int worker_;
    std::span<double> given_{};
    std::vector<double> zeros_{};
  };

  void join(int worker, std::vector<int> const& sizes);

  void sum(int worker, std::span<double> values);

  team& team_;
  std::unique_ptr<communicator> world_;
  plan_sums sizes_;
  std::vector<int> workers_of_;  // of each rank
  std::vector<part> parts_;
  std::vector<double> total_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/synchronised_sums.ipp>
#endif
