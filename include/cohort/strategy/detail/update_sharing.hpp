// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/sharing_strategy.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace cohort::detail {

/// Shares steps: each rank takes its own by its own updater, and all then take the sum of what was sent instead.
///
/// The updaters' state is each rank's own; its mean is what models and other numbers of ranks get.
template <class Make>
class update_sharing final : public sharing_strategy<Make> {
  using base = sharing_strategy<Make>;

 public:
  update_sharing(std::unique_ptr<communicator> world, sharing_settings const& how, std::string text,
                 Make make)
      : base(std::move(world), how, how.mean ? combined::mean : combined::sum, std::move(text),
             std::move(make)) {}

  exchanged what() const override { return exchanged::parameters; }

  void begin(step_info const&, replica const& mine) override {
    this->prepare(mine);
    keep(mine);
  }

  void after_update(step_info const& now, replica const& mine, bool updated) override {
    subtract(mine);
    bool const dense = this->is_dense(now);
    bool const taken = this->share(now, dense);
    if (!taken) this->exchange().mine().clear();
    take(mine, taken ? this->exchange().all() : this->exchange().mine());
    if (mine.update.state_arrays() > 0) ++own_steps_;
    this->follow_statistics(now, mine, updated ? now.examples : 0);
  }

  void end_of_epoch(step_info const& now, replica const& mine) override {
    votes heard{};
    while (this->has_waiting(mine)) {
      bool const taken = this->finish_waiting();
      heard |= this->agreed_.all;
      if (!taken) continue;
      keep(mine);
      take(mine, this->exchange().all());
    }
    this->agreed_.all |= heard;
    base::end_of_epoch(now, mine);
  }

  bool diverged() const override { return base::diverged() || (own_steps_ > 0 && this->world().size() > 1); }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    base::consensus(mine, dense);
    auto const elements = static_cast<std::size_t>(mine.parameters.elements());
    for (std::size_t array = 1; array < dense.size(); ++array) {
      mean_over_ranks(this->world(), mine.parameters.type(), dense[array], elements);
      mine.keep_frozen(static_cast<int>(array), dense[array]);
    }
  }

  strategy_state state() const override {
    strategy_state now = base::state();
    now.counts.push_back({"own steps", own_steps_});
    return now;
  }
  void restore(strategy_state const& saved) override {
    held_.reset();
    base::restore(saved);
    own_steps_ = count_of(saved, "own steps", own_steps_);
  }
  void restore_from_ranks(strategy_state const& theirs, int former, int ranks) override {
    held_.reset();
    base::restore_from_ranks(theirs, former, ranks);
  }

 private:
  template <class F>
  void by_type(replica const& mine, F f) {
    with_real(mine.parameters.type(), [&]<class T>(T*) { f(before_->as<T>(), after_->as<T>()); });
  }
  void prepare_arrays(replica const& mine) {
    if (!before_) before_.emplace(mine.bytes());
    if (!after_) after_.emplace(mine.bytes());
  }
  /// Where arrays lie on a device, elements that are shared; else all of the canonical flat view.
  void keep(replica const& mine) {
    if (threshold_device* const device_passes = this->exchange().device_passes()) {
      if (!held_) held_.emplace(this->exchange().mine().size(), device_passes);
      this->elements().read(mine.parameters, mine.parameters.master(), held_->span());
    } else {
      prepare_arrays(mine);
      mine.read(0, before_->data());
    }
  }
  /// The rank's step: before − now
  void subtract(replica const& mine) {
    f32_buffer& step = this->exchange().mine();
    if (held_) {
      this->elements().read(mine.parameters, mine.parameters.master(), step.span());
      step.scale(-1);
      step.add(*held_);
    } else {
      mine.read(0, after_->data());
      by_type(mine,
              [&](auto* before, auto* after) { this->elements().subtract(before, after, step.span()); });
    }
  }
  /// w = before − factor·x; x may change.
  void take(replica const& mine, f32_buffer& x) {
    if (held_) {
      x.scale(static_cast<float>(-this->factor()));
      held_->add(x);
      this->elements().write(mine.parameters, held_->span(), mine.parameters.master());
    } else {
      by_type(mine, [&](auto* before, auto*) {
        this->elements().apply(mine.parameters, before, x.span(), this->factor(), mine.parameters.master());
      });
    }
    mine.update.constrain(0, 1);
    mine.parameters.changed();
  }

  std::optional<buffer> before_;
  std::optional<buffer> after_;
  std::optional<f32_buffer> held_;  // before, on a device
  std::int64_t own_steps_ = 0;      // in which ranks' states have gone apart
};

}  // namespace cohort::detail
