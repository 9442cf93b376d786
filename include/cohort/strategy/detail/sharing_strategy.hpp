// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/codec_threads.hpp>
#include <cohort/strategy/detail/message_exchange.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/shared_elements.hpp>
#include <cohort/strategy/detail/statistics_mean.hpp>
#include <cohort/strategy/detail/unsynced_statistics.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What sharing gradients and sharing steps have in common: the exchange, running statistics, and what a checkpoint keeps.
///
/// Running statistics are each rank's own, until all take their mean: every `sync_buffers` steps (0: not), at an epoch's end,
/// and in what evaluation and checkpoints show.
template <class Make>
class sharing_strategy : public strategy {
 public:
  ~sharing_strategy() override {
    if (exchanging_) abandon("a rank gave up in the middle of a step");
    try {
      if (exchange_) exchange_->wait();
    } catch (std::exception const&) {  // nothing is under way any more
    }
  }

  std::string describe() const override { return text_; }
  bool meets_each_step() const override { return how_.max_staleness == 0; }
  agreement const* agreed() const override { return &agreed_; }
  std::vector<measurement> report() const override {
    return exchange_ ? exchange_->report() : std::vector<measurement>();
  }
  exchange_times last_exchange() const override { return exchange_ ? exchange_->last() : exchange_times(); }

  void set_workers(int workers) override { threads_.set(workers); }
  void end_of_epoch(step_info const&, replica const& mine) override {
    if (statistics_.steps() > 0) statistics_.synchronise(*world_, mine);
  }
  bool diverged() const override { return statistics_.steps() > 0; }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    for (std::size_t array = 0; array < dense.size(); ++array)
      mine.read(static_cast<int>(array), dense[array]);
    if (statistics_.steps() > 0) statistics_.merge(*world_, mine, dense[0]);
  }

  void abandon(std::string_view why) noexcept override {
    bool const waits = exchange_ && exchange_->waiting() > 0;
    if (std::exchange(exchanging_, false) || waits) world_->abort(std::string(why));
  }

  strategy_state state() const override {
    strategy_state now;
    statistics_.tell(now);
    auto const add = [&](std::string_view name, element_type type, auto values) {
      if (!values.empty()) now.arrays.push_back({name, type, std::as_bytes(values)});
    };
    add("residual", element_type::f32, exchange_ ? exchange_->residual() : std::span<float const>(residual_));
    add("thresholds", element_type::f64,
        exchange_ ? exchange_->state() : std::span<double const>(thresholds_));
    for (std::size_t k = 0; k < names_.size(); ++k) add(names_[k], element_type::u8, waiting(k));
    for (std::size_t k = 0; k < lost_.size(); ++k)
      add(lost_names_[k], element_type::u8, std::span<std::byte const>(lost_[k]));
    for (std::size_t k = 0; k < lost_.size(); ++k) now.counts.push_back({lost_names_[k], lost_of_[k]});
    if (!lost_.empty()) now.counts.push_back({"ranks before", ranks_before_});
    now.counts.push_back({spoke_for_name, exchange_ ? exchange_->speaks_for() : spoke_for_});
    return now;
  }
  void restore(strategy_state const& saved) override {
    forget();
    restored_ = true;
    statistics_.restore(saved);
    spoke_for_ = rank_count_of(saved, spoke_for_name, 1);
    ranks_before_ = rank_count_of(saved, "ranks before", 0);
    for (strategy_state::array const& one : saved.arrays) {
      if (one.name == "residual") residual_ = values_of<float>(one);
      if (one.name == "thresholds") thresholds_ = values_of<double>(one);
      if (one.name.starts_with(message_name)) waiting_.push_back(values_of<std::byte>(one));
      if (one.name.starts_with(lost_name)) lose(values_of<std::byte>(one), rank_count_of(saved, one.name, 1));
    }
  }
  /// Residuals are summed and split evenly, and so is what messages would have brought; thresholds are averaged.
  void restore_from_ranks(strategy_state const& theirs, int former, int ranks) override {
    if (former == 0) forget();
    int const of = as_ == combined::weighted_mean ? rank_count_of(theirs, spoke_for_name, 1) : 1;
    ranks_before_ = std::max({ranks_before_, ranks, rank_count_of(theirs, "ranks before", 0)});
    for (strategy_state::array const& one : theirs.arrays) {
      if (one.name == "residual") add_share(values_of<float>(one), of * 1.0 / world_->size(), residual_);
      if (one.name == "thresholds") add_to_mean(values_of<double>(one));
      if (one.name.starts_with(message_name)) lose(values_of<std::byte>(one), of);
      if (former == 0 && one.name.starts_with(lost_name))  // which all have
        lose(values_of<std::byte>(one), rank_count_of(theirs, one.name, 1));
    }
  }

 protected:
  using codec = std::invoke_result_t<Make const&, tensor_table>;

  sharing_strategy(std::unique_ptr<communicator> world, sharing_settings const& how, combined as,
                   std::string text, Make make)
      : world_(std::move(world)), how_(how), as_(as), text_(std::move(text)), make_(std::move(make)) {
    for (int k = 0; k < how.max_staleness; ++k) names_.push_back(text_of({message_name, k / 10, k % 10}));
  }

  /// Before the first step.
  void prepare(replica const& mine) {
    if (exchange_) return;
    elements_.emplace(mine.parameters);
    if (elements_->table().elements() == 0)
      throw setting_error({.what = "there is nothing to share: no parameter is trained", .where = text_});
    auto* const device = mine.parameters.type() == element_type::f32
                             ? dynamic_cast<threshold_device_source*>(&mine.parameters.passes())
                             : nullptr;
    exchange_.emplace(
        how_.group == group::process ? process_group(*world_, number_of_process()) : process_group(*world_),
        threads_.make(make_, elements_->table(), device), how_.way, as_, fnv1a(text_), how_.max_staleness);
    elements_->set_beside(exchange_->device_passes() != nullptr);
    if (!residual_.empty()) exchange_->restore(residual_, thresholds_);
    for (std::size_t k = 0; k < lost_.size(); ++k)
      exchange_->take_back(lost_[k], ranks_before_,
                           static_cast<float>(lost_of_[k]) / static_cast<float>(world_->size()));
    if (restored_ || ranks_before_ > 0) exchange_->resume(waiting_, spoke_for_);
    residual_ = {};
    lost_ = waiting_ = {};
    lost_names_ = {};
    lost_of_ = {};
    has_statistics_ = has_statistics(mine.parameters);
    if (!restored_ && world_->size() > 1) broadcast_replica(*world_, mine, mine.arrays());
  }

  /// Whether there is something to take: of this step, or of the one as many steps ago as staleness says.
  bool share(step_info const& now, bool densely = false) {
    world_->note({now.step, 0});
    exchanging_ = true;
    if (densely)
      exchange_->exchange_densely(now, agreed_);
    else
      exchange_->start(now);
    bool const early = !densely && exchange_->waiting() <= how_.max_staleness;
    if (!densely && !early) exchange_->finish(agreed_);
    exchanging_ = false;
    return !early && agreed_.weight > 0 && !agreed_.all.not_finite;
  }
  /// At an epoch's end, with the next that waits, until none does; with `take` false nothing is taken: what was sent is in
  /// residuals again.
  bool has_waiting(replica const& mine) {
    if (!exchange_ && how_.max_staleness > 0) prepare(mine);
    return exchange_ && exchange_->waiting() > 0;
  }
  bool finish_waiting(bool take = true) {
    exchanging_ = true;
    exchange_->finish(agreed_, take);
    exchanging_ = false;
    return agreed_.weight > 0 && !agreed_.all.not_finite;
  }
  /// What a step that comes late is multiplied by.
  double factor() const {
    return how_.slower_if_stale && how_.max_staleness > 1 ? 1.0 / how_.max_staleness : 1;
  }

  /// After a step: so many examples have moved this rank's running statistics.
  void follow_statistics(step_info const& now, replica const& mine, int examples) {
    if (!has_statistics_ || world_->size() == 1) return;
    statistics_.follow(now, examples);
    if (how_.sync_buffers > 0 && statistics_.steps() >= how_.sync_buffers)
      statistics_.synchronise(*world_, mine);
  }

  communicator& world() const { return *world_; }
  /// Whether a step belongs to the dense beginning.
  bool is_dense(step_info const& now) const { return now.step < how_.warm_up; }
  shared_elements& elements() { return *elements_; }
  message_exchange<codec>& exchange() { return *exchange_; }
  message_exchange<codec> const& exchange() const { return *exchange_; }

  agreement agreed_{};

 private:
  static constexpr std::string_view message_name = "message ", lost_name = "lost ",
                                    spoke_for_name = "speaks for";

  static int rank_count_of(strategy_state const& from, std::string_view name, int otherwise) {
    return static_cast<int>(count_of(from, name, otherwise));
  }
  /// A message of so many ranks as one.
  void lose(std::vector<std::byte> message, int of) {
    lost_names_.push_back(text_of({lost_name, lost_.size()}));
    lost_.push_back(std::move(message));
    lost_of_.push_back(of);
  }

  std::span<std::byte const> waiting(std::size_t k) const {
    if (!exchange_)
      return k < waiting_.size() ? std::span<std::byte const>(waiting_[k]) : std::span<std::byte const>();
    if (static_cast<int>(k) >= exchange_->waiting()) return {};
    return exchange_->message_waiting(static_cast<int>(k));
  }

  void add_to_mean(std::vector<double> const& thresholds) {
    if (averaged_++ == 0) thresholds_.assign(thresholds.size(), 0);
    for (std::size_t i = 0; i < std::min(thresholds.size(), thresholds_.size()); ++i)
      thresholds_[i] += (thresholds[i] - thresholds_[i]) / averaged_;
  }

  /// All of a run before: what comes is another's.
  void forget() {
    if (exchange_) exchange_->wait();
    exchange_.reset();
    residual_ = {};
    thresholds_ = {};
    waiting_ = lost_ = {};
    lost_names_ = {};
    lost_of_ = {};
    restored_ = false;
    ranks_before_ = averaged_ = 0;
    spoke_for_ = 1;
    statistics_.forget();
  }

  std::unique_ptr<communicator> world_;
  sharing_settings how_;
  combined as_;
  std::string text_;
  Make make_;
  codec_threads threads_;
  std::optional<shared_elements> elements_;
  std::optional<message_exchange<codec>> exchange_;
  bool has_statistics_ = false;
  unsynced_statistics statistics_;
  bool exchanging_ = false;
  bool restored_ = false;
  std::vector<float> residual_;  // of a checkpoint, until the first step
  std::vector<double> thresholds_;
  std::vector<std::vector<std::byte>> waiting_;  // own messages that were not finished
  std::vector<std::vector<std::byte>> lost_;     // messages of other ranks than are here
  int ranks_before_ = 0;
  int averaged_ = 0;  // thresholds that thresholds_ is the mean of
  std::vector<std::string> names_;
  std::vector<std::string> lost_names_;
  std::vector<int> lost_of_;
  int spoke_for_ = 1;  // ranks, as the residual does
};

}  // namespace cohort::detail
