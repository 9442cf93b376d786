// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/training/detail/carried_states.hpp>
#include <cohort/training/detail/stateful_layers.hpp>
#include <string>

namespace cohort::detail {

/// Name of the first stateful layer; empty if there is none.
std::string stateful_layer_name(graph_view net) {
  for (int id = 0; id < net.size(); ++id)
    if (net.kind(id).carries_state && has_field(net, id, "stateful")) return net.name(id);
  return {};
}

void prepare_states(training_state& run, dataset const& data, fit_settings const& how) {
  std::string const layer = stateful_layer_name(run.net);
  if (layer.empty()) return;
  bool const local = how.sharding == sharding::local;
  int const wanted = how.batch * (local ? 1 : run.world->size()), rows = data.rows_that_continue();
  auto const refuse = [&](clause got) {
    throw setting_error(
        {.what = "the batches of a stateful layer do not continue the rows of the batch before",
         .where = {"fit, layer ", layer},
         .expected = {"continued_crops(crops, ", wanted, "), one row for each example of a step on ",
                      local ? "this rank" : "all ranks", ", with .shuffle = false"},
         .got = std::move(got)});
  };
  if (rows == 0) refuse("another data set");
  if (rows != wanted) refuse({"continued_crops of ", rows, rows == 1 ? " row" : " rows"});
  if (how.shuffle) refuse(".shuffle = true");
  if (how.bucket > 0) refuse({".bucket = ", how.bucket});
  index_slice const mine = part_of({0, rows}, run.world->rank(), run.world->size());
  run.workers->carry_states(stateful_layers(run.net), local ? rows : static_cast<int>(mine.count));
  if (how.epochs > 0 && run.position.position > 0 && run.states_step != run.position.step)
    throw setting_error(
        {.what =
             "an interrupted epoch cannot continue, because the states of its stateful layers are unknown",
         .where = {"fit, epoch ", run.position.epoch + 1},
         .expected =
             "a checkpoint written by the same number of ranks, or training::end_epoch, which ends the epoch",
         .got = {"step ", run.position.step, ", position ", run.position.position}});
}

void prepare_states(training_state& run, int rows) {
  if (rows == 0) return;
  std::string const layer = stateful_layer_name(run.net);
  if (layer.empty()) return;
  layer_states const* const states = run.workers->states();
  if (states && run.epoch_sums.steps > 0 && states->rows() != rows)
    throw setting_error({.what = "a stateful layer got batches of different sizes within an epoch",
                         .where = {"train_on, layer ", layer},
                         .expected = {states->rows(), " examples, or end_epoch before this batch"},
                         .got = {rows}});
  run.workers->carry_states(stateful_layers(run.net), rows);
}

void refuse_states(training_state const& run, char const* what) {
  if (std::string const layer = stateful_layer_name(run.net); !layer.empty())
    throw setting_error({.what = "this call does not support stateful layers",
                         .where = {what, ", layer ", layer},
                         .expected = "fit or train_on, or a layer without .stateful",
                         .got = ".stateful = true"});
}

void clear_states(training_state& run) {
  if (layer_states* const states = run.workers->states()) states->clear();
}

}  // namespace cohort::detail
