// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/hash.hpp>
#include <cohort/strategy/detail/message_exchange.hpp>
#include <cohort/strategy/detail/sharing_strategy.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Common part of sharing gradients and sharing steps with bounded staleness: the exchange, running
/// statistics, and the pending messages of a checkpoint.
///
/// Each rank updates its own running statistics. The statistics are averaged over the ranks for evaluations
/// and checkpoints, at an epoch's end and, if `sync_buffers` > 0, every `sync_buffers` steps.
template <class Make>
class synchronous_sharing : public sharing_strategy<Make, message_exchange<codec_of<Make>>> {
  using base = sharing_strategy<Make, message_exchange<codec_of<Make>>>;

 protected:
  using base::agreed_, base::exchange_, base::is_elastic_, base::residual_, base::restored_,
      base::sent_residual_, base::settings_, base::statistics_, base::thresholds_, base::world_;

 public:
  ~synchronous_sharing() override {
    if (exchanging_) abandon("the strategy was destroyed during a step");
    try {
      if (exchange_) exchange_->wait();
    } catch (std::exception const&) {  // nothing is in flight any more
    }
  }

  bool meets_each_step() const override { return settings_.max_staleness == 0; }
  void end_of_epoch(step_info const&, replica const& mine) override {
    if (statistics_.steps() > 0) statistics_.synchronise(*world_, mine);
  }
  bool diverged() const override { return statistics_.steps() > 0; }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    this->read_arrays(mine, dense);
    if (statistics_.steps() > 0) statistics_.average(*world_, mine, dense[0]);
  }

  void abandon(std::string_view why) noexcept override {
    bool const pending = exchange_ && exchange_->pending() > 0;
    if (std::exchange(exchanging_, false) || pending) world_->abort(std::string(why));
  }

  strategy_state state() const override {
    strategy_state now;
    statistics_.save(now);
    this->save_residual(now);
    for (std::size_t k = 0; k < pending_names_.size(); ++k)
      save_bytes(now, pending_names_[k], pending_message(k));
    for (lost_message const& one : lost_) save_bytes(now, one.name, one.bytes);
    for (lost_message const& one : lost_) now.counts.push_back({one.name, one.ranks});
    if (!lost_.empty()) now.counts.push_back({former_ranks_name, former_ranks_});
    now.counts.push_back({group_size_name, exchange_ ? exchange_->group_size() : saved_group_size_});
    now.counts.push_back({ranks_name, world_->size()});
    return now;
  }
  void restore(strategy_state const& saved) override {
    reset();
    restored_ = true;
    statistics_.restore(saved);
    saved_group_size_ = ranks_in(saved, group_size_name, 1);
    former_ranks_ = ranks_in(saved, former_ranks_name, 0);
    for (strategy_state::array const& one : saved.arrays) {
      this->restore_residual(one);
      if (one.name.starts_with(message_name)) pending_.push_back(values_of<std::byte>(one));
      if (one.name.starts_with(lost_name)) add_lost(one, ranks_in(saved, one.name, 1));
    }
    // The residual is part of a mean over other ranks now.
    double const factor = static_cast<double>(world_->size()) / ranks_in(saved, ranks_name, world_->size());
    for (std::vector<float>* const residual : {&residual_, &sent_residual_})
      for (float& value : *residual)
        if (combination_ != combination::sum) value *= static_cast<float>(factor);
  }
  /// Keeps the residual that this rank has restored. If an error has ended its last exchange, which other
  /// ranks have finished, the residual is that after the exchange.
  void join(strategy_state const& of_rank) override {
    std::vector<float> residual = std::move(sent_residual_.empty() ? residual_ : sent_residual_);
    std::vector<double> thresholds = std::move(thresholds_);
    restore(of_rank);
    residual.resize(residual_.size());
    residual_ = std::move(residual);
    sent_residual_ = {};
    if (!thresholds.empty()) thresholds_ = std::move(thresholds);
    statistics_.discard_examples();
  }
  /// Residuals and decoded pending messages are summed and split evenly; thresholds are averaged.
  void restore_from_ranks(strategy_state const& saved, int former, int ranks) override {
    if (former == 0) reset();
    int const group_size =
        combination_ == combination::weighted_mean ? ranks_in(saved, group_size_name, 1) : 1;
    former_ranks_ = std::max({former_ranks_, ranks, ranks_in(saved, former_ranks_name, 0)});
    for (strategy_state::array const& one : saved.arrays) {
      if (one.name == base::residual_name)
        add_scaled(values_of<float>(one), group_size * 1.0 / world_->size(), residual_);
      if (one.name == base::thresholds_name) add_to_mean(values_of<double>(one));
      if (one.name.starts_with(message_name)) add_lost(one, group_size);
      if (former == 0 && one.name.starts_with(lost_name))  // these arrays are the same in every rank's state
        add_lost(one, ranks_in(saved, one.name, 1));
    }
  }

 protected:
  synchronous_sharing(std::unique_ptr<communicator> world, sharing_settings const& settings, combination how,
                      std::string text, Make make)
      : base(std::move(world), settings, std::move(text), std::move(make)), combination_(how) {
    for (int k = 0; k < settings.max_staleness; ++k)
      pending_names_.push_back(text_of({message_name, k / 10, k % 10}));
  }

  /// Creates the exchange before the first step.
  void prepare(replica const& mine) {
    if (exchange_) return;
    auto* const device = mine.parameters.type() == element_type::f32
                             ? dynamic_cast<threshold_device_source*>(&mine.parameters.passes())
                             : nullptr;
    auto codec = this->make_codec(mine, device);
    exchange_ = std::make_unique<message_exchange<codec_of<Make>>>(
        settings_.group == sharing_group::process ? process_group(*world_, random_process_id())
                                                  : process_group(*world_),
        std::move(codec), settings_.route, combination_, fnv1a(this->text_), settings_.max_staleness);
    this->elements().set_on_device(exchange_->device_passes() != nullptr);
    if (is_elastic_ && settings_.max_staleness == 0) exchange_->keep_former();
    if (!residual_.empty()) exchange_->restore(residual_, thresholds_);
    for (lost_message const& one : lost_)
      exchange_->add_to_residual(one.bytes, former_ranks_,
                                 static_cast<float>(one.ranks) / static_cast<float>(world_->size()));
    if (restored_ || former_ranks_ > 0) exchange_->resume(pending_, saved_group_size_);
    residual_ = sent_residual_ = {};
    pending_ = {};
    lost_ = {};
    this->broadcast_first(mine);
  }

  /// Exchanges mine() of a step. Returns whether all() has a result to apply: of this step, or of the step
  /// that is `max_staleness` steps older.
  bool exchange_step(step_info const& now, bool densely = false) {
    world_->note({now.step, 0});
    exchanging_ = true;
    bool is_filling = false;
    try {
      if (densely)
        exchange_->exchange_densely(now, agreed_);
      else
        exchange_->start(now);
      is_filling = !densely && exchange_->pending() <= settings_.max_staleness;
      if (!densely && !is_filling) exchange_->finish(agreed_);
    } catch (communicator_error const&) {
      if (!densely && settings_.max_staleness == 0) exchange_->undo();
      throw;
    }
    exchanging_ = false;
    return !is_filling && agreed_.weight > 0 && !agreed_.all.not_finite;
  }
  /// Returns whether an exchange is pending at an epoch's end.
  bool has_pending(replica const& mine) {
    if (!exchange_ && settings_.max_staleness > 0) prepare(mine);
    return exchange_ && exchange_->pending() > 0;
  }
  /// Finishes the oldest pending exchange; returns whether all() has a result to apply. If `apply` is false,
  /// this rank's message is returned to its residual.
  bool finish_oldest(bool apply = true) {
    exchanging_ = true;
    exchange_->finish(agreed_, apply);
    exchanging_ = false;
    return agreed_.weight > 0 && !agreed_.all.not_finite;
  }
  /// Factor of a step that is applied `max_staleness` steps after its gradient.
  double staleness_factor() const {
    return settings_.slower_if_stale && settings_.max_staleness > 1 ? 1.0 / settings_.max_staleness : 1;
  }

  /// Like count_statistics, but does nothing on a single rank.
  void count_own_statistics(replica const& mine, int examples) {
    if (world_->size() > 1) this->count_statistics(mine, examples);
  }
  /// Returns whether a step is one of the first `warm_up` steps, which are exchanged densely.
  bool is_dense(step_info const& now) const { return now.step < settings_.warm_up; }

 private:
  static constexpr std::string_view message_name = "message ", lost_name = "lost ", ranks_name = "ranks",
                                    former_ranks_name = "former ranks", group_size_name = "group size";

  /// Pending message of a run with another number of ranks. `ranks`: number of ranks whose mean or sum the
  /// message contains.
  struct lost_message {
    std::string name;
    std::vector<std::byte> bytes;
    int ranks;
  };

  static int ranks_in(strategy_state const& from, std::string_view name, int otherwise) {
    return static_cast<int>(count_of(from, name, otherwise));
  }
  static void save_bytes(strategy_state& to, std::string_view name, std::span<std::byte const> bytes) {
    base::save_array(to, name, element_type::u8, bytes);
  }
  void add_lost(strategy_state::array const& message, int ranks) {
    lost_.push_back({text_of({lost_name, lost_.size()}), values_of<std::byte>(message), ranks});
  }

  std::span<std::byte const> pending_message(std::size_t k) const {
    if (!exchange_)
      return k < pending_.size() ? std::span<std::byte const>(pending_[k]) : std::span<std::byte const>();
    if (static_cast<int>(k) >= exchange_->pending()) return {};
    return exchange_->pending_message(static_cast<int>(k));
  }

  void add_to_mean(std::vector<double> const& thresholds) {
    if (averaged_++ == 0) thresholds_.assign(thresholds.size(), 0);
    for (std::size_t i = 0; i < std::min(thresholds.size(), thresholds_.size()); ++i)
      thresholds_[i] += (thresholds[i] - thresholds_[i]) / averaged_;
  }

  /// Discards the state of an earlier run.
  void reset() {
    if (exchange_) exchange_->wait();
    this->reset_run();
    pending_ = {};
    lost_ = {};
    restored_ = false;
    former_ranks_ = averaged_ = 0;
    saved_group_size_ = 1;
  }

  combination combination_;
  bool exchanging_ = false;
  std::vector<std::string> pending_names_;
  // The following members are restored from a checkpoint and used only until the first step.
  std::vector<std::vector<std::byte>> pending_;  // this rank's pending messages
  std::vector<lost_message> lost_;
  int former_ranks_ = 0;
  int averaged_ = 0;  // number of states whose mean is thresholds_
  int saved_group_size_ = 1;
};

}  // namespace cohort::detail
