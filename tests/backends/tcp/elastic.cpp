// SPDX-License-Identifier: Apache-2.0
// needs: tcp
// elastic STRATEGY EPOCHS STEP_MS HEARTBEAT_MS DEADLINE_MS [CHECKPOINTS]: ranks that leave, are lost and
// join, for elastic_job.py. The gradient of example i is the unit vector e_i, so parameter i and the
// residuals count how often example i was used. Writes a checkpoint into the directory CHECKPOINTS every 5
// steps.
#include <poll.h>

#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/tcp.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace {

constexpr int examples = 96, examples_per_rank = 4;

constexpr auto net = cohort::network<[](cohort::builder& it) {
  using namespace cohort;
  return it.input({1}) | embedding{.vocabulary = examples, .width = 1} | flatten{} | mean_absolute_error{};
}>();

/// Prints each step.
struct steps_printer final : cohort::listener {
  explicit steps_printer(int pause_ms) : ms(pause_ms) {}
  void on_step(cohort::training& run, cohort::step_report const& step) override {
    ::poll(nullptr, 0, ms);  // as long as a step takes; leaves the processors to the other ranks
    std::printf("step %lld of %d ranks as rank %d\n", static_cast<long long>(step.step), run.world().size(),
                run.world().rank());
    std::fflush(stdout);
  }
  void on_epoch(cohort::training&, cohort::epoch_report const& epoch) override {
    std::printf("epoch %lld ends, validation loss %.6f\n", static_cast<long long>(epoch.epoch),
                epoch.validation.at(0).value);
    std::fflush(stdout);
  }
  int ms;
};

/// The sum of the ranks' residuals, in units of an example.
std::vector<float> unsent(cohort::training& run, int examples_of_step) {
  std::vector<float> all(examples);
  for (cohort::strategy_state::array const& one : run.state().exchange_strategy->state().arrays)
    if (one.name == "residual") std::memcpy(all.data(), one.values.data(), one.values.size());
  run.world().allreduce(std::span<float>(all));
  for (float& value : all)
    value *= static_cast<float>(examples_of_step) / static_cast<float>(run.world().size());
  return all;
}

std::vector<float> values_of(cohort::training const& run) {
  cohort::parameter_set const& all = run.parameters();
  std::vector<float> values(static_cast<std::size_t>(all.elements()));
  all.read_all(all.master(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

template <class Strategy>
int train(Strategy how_to_exchange, int argc, char** argv) {
  int const epochs = std::atoi(argv[2]), step_ms = std::atoi(argv[3]);
  cohort::communicator_settings const how{.deadline = std::chrono::milliseconds(std::atoi(argv[5])),
                                          .heartbeat = std::chrono::milliseconds(std::atoi(argv[4])),
                                          .log = cohort::stderr_sink()};
  return cohort::launch<cohort::tcp>(how, [&](cohort::communicator& world) {
    using namespace cohort;
    std::vector<float> indices, targets;
    for (int i = 0; i < examples; ++i) {
      indices.push_back(static_cast<float>(i));
      targets.push_back(-1e6F);  // so that the gradient of the loss is always 1
    }
    dataset const data = arrays({{.name = "index", .values = {indices.data(), {examples, 1}}}},
                                {{.name = "target", .values = {targets.data(), {examples, 1}}}});
    auto run = trainer<reference<float>>(net, world, how_to_exchange,
                                         {.optimizer = {sgd{.learning_rate = 1}}, .log = stderr_sink()});
    std::vector<float> const initial = values_of(run);
    steps_printer printer(step_ms);
    stop_on_signal signals;
    fit_settings fitting{
        .batch = examples_per_rank, .epochs = epochs, .validation = data, .listeners = {&printer, &signals}};
    std::optional<checkpoint_listener> checkpoints;
    if (argc == 7) fitting.listeners.push_back(&checkpoints.emplace(argv[6], 5, 1000));
    fit_report const report = run.fit(data, fitting);
    if (report.stopped) {
      auto const& ranks = dynamic_cast<elastic_communicator&>(world);
      std::printf("%s after step %lld\n", ranks.has_left() ? "left" : "stopped",
                  static_cast<long long>(run.step()));
      return;
    }
    int const examples_of_step = examples_per_rank * std::atoi(std::getenv("COHORT_RANKS"));
    std::vector<float> const values = values_of(run), residual = unsent(run, examples_of_step);
    std::printf("counts");
    for (std::size_t i = 0; i < values.size(); ++i)
      std::printf(" %.2f", (initial[i] - values[i]) * static_cast<float>(examples_of_step) + residual[i]);
    std::printf("\nlost %lld\nchecksum %s\n", static_cast<long long>(report.lost_examples),
                run.checksum().c_str());
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 2;
  std::string_view const name = argv[1];
  if (name == "allreduce") return train(cohort::allreduce{}, argc, argv);
  if (name == "sharing")
    return train(cohort::threshold_sharing{.threshold = cohort::threshold::fixed{0.2}}, argc, argv);
  if (name == "averaging") return train(cohort::parameter_averaging{.every = 4}, argc, argv);
  return 2;
}
