// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/graph/node.hpp>
#include <cohort/layer/batch_sums.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
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
  /// `world`: null for one rank alone.
  synchronised_sums(team& workers, graph_view net, parameter_set const& parameters,
                    std::unique_ptr<communicator> world)
      : team_(workers), world_(std::move(world)) {
    for (int id = 0; id < net.size(); ++id) {
      auto const of_layer = [&](parameter const& p) { return p.node == id && p.frozen; };
      if (std::ranges::any_of(parameters.table(), of_layer)) continue;  // runs as at inference
      auto const shapes = net.input_shapes(id);
      batch_sum_sizes const size = net.kind(id).sums(net.fields(id), shapes);
      if (size.forward > 0) forward_.push_back(size.forward);
      if (size.backward > 0) backward_.insert(backward_.begin(), size.backward);
    }
    for (int w = 0; w < team_.size(); ++w) parts_.emplace_back(*this, w);
  }

  /// Whether a network has layers that make such sums.
  static bool needed(graph_view net) {
    for (int id = 0; id < net.size(); ++id) {
      auto const shapes = net.input_shapes(id);
      if (!(net.kind(id).sums(net.fields(id), shapes) == batch_sum_sizes{})) return true;
    }
    return false;
  }

  batch_sums* of(int worker) { return &parts_[static_cast<std::size_t>(worker)]; }

  /// What a worker does instead of computing: it adds nothing, as often as the others add.
  void join_forward(int worker) { join(worker, forward_); }
  void join_backward(int worker) { join(worker, backward_); }

  void abandon(std::string_view why) noexcept {
    if (world_) world_->abort(std::string(why));
  }

 private:
  class part final : public batch_sums {
   public:
    part(synchronised_sums& all, int worker) : all_(&all), worker_(worker) {}
    void sum(std::span<double> values) override {
      mine = values;
      all_->sum(worker_, values);
    }
    std::span<double> mine{};

   private:
    synchronised_sums* all_;
    int worker_;
  };

  void join(int worker, std::vector<int> const& sizes) {
    std::vector<double> nothing;
    for (int const size : sizes) {
      nothing.assign(static_cast<std::size_t>(size), 0.0);
      of(worker)->sum(nothing);
    }
  }

  void sum(int worker, std::span<double> values) {
    team_.barrier(worker);
    if (worker == 0) {
      total_.assign(values.begin(), values.end());
      for (std::size_t w = 1; w < parts_.size(); ++w)
        for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += parts_[w].mine[i];
      if (world_) world_->allreduce(std::span<double>(total_), reduction::sum);
    }
    team_.barrier(worker);
    std::copy(total_.begin(), total_.end(), values.begin());
  }

  team& team_;
  std::unique_ptr<communicator> world_;
  std::vector<int> forward_;  // sizes, in the order in which a plan runs the layers
  std::vector<int> backward_;
  std::vector<part> parts_;
  std::vector<double> total_;
};

}  // namespace cohort::detail
