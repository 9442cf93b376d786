// SPDX-License-Identifier: Apache-2.0
// needs: tcp
// elastic_checkpoints STRATEGY EPOCHS STEP_MS HEARTBEAT_MS DEADLINE_MS: ranks that may change and save a
// checkpoint every second step in the folder COHORT_CHECKPOINTS, for elastic_checkpoints_test.py. The
// strategy is allreduce, the deadline 60 s. With 0 epochs, a rank only resumes.
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/tcp.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

namespace {

constexpr auto net = cohort::network<[](cohort::builder& layers) {
  using namespace cohort;
  return layers.input({1, 28, 28}) | dense{.units = 100} | relu{} | dense{.units = 10}
         | softmax_cross_entropy{};
}>();

/// Prints each step.
struct steps_printer final : cohort::listener {
  explicit steps_printer(int ms) : pause(ms) {}
  void on_step(cohort::training& run, cohort::step_report const& step) override {
    auto const end = std::chrono::steady_clock::now() + pause;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    std::printf("step %lld of %d ranks\n", static_cast<long long>(step.step), run.world().size());
    std::fflush(stdout);
  }
  std::chrono::milliseconds pause;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  int const epochs = std::atoi(argv[2]), step_ms = std::atoi(argv[3]);
  std::string const folder = std::getenv("COHORT_CHECKPOINTS");
  cohort::communicator_settings const how{.deadline = std::chrono::seconds(60),
                                          .heartbeat = std::chrono::milliseconds(std::atoi(argv[4])),
                                          .log = cohort::stderr_sink()};
  auto const train = [&](cohort::communicator& world) {
    using namespace cohort;
    training run = trainer<reference<float>>(net, world, allreduce{}, {.optimizer = {adam{}}});
    if (epochs == 0) {
      std::optional<std::string> const from = resume(run, folder);
      std::printf("resumed at step %lld, checksum %s\n", static_cast<long long>(run.step()),
                  run.checksum().c_str());
      return;
    }
    steps_printer printer(step_ms);
    stop_on_signal signals;
    checkpoint_listener saving(folder, 2, 2);
    fit_report const report = run.fit(
        synthetic_digits(96, 1), {.batch = 4, .epochs = epochs, .listeners = {&printer, &signals, &saving}});
    if (report.stopped) return;
    std::printf("newest checkpoint: step %lld of %lld, %lld failures; checksum %s\n",
                static_cast<long long>(saving.newest_step()), static_cast<long long>(run.step()),
                static_cast<long long>(saving.failures()), run.checksum().c_str());
  };
  if (epochs > 0) return cohort::launch<cohort::tcp>(how, train);
  cohort::launch<cohort::self>(how, train);
  return 0;
}
