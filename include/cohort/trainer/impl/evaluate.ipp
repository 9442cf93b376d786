// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/shared_outcome.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/evaluation/merge_ranks.hpp>
#include <cohort/trainer/detail/scoped_consensus.hpp>
#include <cohort/trainer/training.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// The place among the losses, which is that among the targets.
COHORT_CORE_INLINE std::size_t loss_of_name(graph_view net, std::span<int const> losses,
                                            std::string const& name) {
  std::string known;
  for (std::size_t which = 0; which < losses.size(); ++which) {
    if (net.name(losses[which]) == name) return which;
    known += (which > 0 ? ", " : "") + net.name(losses[which]);
  }
  throw setting_error({.what = "the network has no loss layer of this name",
                       .where = "evaluate",
                       .expected = known,
                       .got = name});
}

}  // namespace cohort::detail

namespace cohort {

/// Errors    setting_error for a collective call in a step that other ranks may not know of.
COHORT_CORE_INLINE void training::require_common_steps(char const* what) const {
  if (has_common_steps_ || !in_step_) return;
  throw setting_error({.what = "ranks whose part of a stream has ended do not hear of this step",
                       .where = {what, " in a listener's on_step"},
                       .expected = "collective calls in on_epoch, or in on_vote after training::request"});
}

COHORT_CORE_INLINE classification_report training::evaluate(dataset const& data,
                                                            evaluation_settings const& how) {
  check_fits(data);
  tensor_description const& target = data.describe().targets[0];
  if (target.type != element_type::i32)
    throw shape_error({.what = "only class labels are evaluated without evaluators of one's own",
                       .where = "evaluate",
                       .expected = "one class index an example, i32",
                       .got = {to_string(target.example), ", ", name_of(target.type)}});
  graph_view const net = net_;
  int const loss = net.with_role(layer_role::loss)[0];
  classification_report report(net[loss].output[0], {.top = how.top, .labels = target.label_names});
  evaluator* const reports[]{&report};
  evaluate(data, reports, how);
  return report;
}

COHORT_CORE_INLINE void training::evaluate(dataset const& data, std::span<evaluator* const> reports,
                                           evaluation_settings const& how) {
  check_fits(data);
  graph_view const net = net_;
  std::string const first = net.name(net.with_role(layer_role::loss)[0]);
  std::vector<loss_report> of_first;
  for (evaluator* const one : reports) of_first.push_back({first, one});
  evaluate(data, of_first, how);
}

COHORT_CORE_INLINE void training::evaluate(dataset const& data, std::span<loss_report const> reports,
                                           evaluation_settings const& how) {
  if (how.batch < 1)
    throw setting_error(
        {.what = "a batch needs at least one example", .where = "evaluate", .got = {how.batch}});
  require_common_steps("evaluate");
  check_fits(data);
  graph_view const net = net_;
  std::vector<int> const losses = net.with_role(layer_role::loss);
  struct looker {
    int output;  // of the plan, which has those of the losses asked for
    std::size_t target;
  };
  std::vector<int> asked;
  std::vector<looker> lookers;
  std::vector<evaluator*> evaluators;
  for (loss_report const& one : reports) {
    std::size_t const which = detail::loss_of_name(net, losses, one.loss);
    auto const output = std::find(asked.begin(), asked.end(), losses[which]) - asked.begin();
    if (output == std::ssize(asked)) asked.push_back(losses[which]);
    lookers.push_back({static_cast<int>(output), which});
    if (!one.report) throw setting_error({.what = "there is no report", .where = {"evaluate, ", one.loss}});
    evaluators.push_back(one.report);
  }
  check_sharding(data, how.sharding, "evaluate");
  detail::scoped_consensus const agreed(*strategy_, own(), 1);
  auto const batches =
      std::make_shared<loader>(data, loader_settings{.batch = how.batch,
                                                     .rank = world_->rank(),
                                                     .ranks = world_->size(),
                                                     .shuffle = false,
                                                     .deadline = settings_.deadline,
                                                     .local_sizes = local_sizes(data, how.sharding)});
  if (world_->rank() > 0)
    for (evaluator* const one : evaluators) one->clear();  // what they saw before is in rank 0's as well
  detail::all_or_none(*world_, "cannot evaluate", [&] {
    batches->start(0);
    while (batch const* const next = batches->next()) {
      unless_late(batches, [&] {
        workers_->infer(*next, asked, [&](std::int64_t first, context const& done) {
          for (std::size_t i = 0; i < evaluators.size(); ++i) {
            tensor_view const scores = done.output(lookers[i].output),
                              targets = next->target(lookers[i].target);
            evaluators[i]->add(scores, targets.rows(static_cast<int>(first), scores.dims[0]),
                               next->first_index + first);
          }
        });
      });
    }
  });
  merge_ranks(*world_, evaluators);
}

COHORT_CORE_INLINE void training::check_inputs(dataset const& data) const {
  graph_view const net = net_;
  auto const inputs = net.with_role(layer_role::input);
  data_description const& has = data.describe();
  if (has.inputs.size() != inputs.size())
    throw shape_error({.what = "the data set has another number of inputs than the network",
                       .expected = {inputs.size()},
                       .got = {has.inputs.size()}});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(has.inputs[i].example == net[inputs[i]].output))
      throw shape_error({.what = "the data set's examples have another shape than the network's input",
                         .where = net.name(inputs[i]),
                         .expected = to_string(net[inputs[i]].output),
                         .got = to_string(has.inputs[i].example)});
}

COHORT_CORE_INLINE void training::check_fits(dataset const& data) const {
  check_inputs(data);
  graph_view const net = net_;
  auto const losses = net.with_role(layer_role::loss);
  data_description const& has = data.describe();
  if (losses.empty())
    throw graph_error({.what = "this network can be neither trained nor evaluated: it has no loss layer",
                       .expected = "a loss, for example `| softmax_cross_entropy{}`",
                       .got = "outputs only"});
  if (has.targets.size() != losses.size())
    throw shape_error({.what = "the data set has another number of targets than the network has losses",
                       .expected = {losses.size()},
                       .got = {has.targets.size()}});
  for (std::size_t t = 0; t < losses.size(); ++t) {
    target_spec const wanted = net.kind(losses[t]).target(net.fields(losses[t]), net.input_shapes(losses[t]));
    tensor_description const& given = has.targets[t];
    shape const of_one = given.example.batched(1);
    bool const index = wanted.takes_indices(given.type, of_one, 1);
    bool const numbers = wanted.takes_numbers(given.type, of_one, 1, parameters().type());
    if (!index && !numbers)
      throw shape_error(
          {.what = "the data set's target does not fit the loss",
           .where = net.name(losses[t]),
           .expected = {wanted.classes > 0 ? "one class index an example, i32" : "",
                        wanted.classes > 0 && wanted.numbers ? ", or " : "",
                        wanted.numbers ? to_string(wanted.values) : "",
                        wanted.numbers ? detail::text_of({", ", name_of(parameters().type())}) : ""},
           .got = {to_string(given.example), ", ", name_of(given.type)}});
    if (index && given.classes > wanted.classes)
      throw shape_error({.what = "the data set has more classes than the network",
                         .where = net.name(losses[t]),
                         .expected = {"at most ", wanted.classes},
                         .got = {given.classes}});
  }
}

}  // namespace cohort
