// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/data_fields.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cstddef>
#include <optional>
#include <utility>

namespace cohort::detail {

template <class Visitor>
void field_table(Visitor& v, data_preparation& s) {
  v.field("encoder", s.encoder, sparse<encoder_codec>{});
  v.field("normalisation", s.rescaling, sparse<object_codec<normalisation>>{});
  v.field("features", s.feature_names, sparse<list_codec<list_codec<text_codec>>>{});
  v.field("classes", s.class_names, sparse<list_codec<list_codec<text_codec>>>{});
}

/// Adds the preparation, if there is one. If there is an encoder, it contains the names of the features and
/// of its classes. Names of classes that are not UTF-8, which folders may have, are omitted.
void add_preparation(training_state const& run, model_content& to) {
  data_preparation steps = run.preparation;
  if (steps.encoder) steps.feature_names.clear();
  if (steps.encoder
      && steps.class_names == std::vector<std::vector<std::string>>{steps.encoder->label_names()})
    steps.class_names.clear();
  auto const is_utf8 = [](std::string const& name) { return invalid_utf8_at(name) == name.size(); };
  for (std::vector<std::string>& names : steps.class_names)
    if (!std::ranges::all_of(names, is_utf8)) names.clear();
  if (std::string text = line_of(steps); text != "{}") to.add_metadata(preparation_key, std::move(text));
  if (steps.pipeline) to.add_metadata(pipeline_key, steps.pipeline->to_json());
}

data_preparation steps_after_pipeline(model_file const& from) {
  auto const& metadata = from.file().metadata();
  auto const found = metadata.find(preparation_key);
  data_preparation steps;
  if (found == metadata.end()) return steps;
  std::string const& text = found->second;
  io::json_document const parsed = io::parse_json(text, from.file().name() + ", " + preparation_key,
                                                  {.max_bytes = text.size(), .max_values = text.size()});
  object_codec<data_preparation>().read(parsed.root(), steps);
  return steps;
}

/// A pipeline that was loaded by a program without the component transform, or before this component was
/// loaded.
class unread_pipeline final : public row_pipeline {
 public:
  unread_pipeline(std::string json, std::string name) : json_(std::move(json)), name_(std::move(name)) {}
  data_table apply(data_table const& rows) const override {
    if (read_row_pipeline) return read_row_pipeline(json_, name_)->apply(rows);
    throw setting_error(
        {.what = "this program cannot apply the pipeline of the model",
         .where = rows.name(),
         .expected = "the header cohort/transform/keep_pipeline.hpp and the component transform",
         .got = "a program without them"});
  }
  std::string to_json() const override { return json_; }

 private:
  std::string json_, name_;
};

std::shared_ptr<row_pipeline const> pipeline_of(model_file const& from) {
  auto const& metadata = from.file().metadata();
  auto const found = metadata.find(pipeline_key);
  if (found == metadata.end()) return nullptr;
  std::string name = from.file().name() + ", " + pipeline_key;
  if (!read_row_pipeline) return std::make_shared<unread_pipeline const>(found->second, std::move(name));
  return read_row_pipeline(found->second, name);
}

data_preparation preparation_in(model_file const& from, graph_view net) {
  data_preparation steps = steps_after_pipeline(from);
  std::size_t const inputs = net.with_role(layer_role::input).size(),
                    losses = net.with_role(layer_role::loss).size();
  try {
    check_normalisation(net, steps.rescaling);
    if (!steps.feature_names.empty() && steps.feature_names.size() != inputs)
      throw shape_error({.what = "the names of the features do not fit the network",
                         .expected = {inputs, " lists"},
                         .got = {steps.feature_names.size()}});
    if (!steps.class_names.empty() && steps.class_names.size() != losses)
      throw shape_error({.what = "the names of the classes do not fit the network",
                         .expected = {losses, " lists"},
                         .got = {steps.class_names.size()}});
  } catch (error const& why) {
    throw data_error({.what = "a model's preparation of the data is damaged",
                      .where = {from.file().name(), ", ", preparation_key},
                      .got = {why.what()}});
  }
  steps.pipeline = pipeline_of(from);
  return steps;
}

void add_replica(training_state& run, model_content& to) {
  parameter_update& update = run.update();
  to.add_parameters(run.parameters());
  add_preparation(run, to);
  to.add_state(run.parameters(), {.settings = run.settings.optimizer,
                                  .position = run.position,
                                  .arrays = update.states(),
                                  .plateau = run.rate_plateau,
                                  .average = update.average()});
}

tensor_source source_of_ranks(training_state& run, bool on_all_ranks) {
  if (!run.update().is_sharded()) return {};
  bool const is_reader = on_all_ranks || run.world->rank() == 0;
  auto const read = [&run, on_all_ranks, is_reader](model_tensor const& wanted, std::byte* dense) {
    parameter_set const& parameters = run.parameters();
    auto const read_arena = [&](std::byte const* arena) {
      if (is_reader) parameters.read(wanted.p, arena, dense);
    };
    bool const is_parameter = wanted.array < 0 && wanted.arena == parameters.master();
    if (wanted.array < 0 && !(is_parameter && !parameters.is_whole(wanted.p))) {
      read_arena(wanted.arena);
      return is_reader;
    }
    parameter const& p = parameters.table()[static_cast<std::size_t>(wanted.p)];
    run.update().access_state(wanted.array, wanted.p, [&](std::byte* arena) {
      run.exchange_strategy->shard_ranks()->collect(parameters, {p.offset, p.room}, arena, on_all_ranks);
      read_arena(arena);
    });
    return is_reader;
  };
  return {.read = read, .is_deferred = !on_all_ranks, .is_collective = true};
}

model_content consensus_model(training_state& run, bool optimizer_state, bool on_all_ranks) {
  check_common_steps(run, "save");
  replica const mine = run.current_replica();
  scoped_consensus const consensus(*run.exchange_strategy, mine, optimizer_state ? mine.arrays() : 1,
                                   !optimizer_state);
  bool const is_collected = optimizer_state || !run.parameters().is_whole();
  model_content content(run.net, is_collected ? source_of_ranks(run, on_all_ranks) : tensor_source());
  if (!on_all_ranks && run.world->rank() != 0 && !content.is_collective()) return content;
  if (optimizer_state) {
    add_replica(run, content);
  } else {
    content.add_parameters(run.parameters());
    add_preparation(run, content);
  }
  return content;
}

void load_model(training_state& run, model_file const& from) {
  // The network is checked before the normalisation, which matches only the file's network.
  from.check_network(run.net, run.parameters());
  data_preparation preparation = preparation_in(from, run.net);
  if (!from.optimizer()) {
    from.read_parameters(run.net, run.parameters());
    run.restart_average();
    run.preparation = std::move(preparation);
    return;
  }
  from.check_state(run.parameters(), run.update());  // a mismatch leaves everything unchanged
  from.read_parameters(run.net, run.parameters());
  run.position = from.read_state(run.parameters(), run.update());
  run.preparation = std::move(preparation);
  run.rate_plateau = from.plateau();
  run.epoch_sums = {};
  run.states_step = -1;
}

}  // namespace cohort::detail
