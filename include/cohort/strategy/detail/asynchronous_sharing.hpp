// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/asynchronous_exchange.hpp>
#include <cohort/strategy/detail/codec_threads.hpp>
#include <cohort/strategy/detail/outer_state.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/shared_elements.hpp>
#include <cohort/strategy/detail/statistics_mean.hpp>
#include <cohort/strategy/detail/unsynced_statistics.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Shares steps without waiting for others': each rank takes what its own message says, and theirs as they come.
///
/// Order     ranks come together at an epoch's end, in evaluations and checkpoints, and every `sync_buffers` steps.
/// After     w = w₀ − Σ s over what has come, with constraints, other on each rank; at an epoch's end, when all has come, the
///           mean of the ranks' w, who have added up the same messages in different orders.
/// Exact     ranks hold the same bits at an epoch's end, updaters' state apart. Two runs differ.
template <class Make>
class asynchronous_sharing final : public strategy {
 public:
  asynchronous_sharing(std::unique_ptr<communicator> world, sharing_settings const& how, std::string text,
                       Make make)
      : world_(std::move(world)), how_(how), text_(std::move(text)), make_(std::move(make)) {}
  ~asynchronous_sharing() override { end(); }

  exchanged what() const override { return exchanged::parameters; }
  std::string describe() const override { return text_; }
  bool meets_each_step() const override { return false; }
  agreement const* agreed() const override { return &agreed_; }
  std::vector<measurement> report() const override {
    return exchange_ ? exchange_->report() : std::vector<measurement>();
  }
  exchange_times last_exchange() const override { return exchange_ ? exchange_->last() : exchange_times(); }

  void set_workers(int workers) override { threads_.set(workers); }
  void begin(step_info const&, replica const& mine) override {
    prepare(mine);
    mine.read(0, before_->data());
  }

  void after_update(step_info const& now, replica const& mine, bool updated) override {
    world_->note({now.step, 0});
    std::fill(exchange_->mine().begin(), exchange_->mine().end(), 0.0F);
    if (updated) {
      mine.read(0, after_->data());
      with_real(mine.parameters.type(), [&]<class T>(T*) {
        elements_->subtract(before_->as<T>(), after_->as<T>(), exchange_->mine());
      });
    }
    if (now.step < how_.warm_up) {
      exchange_->sum_densely(now, agreed_);
      take(mine, exchange_->mine(), share());
    } else {
      exchange_->step(now, agreed_);
      take(mine, exchange_->all(), 1);
      exchange_->clear();
    }
    ++apart_;
    own_state_ = mine.update.state_arrays() > 0;
    if (has_statistics(mine.parameters)) statistics_.follow(now, updated ? now.examples : 0);
    if (how_.sync_buffers > 0 && statistics_.steps() >= how_.sync_buffers)
      statistics_.synchronise(*world_, mine);
  }

  void end_of_epoch(step_info const& now, replica const& mine) override {
    if (apart_ == 0) return;
    prepare(mine);
    agreement met = exchange_->settle();
    mine.read(0, before_->data());
    take(mine, exchange_->all(), 1);
    exchange_->clear();
    mine.read(0, after_->data());
    met.all |= come_together(mine, after_->data(), now.mine);
    mine.write(0, after_->data());
    mine.parameters.changed();
    agreed_ = {agreed_.meetings + 1, met.examples, met.weight, met.all};
    statistics_.forget();
    apart_ = 0;
  }

  bool diverged() const override { return world_->size() > 1 && (apart_ > 0 || own_state_); }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    prepare(mine);
    for (std::size_t array = 0; array < dense.size(); ++array)
      mine.read(static_cast<int>(array), dense[array]);
    if (apart_ > 0) {
      exchange_->hear_all();
      with_real(mine.parameters.type(),
                [&]<class T>(T*) { elements_->take(reinterpret_cast<T*>(dense[0]), exchange_->all(), 1); });
      come_together(mine, dense[0], {});
    }
    votes const none{};
    for (std::size_t array = 1; array < dense.size(); ++array) {
      mean_over_ranks(*world_, mine.parameters.type(), dense[array], elements_of(mine), &none);
      mine.keep_frozen(static_cast<int>(array), dense[array]);
    }
  }

  void abandon(std::string_view why) noexcept override {
    if (exchange_) world_->abort(std::string(why));
  }

  /// As a checkpoint is, collective: what is under way comes first.
  strategy_state state() const override {
    strategy_state now{.counts = {{"steps apart", apart_}, {"own state", own_state_ ? 1 : 0}}};
    statistics_.tell(now);
    auto const add = [&](std::string_view name, element_type type, auto values) {
      if (!values.empty()) now.arrays.push_back({name, type, std::as_bytes(values)});
    };
    if (exchange_) exchange_->hear_all();
    using floats = std::span<float const>;
    add("residual", element_type::f32, exchange_ ? exchange_->residual() : floats(residual_));
    add("thresholds", element_type::f64,
        exchange_ ? exchange_->state() : std::span<double const>(thresholds_));
    if (apart_ > 0)
      add("not taken", element_type::f32, exchange_ ? floats(exchange_->all()) : floats(not_taken_));
    return now;
  }
  void restore(strategy_state const& saved) override {
    forget();
    restored_ = true;
    statistics_.restore(saved);
    apart_ = count_of(saved, "steps apart", 0);
    own_state_ = count_of(saved, "own state", 0) != 0;
    for (strategy_state::array const& one : saved.arrays) {
      if (one.name == "residual") residual_ = values_of<float>(one);
      if (one.name == "thresholds") thresholds_ = values_of<double>(one);
      if (one.name == "not taken") not_taken_ = values_of<float>(one);
    }
  }
  /// Residuals are summed and split evenly, thresholds averaged. What was not taken is in what ranks begin with.
  void restore_from_ranks(strategy_state const& theirs, int former, int ranks) override {
    if (former == 0) forget();
    for (strategy_state::array const& one : theirs.arrays) {
      if (one.name == "residual") add_share(values_of<float>(one), 1.0 / world_->size(), residual_);
      if (one.name == "thresholds") add_share(values_of<double>(one), 1.0 / ranks, thresholds_);
    }
  }

 private:
  using codec = std::invoke_result_t<Make const&, tensor_table>;

  /// Before the first step.
  void prepare(replica const& mine) {
    if (exchange_) return;
    elements_.emplace(mine.parameters);
    if (elements_->table().elements() == 0)
      throw setting_error({.what = "there is nothing to share: no parameter is trained", .where = text_});
    exchange_ = std::make_unique<asynchronous_exchange<codec>>(
        *world_, threads_.make(make_, elements_->table()), fnv1a(text_), share(), how_.slower_if_stale);
    if (!residual_.empty()) exchange_->restore(residual_, thresholds_, not_taken_);
    residual_ = not_taken_ = {};
    before_.emplace(mine.bytes());
    after_.emplace(mine.bytes());
    if (!restored_ && world_->size() > 1) broadcast_replica(*world_, mine, mine.arrays());
  }

  static std::size_t elements_of(replica const& mine) {
    return static_cast<std::size_t>(mine.parameters.elements());
  }
  double share() const { return how_.mean ? 1.0 / world_->size() : 1; }

  /// w = before − share·x
  void take(replica const& mine, std::span<float const> x, double share) {
    with_real(mine.parameters.type(), [&]<class T>(T*) {
      elements_->apply(mine.parameters, before_->as<T>(), x, share, mine.parameters.master());
    });
    mine.update.constrain(0, 1);
    mine.parameters.changed();
  }

  /// Parameters become the mean of all ranks', running statistics as their examples say; what is frozen stays.
  votes come_together(replica const& mine, std::byte* dense, votes const& own) {
    buffer const mean = copy_of({dense, mine.bytes()});
    votes const all = mean_over_ranks(*world_, mine.parameters.type(), mean.data(), elements_of(mine), &own);
    std::size_t const size = bytes_of(mine.parameters.type());
    for_each_trained(mine.parameters, [&](std::size_t first, std::size_t count) {
      std::memcpy(dense + first * size, mean.data() + first * size, count * size);
    });
    mine.update.constrain(dense);
    statistics_.merge(*world_, mine, dense);
    return all;
  }

  void end() noexcept {
    try {
      if (exchange_) exchange_->end();
    } catch (...) {  // poisoned: nothing is under way any more
    }
  }
  /// All of a run before: what comes is another's.
  void forget() {
    if (exchange_) exchange_->settle();
    end();
    exchange_.reset();
    residual_ = not_taken_ = {};
    thresholds_ = {};
    statistics_.forget();
    apart_ = 0;
    own_state_ = false;
  }

  std::unique_ptr<communicator> world_;
  sharing_settings how_;
  std::string text_;
  Make make_;
  codec_threads threads_;
  std::optional<shared_elements> elements_;
  std::unique_ptr<asynchronous_exchange<codec>> exchange_;
  std::optional<buffer> before_;
  std::optional<buffer> after_;
  unsynced_statistics statistics_;
  agreement agreed_{};
  std::int64_t apart_ = 0;  // steps since all held the same parameters
  bool own_state_ = false;  // updaters' state is each rank's own
  bool restored_ = false;
  std::vector<float> residual_;  // of a checkpoint, until the first step
  std::vector<double> thresholds_;
  std::vector<float> not_taken_;
};

}  // namespace cohort::detail
