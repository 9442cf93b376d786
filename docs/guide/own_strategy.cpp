// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <array>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A meeting: sums examples, weights and votes over the ranks.
void meet(cohort::communicator& world, cohort::agreement& agreed, std::int64_t examples, double weight,
          cohort::votes const& mine) {
  std::array<double, 5> all{static_cast<double>(examples), weight, mine.stop ? 1.0 : 0.0,
                            mine.save ? 1.0 : 0.0, mine.not_finite ? 1.0 : 0.0};
  world.allreduce(std::span<double>(all));
  agreed = {.meetings = agreed.meetings + 1,
            .examples = static_cast<std::int64_t>(all[0]),
            .weight = all[1],
            .all = {.stop = all[2] > 0, .save = all[3] > 0, .not_finite = all[4] > 0}};
}

void require_f32(cohort::parameter_set const& parameters) {
  if (parameters.type() != cohort::element_type::f32)
    throw cohort::setting_error(
        {.what = "this strategy computes in f32 only", .expected = "a backend of type f32"});
}

/// Each rank votes on the sign of every element of the gradient; the step follows the majority.
class sign_votes final : public cohort::strategy {
 public:
  explicit sign_votes(cohort::communicator& world) : world_(world.duplicate()) {}
  ~sign_votes() override { abandon("the strategy was destroyed during a step"); }

  std::string describe() const override { return "majority of signs"; }
  cohort::agreement const* agreed() const override { return &agreed_; }

  void begin(cohort::step_info const&, cohort::replica const& mine) override {
    require_f32(mine.parameters);
    values_.resize(mine.parameters.buckets().size());
    pending_.resize(values_.size());
  }

  void ready(cohort::step_info const& now, cohort::bucket const& one,
             cohort::gradient_parts& gradients) override {
    auto const index = static_cast<std::size_t>(one.index);
    values_[index].resize(static_cast<std::size_t>(one.elements));
    gradients.pack(one, reinterpret_cast<std::byte*>(values_[index].data()));
    take_signs(values_[index]);
    in_flight_ = true;
    pending_[index] = world_->start_allreduce(std::span(values_[index]), cohort::reduction::sum);
    world_->note({now.step, one.index});
  }

  bool before_update(cohort::step_info const& now, cohort::gradient_parts& gradients) override {
    meet(*world_, agreed_, now.examples, now.weight, now.mine);
    bool const counts = agreed_.weight > 0 && !agreed_.all.not_finite;
    if (counts) cohort::merge_statistics(*world_, gradients.statistics());
    for (cohort::bucket const& one : gradients.parameters().buckets()) {
      auto const index = static_cast<std::size_t>(one.index);
      pending_[index].wait();
      take_signs(values_[index]);
      gradients.unpack(one, reinterpret_cast<std::byte const*>(values_[index].data()));
    }
    in_flight_ = false;
    return counts;
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(in_flight_, false)) world_->abort(std::string(why));
  }

 private:
  static void take_signs(std::vector<float>& values) {
    for (float& x : values) x = x > 0 ? 1.0F : x < 0 ? -1.0F : 0.0F;
  }

  std::unique_ptr<cohort::communicator> world_;
  std::vector<std::vector<float>> values_;          // per bucket
  std::vector<cohort::pending_operation> pending_;  // per bucket
  cohort::agreement agreed_;
  bool in_flight_ = false;
};

/// The description that a program writes. It has no state; each rank makes its strategy from it.
struct majority_of_signs {
  std::unique_ptr<cohort::strategy> on(cohort::communicator& world) const {
    return std::make_unique<sign_votes>(world);
  }
};

/// Every `every` steps all ranks take the mean of their parameters, weighted by examples.
class periodic_mean final : public cohort::strategy {
 public:
  periodic_mean(cohort::communicator& world, int every) : world_(world.duplicate()), every_(every) {}
  ~periodic_mean() override { abandon("the strategy was destroyed during a step"); }

  std::string describe() const override { return "mean every " + std::to_string(every_) + " steps"; }
  cohort::exchanged what() const override { return cohort::exchanged::parameters; }
  cohort::agreement const* agreed() const override { return &agreed_; }

  void begin(cohort::step_info const&, cohort::replica const& mine) override {
    require_f32(mine.parameters);
    arrays_.resize(static_cast<std::size_t>(mine.arrays()), std::vector<std::byte>(mine.bytes()));
  }

  void after_update(cohort::step_info const& now, cohort::replica const& mine, bool) override {
    examples_ += now.examples;
    weight_ += now.weight;
    votes_ |= now.mine;
    if (++steps_ == every_) take_mean(now, mine);
  }
  void end_of_epoch(cohort::step_info const& now, cohort::replica const& mine) override {
    votes_ |= now.mine;
    if (steps_ > 0) take_mean(now, mine);
  }

  bool diverged() const override { return steps_ > 0; }
  void consensus(cohort::replica const& mine, std::span<std::byte* const> dense) override {
    for (std::size_t array = 0; array < dense.size(); ++array)
      read_mean(mine, static_cast<int>(array), dense[array]);
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(in_flight_, false)) world_->abort(std::string(why));
  }

 private:
  /// Reads the mean over the ranks of an array: 0 is the parameters, the others are the optimizer's state.
  void read_mean(cohort::replica const& mine, int array, std::byte* dense) {
    double total = weight_;
    world_->allreduce(std::span(&total, 1));
    double const share = total > 0 ? weight_ / total : 1.0 / world_->size();
    mine.read(array, dense);
    std::span const x(reinterpret_cast<float*>(dense), static_cast<std::size_t>(mine.parameters.elements()));
    for (float& one : x) one *= static_cast<float>(share);
    world_->allreduce(x);
    mine.restore_frozen(array, dense);
  }

  void take_mean(cohort::step_info const& now, cohort::replica const& mine) {
    in_flight_ = true;
    world_->note({now.step, 0});
    for (int array = 0; array < mine.arrays(); ++array) {
      read_mean(mine, array, arrays_[static_cast<std::size_t>(array)].data());
      mine.write(array, arrays_[static_cast<std::size_t>(array)].data());
    }
    mine.parameters.mark_changed();
    meet(*world_, agreed_, std::exchange(examples_, 0), std::exchange(weight_, 0), std::exchange(votes_, {}));
    steps_ = 0;
    in_flight_ = false;
  }

  std::unique_ptr<cohort::communicator> world_;
  int every_;
  std::vector<std::vector<std::byte>> arrays_;
  std::int64_t examples_ = 0;
  double weight_ = 0;
  cohort::votes votes_;
  int steps_ = 0;
  cohort::agreement agreed_;
  bool in_flight_ = false;
};

struct mean_of_parameters {
  int every = 5;
  std::unique_ptr<cohort::strategy> on(cohort::communicator& world) const {
    return std::make_unique<periodic_mean>(world, every);
  }
};

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | dense{.units = 32} | batch_norm{} | relu{} | dense{.units = 10}
         | softmax_cross_entropy{};
}>();

/// Trains with a strategy. Returns whether the network has learned and all ranks have the same parameters.
template <class Strategy>
bool train(cohort::communicator& world, Strategy const& strategy, double rate) {
  auto training = cohort::trainer<cohort::onednn>(net, world, strategy,
                                                  {.optimizer = {cohort::sgd{.learning_rate = rate}}});
  training.fit(cohort::synthetic_digits(2000, 1), {.batch = 16, .epochs = 3});
  auto const report = training.evaluate(cohort::synthetic_digits(500, 2));

  std::array<std::uint64_t, 2> hash{std::stoull(training.checksum(), nullptr, 16)};
  hash[1] = ~hash[0];
  world.allreduce(std::span<std::uint64_t>(hash), cohort::reduction::maximum);
  bool const same = hash[0] == ~hash[1];
  if (world.rank() == 0)
    std::printf("accuracy %.3f; the ranks' parameters are %s\n", report.accuracy().value_or(0),
                same ? "equal" : "different");
  return same && report.accuracy() > 0.8;
}

int main() try {
  bool good = true;
  cohort::launch<cohort::threads>(3, [&](cohort::communicator& world) {
    bool const both =
        train(world, majority_of_signs{}, 3e-3) && train(world, mean_of_parameters{.every = 4}, 0.1);
    if (world.rank() == 0) good = both;
  });
  return good ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
