// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/hash.hpp>
#include <cohort/strategy/detail/asynchronous_exchange.hpp>
#include <cohort/strategy/detail/outer_optimizer.hpp>
#include <cohort/strategy/detail/sharing_strategy.hpp>
#include <cohort/tensor/buffer.hpp>
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

/// Shares steps with unbounded staleness: each rank applies its own decoded message at once, and other ranks'
/// messages when they arrive.
///
/// Order     ranks synchronise at an epoch's end, in evaluations and checkpoints, and every `sync_buffers`
///           steps.
/// After     w = w₀ − Σ factor·s / τ over the messages that have arrived (see asynchronous_exchange), with
///           constraints. w differs between ranks. At an epoch's end all messages have arrived. Each rank's w
///           then contains the same steps, added in a different order, and every rank sets w to the mean of
///           the ranks' w.
/// Exact     ranks have the same bits at an epoch's end, except the optimizers' state. Two runs may have
///           different bits.
template <class Make>
class asynchronous_sharing final : public sharing_strategy<Make, asynchronous_exchange<codec_of<Make>>> {
  using base = sharing_strategy<Make, asynchronous_exchange<codec_of<Make>>>;
  using base::agreed_, base::elements_, base::exchange_, base::residual_, base::restored_, base::settings_,
      base::statistics_, base::thresholds_, base::world_;

 public:
  asynchronous_sharing(std::unique_ptr<communicator> world, sharing_settings const& settings,
                       std::string text, Make make)
      : base(std::move(world), settings, std::move(text), std::move(make)) {}
  ~asynchronous_sharing() override { end(); }

  exchanged what() const override { return exchanged::parameters; }
  bool meets_each_step() const override { return false; }

  void begin(step_info const&, replica const& mine) override {
    prepare(mine);
    step_.begin(mine);
  }

  void after_update(step_info const& now, replica const& mine, bool updated) override {
    world_->note({now.step, 0});
    std::fill(exchange_->mine().begin(), exchange_->mine().end(), 0.0F);
    if (updated) step_.read(mine, *elements_, exchange_->mine());
    if (now.step < settings_.warm_up) {
      exchange_->sum_densely(now, agreed_);
      step_.replace(mine, *elements_, exchange_->mine(), factor());
    } else {
      exchange_->step(now, agreed_);
      step_.replace(mine, *elements_, exchange_->all(), 1);
      exchange_->clear();
    }
    ++unsynced_steps_;
    own_state_ = mine.update.state_arrays() > 0;
    this->count_statistics(mine, updated ? now.examples : 0);
  }

  void end_of_epoch(step_info const& now, replica const& mine) override {
    if (unsynced_steps_ == 0) return;
    prepare(mine);
    agreement met = exchange_->synchronise();
    step_.begin(mine);
    step_.replace(mine, *elements_, exchange_->all(), 1);
    exchange_->clear();
    buffer const dense(mine.bytes());
    mine.read(0, dense.data());
    met.all |= average_replicas(mine, dense.data(), now.mine);
    mine.write(0, dense.data());
    mine.parameters.mark_changed();
    agreed_ = {agreed_.meetings + 1, met.examples, met.weight, met.all};
    statistics_.reset();
    unsynced_steps_ = 0;
  }

  bool diverged() const override { return world_->size() > 1 && (unsynced_steps_ > 0 || own_state_); }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    prepare(mine);
    this->read_arrays(mine, dense);
    if (unsynced_steps_ > 0) {
      exchange_->receive_all();
      elements_->subtract(mine.parameters.type(), dense[0], exchange_->all());
      average_replicas(mine, dense[0], {});
    }
    votes const none{};
    this->average_optimizer_state(mine, dense, &none);
  }

  void abandon(std::string_view why) noexcept override {
    if (exchange_) world_->abort(std::string(why));
  }

  /// Collective: waits for all messages in flight.
  strategy_state state() const override {
    strategy_state now{
        .counts = {{"unsynced steps", unsynced_steps_}, {"own optimizer state", own_state_ ? 1 : 0}}};
    statistics_.save(now);
    if (exchange_) exchange_->receive_all();
    this->save_residual(now);
    using f32s = std::span<float const>;
    if (unsynced_steps_ > 0)
      this->save_array(now, not_applied_name, element_type::f32,
                       exchange_ ? f32s(exchange_->all()) : f32s(not_applied_));
    return now;
  }
  void restore(strategy_state const& saved) override {
    reset();
    restored_ = true;
    statistics_.restore(saved);
    unsynced_steps_ = count_of(saved, "unsynced steps", 0);
    own_state_ = count_of(saved, "own optimizer state", 0) != 0;
    for (strategy_state::array const& one : saved.arrays) {
      this->restore_residual(one);
      if (one.name == not_applied_name) not_applied_ = values_of<float>(one);
    }
  }
  /// Residuals are summed and split evenly; thresholds are averaged. Messages that were received but not
  /// applied need no restoring, because the restored parameters (the consensus) include these messages.
  void restore_from_ranks(strategy_state const& saved, int former, int ranks) override {
    if (former == 0) reset();
    for (strategy_state::array const& one : saved.arrays) {
      if (one.name == base::residual_name) add_scaled(values_of<float>(one), 1.0 / world_->size(), residual_);
      if (one.name == base::thresholds_name) add_scaled(values_of<double>(one), 1.0 / ranks, thresholds_);
    }
  }

 private:
  static constexpr std::string_view not_applied_name = "not applied";

  /// Creates the exchange before the first step.
  void prepare(replica const& mine) {
    if (exchange_) return;
    auto codec = this->make_codec(mine);
    exchange_ = std::make_unique<asynchronous_exchange<codec_of<Make>>>(
        *world_, std::move(codec), fnv1a(this->text_), factor(), settings_.slower_if_stale);
    if (!residual_.empty()) exchange_->restore(residual_, thresholds_, not_applied_);
    residual_ = not_applied_ = {};
    this->broadcast_first(mine);
  }

  /// Weight of each rank's step.
  double factor() const { return settings_.mean ? 1.0 / world_->size() : 1; }

  /// Replaces the trained parameters in `dense` with the mean of all ranks' parameters, and merges all ranks'
  /// running statistics, weighted by examples. Frozen parameters keep their values. Returns all ranks' votes.
  votes average_replicas(replica const& mine, std::byte* dense, votes const& own) {
    buffer const mean = copy_of({dense, mine.bytes()});
    votes const all = mean_over_ranks(*world_, mine.parameters.type(), mean.data(),
                                      static_cast<std::size_t>(mine.parameters.elements()), &own);
    std::size_t const size = bytes_of(mine.parameters.type());
    for_each_trained(mine.parameters, [&](std::size_t first, std::size_t count) {
      std::memcpy(dense + first * size, mean.data() + first * size, count * size);
    });
    mine.update.constrain(dense);
    statistics_.average(*world_, mine, dense);
    return all;
  }

  void end() noexcept {
    try {
      if (exchange_) exchange_->end();
    } catch (...) {  // the communicator has failed, so no message is in flight
    }
  }
  /// Discards the state of an earlier run.
  void reset() {
    if (exchange_) exchange_->synchronise();
    end();
    this->reset_run();
    not_applied_ = {};
    unsynced_steps_ = 0;
    own_state_ = false;
  }

  own_step step_;
  std::int64_t unsynced_steps_ = 0;  // number of steps since all ranks had the same parameters
  bool own_state_ = false;           // whether the ranks' optimizer states differ
  std::vector<float> not_applied_;   // sum restored from a checkpoint; empty after the first step
};

}  // namespace cohort::detail
