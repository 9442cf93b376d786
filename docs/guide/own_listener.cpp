// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <algorithm>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Ends training when the validation accuracy has been at least `wanted` in `epochs` epochs in a row.
/// Requests a checkpoint after each epoch.
class goal_listener : public cohort::listener {
 public:
  goal_listener(double wanted, int epochs) : wanted_(wanted), epochs_(epochs) {}

  void check(cohort::fit_settings const& how) const override {
    for (cohort::metric const& one : how.metrics)
      if (one.name == "accuracy") return;
    throw cohort::setting_error({.what = "a goal_listener needs the accuracy of each epoch",
                                 .where = "fit_settings::metrics",
                                 .expected = "validation data and metrics::accuracy",
                                 .got = "no accuracy"});
  }

  void on_step(cohort::training& run, cohort::step_report const& step) override {
    slowest_ = std::max(slowest_, step.step_seconds);
    if (run.step() == 1) std::printf("first step: loss %.2f\n", step.loss);
  }

  void on_epoch(cohort::training& run, cohort::epoch_report const& epoch) override {
    for (cohort::metric_value const& one : epoch.validation)
      if (one.name == "accuracy") reached_ = one.value >= wanted_ ? reached_ + 1 : 0;
    if (run.world().rank() == 0)
      std::printf("epoch %d of %d: loss %.3f, goal reached %d times\n", static_cast<int>(epoch.epoch + 1),
                  static_cast<int>(epoch.epochs), epoch.loss, reached_);
    run.request({.stop = reached_ >= epochs_, .save = true});
  }

  void on_vote(cohort::training&, cohort::votes const& all) override {
    if (all.stop) std::puts("all ranks stop");
  }

  void on_end(cohort::training&) override { std::printf("slowest step: %.1f s\n", slowest_); }

  std::string name() const override { return "goal"; }
  std::string settings() const override {
    return "wanted " + std::to_string(wanted_) + ", epochs " + std::to_string(epochs_);
  }
  std::string state() const override { return std::to_string(reached_); }
  void restore(std::string_view state) override { reached_ = std::stoi(std::string(state)); }

  int reached() const { return reached_; }

 private:
  double wanted_;
  int epochs_;
  int reached_ = 0;
  double slowest_ = 0;
};

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

bool train(char const* checkpoints) {
  cohort::dataset const images = cohort::synthetic_digits(1000, 1), held = cohort::synthetic_digits(200, 2);
  auto const new_run = [] {
    return cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adam{}}, .workers = 2});
  };
  auto const fit = [&](cohort::training& run, goal_listener& goal, int epochs) {
    cohort::checkpoint_listener saving(checkpoints, 0);
    return run.fit(images, {.batch = 20,
                            .epochs = epochs,
                            .validation = held,
                            .metrics = {cohort::metrics::accuracy},
                            .listeners = {&goal, &saving}});
  };
  goal_listener first(0.5, 3);
  cohort::training run = new_run();
  fit(run, first, 2);

  goal_listener second(0.5, 3);
  cohort::training resumed = new_run();
  cohort::resume(resumed, checkpoints);
  cohort::fit_report const done = fit(resumed, second, 20);
  return done.stopped && second.reached() == 3;
}

int main() try {
  char const* const checkpoints = "own_listener_checkpoints";
  std::filesystem::remove_all(checkpoints);
  bool const good = train(checkpoints);
  std::filesystem::remove_all(checkpoints);
  return good ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
