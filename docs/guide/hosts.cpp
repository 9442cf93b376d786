// SPDX-License-Identifier: Apache-2.0
// needs: mpi onednn
#include <chrono>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/mpi.hpp>
#include <cohort/onednn.hpp>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <vector>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

/// For experiments: the last rank is killed at step 70.
struct lost_rank final : cohort::listener {
  void on_step(cohort::training& run, cohort::step_report const& done) override {
    if (run.world().rank() == run.world().size() - 1 && done.step == 70) std::raise(SIGKILL);
  }
};

int main(int argc, char** argv) {
  bool resumes = false, loses = false;
  for (int i = 1; i < argc; ++i) {
    resumes |= std::string_view(argv[i]) == "--resume";
    loses |= std::string_view(argv[i]) == "--lose";
  }
  cohort::communicator_settings const how{.deadline = std::chrono::seconds(60),
                                          .heartbeat = std::chrono::seconds(5),
                                          .log = cohort::stderr_sink()};
  bool stopped = false;
  int const status = cohort::launch<cohort::mpi>(argc, argv, how, [&](cohort::communicator& world) {
    auto training = cohort::trainer<cohort::onednn>(net, world, cohort::allreduce{},
                                                    {.optimizer = {cohort::momentum{.learning_rate = 0.05}}});
    if (resumes) {
      auto const from = cohort::resume(training, "runs");
      if (world.rank() == 0)
        std::printf("beginning: %s, %lld steps\n", from ? from->c_str() : "no checkpoint",
                    static_cast<long long>(training.step()));
    }
    lost_rank losing;
    cohort::stop_on_signal stopping;
    cohort::checkpoint_listener saving("runs", 20);
    std::vector<cohort::listener*> listeners{&stopping, &saving};
    if (loses) listeners.insert(listeners.begin(), &losing);

    int const epochs = 3 - static_cast<int>(training.epoch());
    auto const done = training.fit(cohort::synthetic_digits(2000, 1),
                                   {.batch = 25, .epochs = epochs, .listeners = listeners});
    stopped = done.stopped;
    if (stopped) return;
    auto const report = training.evaluate(cohort::synthetic_digits(500, 2));
    if (world.rank() == 0)
      std::printf("%d ranks, %lld steps, accuracy %.3f\n", world.size(),
                  static_cast<long long>(training.step()), report.accuracy().value_or(0));
  });
  return status == 0 && stopped ? cohort::communicator_exit_status : status;
}
