// SPDX-License-Identifier: Apache-2.0
// Members of training that evaluate.
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/merge_ranks.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/inference_pass.hpp>
#include <cohort/training/detail/loss_rows.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/detail/validation.hpp>
#include <cohort/training/training.hpp>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Index of the loss layer of this name, which is also the index of its target.
std::size_t loss_of_name(graph_view net, std::span<int const> losses, std::string const& name) {
  std::string known;
  for (std::size_t which = 0; which < losses.size(); ++which) {
    if (net.name(losses[which]) == name) return which;
    known += (which > 0 ? ", " : "") + net.name(losses[which]);
  }
  throw setting_error({.what = "the network has no loss layer of this name",
                       .where = "evaluate",
                       .expected = {"one of ", known},
                       .got = name});
}

}  // namespace cohort::detail

namespace cohort {

classification_report training::evaluate(dataset const& data, evaluation_settings const& how) {
  detail::check_dataset(*state_, data, "evaluate");
  tensor_description const& target = data.describe().targets[0];
  if (target.type != element_type::i32)
    throw shape_error({.what = "evaluate without evaluators got targets that are not class labels",
                       .where = "evaluate",
                       .expected = "one class index per example or step, i32; for numbers: evaluate(data, "
                                   "{&report}) with a regression_report",
                       .got = detail::text_of_part(target.example, target.type)});
  graph_view const net = state_->net;
  int const loss = net.with_role(layer_role::loss)[0];
  std::vector<std::string> labels = target.label_names;
  if (labels.empty()) labels = state_->preparation.classes_of(net, loss);
  classification_report report(channels_of(net[loss].output), {.top = how.top, .labels = std::move(labels)});
  evaluator* const reports[]{&report};
  evaluate(data, reports, how);
  return report;
}

void training::evaluate(dataset const& data, std::span<evaluator* const> reports,
                        evaluation_settings const& how) {
  detail::check_dataset(*state_, data, "evaluate");
  graph_view const net = state_->net;
  std::string const first = net.name(net.with_role(layer_role::loss)[0]);
  std::vector<loss_report> of_first;
  for (evaluator* const one : reports) of_first.push_back({first, one});
  evaluate(data, of_first, how);
}

void training::evaluate(dataset const& data, std::initializer_list<evaluator*> reports,
                        evaluation_settings const& how) {
  evaluate(data, std::span<evaluator* const>(reports.begin(), reports.size()), how);
}

void training::evaluate(dataset const& data, std::span<loss_report const> reports,
                        evaluation_settings const& how) {
  detail::check_batch_size(how.batch, "evaluate");
  detail::check_common_steps(*state_, "evaluate");
  detail::check_dataset(*state_, data, "evaluate");
  detail::check_class_names(*state_, data, state_->preparation.class_names, "evaluate");
  graph_view const net = state_->net;
  std::vector<int> const losses = net.with_role(layer_role::loss);
  struct target_map {
    int output;  // index of the loss among the plan's outputs
    std::size_t target;
  };
  std::vector<int> asked;
  std::vector<target_map> target_maps;
  std::vector<evaluator*> evaluators;
  for (loss_report const& one : reports) {
    std::size_t const which = detail::loss_of_name(net, losses, one.loss);
    auto const output = std::find(asked.begin(), asked.end(), losses[which]) - asked.begin();
    if (output == std::ssize(asked)) asked.push_back(losses[which]);
    target_maps.push_back({static_cast<int>(output), which});
    if (!one.report)
      throw setting_error({.what = "the evaluator is null",
                           .where = {"evaluate, ", one.loss},
                           .expected = "the address of an evaluator",
                           .got = "nullptr"});
    evaluators.push_back(one.report);
  }
  communicator& world = *state_->world;
  detail::activity_scope const evaluating(*state_, rank_progress::activity::evaluating);
  detail::rescaled_parts own_units;
  detail::loss_rows rows;
  batch_view now;
  auto const consume = [&](batch const& from, std::int64_t first, plan_context const& done) {
    own_units.clear();
    now.refer_to(from);
    for (std::size_t i = 0; i < evaluators.size(); ++i) {
      std::span<channel_scaling const> const maps = state_->target_maps(target_maps[i].target);
      tensor_view const scores = done.output(target_maps[i].output),
                        targets = from.target(target_maps[i].target);
      int const begin = static_cast<int>(first), count = scores.dims[0], loss = losses[target_maps[i].target];
      rows.select(net, loss, own_units.back(scores, maps), own_units.back(targets.rows(begin, count), maps),
                  now.rows(begin, count));
      evaluators[i]->add(rows.outputs(), rows.targets(), detail::number_of_row(net, loss, from, first));
    }
  };
  if (world.rank() > 0)
    for (evaluator* const one : evaluators) one->clear();  // only rank 0 keeps the earlier examples
  detail::run_inference(*state_, data, how, asked, consume);
  merge_ranks(world, evaluators);
}

void training::evaluate(dataset const& data, std::initializer_list<loss_report> reports,
                        evaluation_settings const& how) {
  evaluate(data, std::span<loss_report const>(reports.begin(), reports.size()), how);
}

}  // namespace cohort

namespace cohort::detail {

double value_of(metric const& of, training& run, dataset const& data, evaluation_settings const& how) {
  validation const measured(run.state(), data, {of}, how.sharding);
  for (metric_value const& one : measured.measure_all(run, how))
    if (one.name == of.name) return one.value;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace cohort::detail
