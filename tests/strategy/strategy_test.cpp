// SPDX-License-Identifier: Apache-2.0
// The hooks are sufficient for strategies that the library does not contain. Three such strategies are
// written here in a few lines each.
// covers: plan/replica
#include <cohort/communicator/launch.hpp>
#include <cstring>
#include "rank_cases.hpp"

namespace strategy_test {

using namespace cohort_test;

/// Strom's threshold sharing, synchronous: elements above t are sent as ±t, the rest stays in a residual.
class threshold_sketch final : public strategy {
 public:
  threshold_sketch(communicator& world, double threshold) : world_(world), t_(threshold) {}

  agreement const* agreed() const override { return &never_; }
  void ready(step_info const& now, bucket const& one, gradient_parts& gradients) override {
    if (residual_.empty()) {
      buckets_ = gradients.parameters().buckets();
      residual_.resize(static_cast<std::size_t>(gradients.parameters().elements()));
      messages_.resize(buckets_.size());
      arrived_.resize(buckets_.size());
      under_way_.resize(buckets_.size());
    }
    auto const b = static_cast<std::size_t>(one.index);
    std::vector<double> x(static_cast<std::size_t>(one.elements));
    gradients.pack(one, reinterpret_cast<std::byte*>(x.data()));
    std::vector<std::int32_t>& message = messages_[b];
    message.assign(1, now.examples);
    for (std::size_t j = 0; j < x.size(); ++j) {
      double& r = residual_[static_cast<std::size_t>(one.first) + j];
      given_ += x[j];
      r += x[j];
      if (std::abs(r) < t_) continue;
      message.push_back(r > 0 ? static_cast<std::int32_t>(j) + 1 : -static_cast<std::int32_t>(j) - 1);
      sent_ += r > 0 ? t_ : -t_;
      r -= r > 0 ? t_ : -t_;
    }
    under_way_[b] = world_.start_allgatherv(std::as_bytes(std::span(message)), arrived_[b]);
  }

  bool before_update(step_info const&, gradient_parts& gradients) override {
    for (bucket const& one : buckets_) {
      auto const b = static_cast<std::size_t>(one.index);
      under_way_[b].wait();
      std::vector<double> sum(static_cast<std::size_t>(one.elements));
      double examples = 0;
      for (int r = 0; r < world_.size(); ++r) {  // in rank order, so that every rank gets the same bits
        std::vector<std::int32_t> message(arrived_[b].of(r).size() / sizeof(std::int32_t));
        std::memcpy(message.data(), arrived_[b].of(r).data(), arrived_[b].of(r).size());
        examples += message[0];
        for (std::size_t i = 1; i < message.size(); ++i)
          sum[static_cast<std::size_t>(std::abs(message[i]) - 1)] += message[0] * (message[i] > 0 ? t_ : -t_);
      }
      for (double& value : sum) value /= examples;
      gradients.unpack(one, reinterpret_cast<std::byte const*>(sum.data()));
    }
    return true;
  }

  /// Σ given − Σ sent − Σ residual: 0 except for rounding.
  double lost() const {
    double waiting = 0;
    for (double const r : residual_) waiting += r;
    return given_ - sent_ - waiting;
  }

 private:
  communicator& world_;
  double t_;
  std::span<bucket const> buckets_;
  std::vector<double> residual_;
  std::vector<std::vector<std::int32_t>> messages_;
  std::vector<gathered> arrived_;
  std::vector<pending_operation> under_way_;
  double given_ = 0, sent_ = 0;
  agreement never_{};  // these sketches vote on nothing
};

TEST(strategy, hooks_support_user_defined_threshold_sharing) {
  bright_thirds const examples(120), held(60, 2);
  launch<threads>(3, [&](communicator& world) {
    auto sharing = std::make_unique<threshold_sketch>(world, 0.05);
    threshold_sketch const& look = *sharing;
    training made = trainer<wide>(small, world, std::move(sharing), plain_sgd());
    double const before = made.evaluate(held.data()).accuracy().value();
    made.fit(examples.data(), {.batch = 8, .epochs = 20});
    EXPECT_TRUE(same_text(world, made.checksum()));
    EXPECT_NEAR(look.lost(), 0, 1e-9);
    EXPECT_GT(made.evaluate(held.data()).accuracy().value(), std::max(before, 0.8));
  });
}

/// Averaging that continues to train while the mean is pending, and applies it a step later.
class delayed_averaging_sketch final : public strategy {
 public:
  explicit delayed_averaging_sketch(communicator& world) : world_(world) {}
  exchanged what() const override { return exchanged::parameters; }
  agreement const* agreed() const override { return &never_; }

  void after_update(step_info const&, replica const& mine, bool) override {
    apply(mine);
    auto const n = static_cast<std::size_t>(mine.parameters.elements());
    sent_.resize(n);
    mine.read(0, reinterpret_cast<std::byte*>(sent_.data()));
    mean_ = sent_;
    for (double& w : mean_) w /= world_.size();
    under_way_ = world_.start_allreduce(std::span<double>(mean_), reduction::sum);
    waits_ = true;
  }
  void end_of_epoch(step_info const&, replica const& mine) override { apply(mine); }

  int applied = 0;

 private:
  /// w += mean − sent w: steps made since the start of the averaging are kept.
  void apply(replica const& mine) {
    if (!std::exchange(waits_, false)) return;
    under_way_.wait();
    std::vector<double> w(sent_.size());
    mine.read(0, reinterpret_cast<std::byte*>(w.data()));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += mean_[i] - sent_[i];
    mine.write(0, reinterpret_cast<std::byte const*>(w.data()));
    mine.parameters.mark_changed();
    ++applied;
  }

  communicator& world_;
  std::vector<double> sent_, mean_;
  pending_operation under_way_;
  bool waits_ = false;
  agreement never_{};
};

TEST(strategy, hooks_support_user_defined_delayed_averaging) {
  bright_thirds const examples(120), held(60, 2);
  launch<threads>(2, [&](communicator& world) {
    auto delayed = std::make_unique<delayed_averaging_sketch>(world);
    delayed_averaging_sketch const& look = *delayed;
    training made = trainer<wide>(small, world, std::move(delayed), plain_sgd());
    made.fit(examples.data(), {.batch = 8, .epochs = 10});
    EXPECT_EQ(look.applied, made.step());
    EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.9);
  });
}

/// An asynchronous strategy: a rank sends its gradient to all ranks, applies the gradients that have arrived,
/// and is at most `bound` steps ahead of the slowest rank.
class bounded_staleness_sketch final : public strategy {
 public:
  static constexpr int tag = 3;
  bounded_staleness_sketch(communicator& world, std::int64_t bound)
      : world_(world), bound_(bound), reached_(static_cast<std::size_t>(world.size()), -1) {}
  exchanged what() const override { return exchanged::parameters; }
  agreement const* agreed() const override { return &never_; }

  void begin(step_info const& now, replica const& mine) override {
    while (std::optional<arrival> const there = world_.probe(communicator::any_source, tag))
      take(*there, mine);
    while (slowest() < now.step - 1 - bound_)
      take(world_.wait_for_message(communicator::any_source, tag), mine);
    lead = std::max(lead, now.step - 1 - slowest());
    before_.resize(static_cast<std::size_t>(mine.parameters.elements()));
    mine.read(0, reinterpret_cast<std::byte*>(before_.data()));
  }
  /// Sends the change of this step to all other ranks.
  void after_update(step_info const& now, replica const& mine, bool) override {
    std::vector<double> message(before_.size() + 1);
    mine.read(0, reinterpret_cast<std::byte*>(message.data() + 1));
    for (std::size_t i = 0; i < before_.size(); ++i) message[i + 1] -= before_[i];
    message[0] = static_cast<double>(now.step);
    outgoing_.push_back(std::move(message));
    for (int r = 0; r < world_.size(); ++r)
      if (r != world_.rank())
        under_way_.push_back(world_.start_send(std::as_bytes(std::span(outgoing_.back())), r, tag));
    reached_[static_cast<std::size_t>(world_.rank())] = now.step;
    sent += 1;
  }
  /// No message may be in flight afterwards: receives all messages.
  void end_of_epoch(step_info const& now, replica const& mine) override {
    while (slowest() < now.step) take(world_.wait_for_message(communicator::any_source, tag), mine);
    for (pending_operation& one : under_way_) one.wait();
    under_way_.clear();
    outgoing_.clear();
  }

  std::int64_t lead = 0, sent = 0, applied = 0;

 private:
  std::int64_t slowest() const { return *std::min_element(reached_.begin(), reached_.end()); }
  void take(arrival const& there, replica const& mine) {
    std::vector<double> message(there.bytes / sizeof(double)), w(message.size() - 1);
    world_.receive(std::as_writable_bytes(std::span(message)), there.from, tag);
    mine.read(0, reinterpret_cast<std::byte*>(w.data()));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += message[i + 1];
    mine.write(0, reinterpret_cast<std::byte const*>(w.data()));
    mine.parameters.mark_changed();
    reached_[static_cast<std::size_t>(there.from)] = static_cast<std::int64_t>(message[0]);
    ++applied;
  }

  communicator& world_;
  std::int64_t bound_;
  std::vector<std::int64_t> reached_;
  std::vector<double> before_;
  std::vector<std::vector<double>> outgoing_;
  std::vector<pending_operation> under_way_;
  agreement never_{};
};

TEST(strategy, hooks_support_user_defined_bounded_staleness) {
  bright_thirds const examples(120), held(60, 2);
  for (std::int64_t const bound : {0, 2})
    launch<threads>(3, [&](communicator& world) {
      auto bounded = std::make_unique<bounded_staleness_sketch>(world, bound);
      bounded_staleness_sketch const& look = *bounded;
      training_settings settings = plain_sgd();
      settings.optimizer.rule = sgd{.learning_rate = 0.03};  // steps add up
      training made = trainer<wide>(small, world, std::move(bounded), settings);
      made.fit(examples.data(), {.batch = 4, .epochs = 10});
      EXPECT_LE(look.lead, bound);
      EXPECT_EQ(look.applied, 2 * look.sent);  // each message once; none is lost
      EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.9);
    });
}

TEST(strategy, without_exchange_is_refused_on_several_ranks) {
  bright_thirds const examples(12);
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<wide>(small, world, no_exchange{}, plain_sgd());
    EXPECT_THROW(made.fit(examples.data(), {.batch = 2, .epochs = 1}), setting_error);
  });
}

}  // namespace strategy_test
