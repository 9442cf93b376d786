// SPDX-License-Identifier: Apache-2.0
// Trains a small network with hostile names on two ranks, and writes its report to the file argv[1].
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <vector>

namespace {

constexpr auto net = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  auto const x = net.input({2}) | dense{.units = 4, .name = "</script><b>first"};
  return ((x | relu{}) + x) | dense{.units = 3} | softmax_cross_entropy{};
}>();

}  // namespace

int main(int, char** argv) {
  std::vector<float> inputs;
  std::vector<int> labels;
  for (int i = 0; i < 48; ++i) {
    labels.push_back(i * 5 % 7 % 3);
    inputs.insert(inputs.end(), {static_cast<float>(labels.back()), 0.1F * static_cast<float>(i % 11)});
  }
  auto const data = cohort::arrays({{.name = "input", .values = {inputs.data(), {48, 2}}}},
                                   {{.name = "label",
                                     .values = {labels.data(), {48}},
                                     .classes = 3,
                                     .label_names = {"<script>alert(1)</script>", "a\u2028b", "\xff<!--"}}});
  cohort::launch<cohort::threads>(2, [&](cohort::communicator& world) {
    cohort::training run = cohort::trainer<cohort::reference<float>>(
        net, world, cohort::allreduce{}, {.optimizer = {cohort::sgd{.learning_rate = 0.1}}, .seed = 3});
    cohort::html_report_listener report(argv[1], {.title = "<img src=x onerror=alert(1)>",
                                                  .every = 1,
                                                  .ratios_every = 2,
                                                  .classified = data,
                                                  .memory = run.memory_of(data, {.batch = 4})});
    run.fit(data, {.batch = 4,
                   .epochs = 4,
                   .validation = data,
                   .metrics = {cohort::metrics::accuracy},
                   .listeners = {&report}});
  });
}
