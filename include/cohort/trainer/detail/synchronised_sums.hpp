// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/layer/batch_sums.hpp>
#include <cohort/plan/plan.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  synchronised_sums(team& workers, plan_sums sizes, std::unique_ptr<communicator> world)
      : team_(workers), world_(std::move(world)), sizes_(std::move(sizes)) {
    int const mine = team_.size();
    for (int w = 0; w < mine; ++w) parts_.emplace_back(*this, w);
    workers_of_.assign(static_cast<std::size_t>(world_ ? world_->size() : 1), mine);
    if (!world_) return;
    gathered const all = world_->allgatherv(std::as_bytes(std::span(&mine, 1)));
    std::memcpy(workers_of_.data(), all.bytes.data(), workers_of_.size() * sizeof(int));
  }

  /// How often each worker takes part, computing or not, when a batch of all ranks is taken in so many pieces: as often as the
  /// one with most rows has pieces. `examples` below 1: nobody knows how many (a stream that ranks share).
  ///
  /// Exact     the same on all ranks.
  int rounds(std::int64_t examples, int pieces) const {
    if (examples < 1) return pieces;
    std::int64_t most = 0;
    auto const ranks = static_cast<int>(workers_of_.size());
    for (int r = 0; r < ranks; ++r)
      most = std::max(
          most, part_of(part_of({0, examples}, r, ranks), 0, workers_of_[static_cast<std::size_t>(r)]).count);
    return static_cast<int>(std::min<std::int64_t>(most, pieces));
  }

  batch_sums* of(int worker) { return &parts_[static_cast<std::size_t>(worker)]; }

  /// What a worker does instead of computing: it adds nothing, as often as the others add.
  void join_forward(int worker) { join(worker, sizes_.forward); }
  void join_backward(int worker) { join(worker, sizes_.backward); }

  void abandon(std::string_view why) noexcept {
    if (world_) world_->abort(std::string(why));
  }

 private:
  class part final : public batch_sums {
   public:
    part(synchronised_sums& all, int worker) : all_(&all), worker_(worker) {}
    void sum(std::span<double> values) override {
      given_ = values;
      all_->sum(worker_, values);
    }
    void add_nothing(int count) {
      zeros_.assign(static_cast<std::size_t>(count), 0.0);
      sum(zeros_);
    }
    std::span<double const> given() const { return given_; }

   private:
    synchronised_sums* all_;
    int worker_;
    std::span<double> given_{};
    std::vector<double> zeros_{};
  };

  void join(int worker, std::vector<int> const& sizes) {
    for (int const size : sizes) parts_[static_cast<std::size_t>(worker)].add_nothing(size);
  }

  void sum(int worker, std::span<double> values) {
    team_.barrier(worker);
    if (worker == 0) {
      total_.assign(values.begin(), values.end());
      for (std::size_t w = 1; w < parts_.size(); ++w)
        for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += parts_[w].given()[i];
      if (world_) world_->allreduce(std::span<double>(total_), reduction::sum);
    }
    team_.barrier(worker);
    std::copy(total_.begin(), total_.end(), values.begin());
  }

  team& team_;
  std::unique_ptr<communicator> world_;
  plan_sums sizes_;
  std::vector<int> workers_of_;  // of each rank
  std::vector<part> parts_;
  std::vector<double> total_;
};

}  // namespace cohort::detail
