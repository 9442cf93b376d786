// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/merge_ranks.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/inference_pass.hpp>
#include <cohort/training/detail/loss_meter.hpp>
#include <cohort/training/detail/loss_rows.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/detail/validation.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace cohort::detail {

validation::validation(training_state& run, dataset data, std::vector<metric> metrics,
                       cohort::sharding sharding)
    : state_(run), data_(std::move(data)), sharding_(sharding) {
  check_dataset(run, data_, "validation");
  std::vector<std::string> names{std::string(metrics::loss.name)};
  for (metric& one : metrics) {
    if (one.name == names[0] && !one.of && !one.of_outputs) continue;  // the loss is always included
    if (!one.of && !one.of_outputs)
      throw setting_error({.what = "the metric has no function",
                           .where = {"metric ", one.name},
                           .expected = "`of` or `of_outputs`, or one of namespace metrics",
                           .got = "neither"});
    for (std::string const& name : names)
      if (name == one.name)
        throw setting_error({.what = "two metrics have the same name",
                             .where = "metrics",
                             .expected = "a different name for each metric",
                             .got = name});
    if (one.of_outputs) measure_of(one);
    names.push_back(one.name);
    metrics_.push_back(std::move(one));
  }
}

metric_measure validation::measure_of(metric const& one) const {
  graph_view const net = state_.net;
  shape const output = net[net.with_role(layer_role::loss)[0]].output;
  return one.of_outputs(loss_rows::of_output(output),
                        loss_rows::of_target(output, data_.describe().targets[0]));
}

std::vector<metric_value> validation::measure_all(training& run, evaluation_settings how) const {
  check_common_steps(state_, "evaluate");
  check_class_names(state_, data_, state_.preparation.class_names, "validation");
  how.sharding = sharding_;
  graph_view const net = state_.net;
  activity_scope const evaluating(state_, rank_progress::activity::evaluating);
  std::vector<metric_measure> measures;
  std::vector<evaluator*> evaluators;
  for (metric const& one : metrics_) {
    measures.push_back(one.of_outputs ? measure_of(one) : metric_measure{});
    if (measures.back().report) evaluators.push_back(measures.back().report.get());
  }
  loss_meter loss(net, state_.element());
  std::vector<int> layers{net.with_role(layer_role::loss)[0]};
  for (int one : loss.layers()) layers.push_back(one);
  batch_view now;
  rescaled_parts own_units;
  std::int64_t counts[2]{};  // number of examples, number of examples of weight 0
  loss_rows selected;
  run_inference(
      state_, data_, how, layers, [&](batch const& from, std::int64_t first, plan_context const& done) {
        now.refer_to(from);
        loss.add(now, first, done, 1);
        own_units.clear();
        int const rows = done.output(0).dims[0];
        counts[0] += rows;
        counts[1] += std::ranges::count(now.rows(static_cast<int>(first), rows).weights, 0.0F);
        tensor_view const outputs = own_units.back(done.output(0), state_.target_maps(0));
        tensor_view const targets =
            own_units.back(from.target(0).rows(static_cast<int>(first), rows), state_.target_maps(0));
        selected.select(net, layers[0], outputs, targets, now.rows(static_cast<int>(first), rows));
        for (evaluator* const one : evaluators)
          one->add(selected.outputs(), selected.targets(), number_of_row(net, layers[0], from, first));
      });
  merge_ranks(*state_.world, evaluators);
  double const mean = loss.mean(*state_.world);
  if (!is_finite(mean)) {
    state_.world->allreduce(std::span<std::int64_t>(counts));
    if (counts[0] > 0 && counts[0] == counts[1])
      refuse_weightless("validation data", "validation", counts[0]);
  }
  std::vector<metric_value> values{{std::string(metrics::loss.name), mean}};
  for (std::size_t i = 0; i < metrics_.size(); ++i)
    values.push_back({metrics_[i].name, metrics_[i].of_outputs ? measures[i].value().value_or(
                                            std::numeric_limits<double>::quiet_NaN())
                                                               : metrics_[i].of(run)});
  return values;
}

[[noreturn]] void refuse_weightless(std::string_view what, std::string where, std::int64_t examples) {
  throw data_error({.what = {"no example of the ", what, " has a weight above 0"},
                    .where = std::move(where),
                    .expected = "examples with a weight; a damaged record that is skipped has weight 0",
                    .got = {examples, " examples of weight 0"}});
}

}  // namespace cohort::detail
