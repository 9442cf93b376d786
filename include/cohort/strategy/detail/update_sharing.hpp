// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/synchronous_sharing.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace cohort::detail {

/// Shares steps: the optimizer of each rank computes a step; all ranks then replace their steps with the sum
/// of the steps' sent parts or, with `mean`, with the mean of these parts.
///
/// The ranks' optimizer states differ. Saved models, and checkpoints continued by another number of ranks,
/// contain the mean of these states.
template <class Make>
class update_sharing final : public synchronous_sharing<Make> {
  using base = synchronous_sharing<Make>;

 public:
  update_sharing(std::unique_ptr<communicator> world, sharing_settings const& settings, std::string text,
                 Make make)
      : base(std::move(world), settings, settings.mean ? combination::mean : combination::sum,
             std::move(text), std::move(make)) {}

  exchanged what() const override { return exchanged::parameters; }

  void begin(step_info const&, replica const& mine) override {
    this->prepare(mine);
    store_before(mine);
  }

  void after_update(step_info const& now, replica const& mine, bool updated) override {
    read_step(mine);
    bool const applies = this->exchange_step(now, this->is_dense(now));
    if (!applies) this->exchange().mine().clear();
    replace_step(mine, applies ? this->exchange().all() : this->exchange().mine());
    if (mine.update.state_arrays() > 0) ++own_steps_;
    this->count_own_statistics(mine, updated ? now.examples : 0);
  }

  void end_of_epoch(step_info const& now, replica const& mine) override {
    votes pending{};
    while (this->has_pending(mine)) {
      bool const applies = this->finish_oldest();
      pending |= this->agreed_.all;
      if (!applies) continue;
      store_before(mine);
      replace_step(mine, this->exchange().all());
    }
    this->agreed_.all |= pending;
    base::end_of_epoch(now, mine);
  }

  bool diverged() const override { return base::diverged() || (own_steps_ > 0 && this->world().size() > 1); }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    base::consensus(mine, dense);
    this->average_optimizer_state(mine, dense);
  }

  strategy_state state() const override {
    strategy_state now = base::state();
    now.counts.push_back({"local steps", own_steps_});
    return now;
  }
  void restore(strategy_state const& saved) override {
    device_before_.reset();
    base::restore(saved);
    own_steps_ = count_of(saved, "local steps", own_steps_);
  }
  void restore_from_ranks(strategy_state const& saved, int former, int ranks) override {
    device_before_.reset();
    base::restore_from_ranks(saved, former, ranks);
  }

 private:
  /// Stores the parameters before a step: on a device, the shared elements; otherwise, the canonical flat
  /// view.
  void store_before(replica const& mine) {
    if (threshold_device* const device_passes = this->exchange().device_passes()) {
      if (!device_before_) device_before_.emplace(this->exchange().mine().size(), device_passes);
      this->elements().read(mine.parameters, mine.parameters.master(), device_before_->span());
    } else {
      step_.begin(mine);
    }
  }
  /// mine() = parameters before the step − parameters now.
  void read_step(replica const& mine) {
    f32_buffer& x = this->exchange().mine();
    if (device_before_) {
      this->elements().read(mine.parameters, mine.parameters.master(), x.span());
      x.scale(-1);
      x.add(*device_before_);
    } else {
      step_.read(mine, this->elements(), x.span());
    }
  }
  /// Sets parameters = parameters before the step − staleness_factor()·x.
  /// After     x may have been overwritten.
  void replace_step(replica const& mine, f32_buffer& x) {
    if (!device_before_) return step_.replace(mine, this->elements(), x.span(), this->staleness_factor());
    x.scale(static_cast<float>(-this->staleness_factor()));
    device_before_->add(x);
    this->elements().write(mine.parameters, device_before_->span(), mine.parameters.master());
    mine.update.constrain(0, 1);
    mine.parameters.mark_changed();
  }

  own_step step_;
  std::optional<f32_buffer> device_before_;
  std::int64_t own_steps_ = 0;  // steps in which the ranks' optimizer states have diverged
};

}  // namespace cohort::detail
