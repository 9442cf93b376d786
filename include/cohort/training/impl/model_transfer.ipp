// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cohort/training/load.hpp>
#include <cstddef>
#include <utility>
#include <vector>

namespace cohort::detail {

std::string json_of(std::vector<std::vector<std::string>> const& lists) {
  io::json_writer out;
  out.begin_array();
  for (std::vector<std::string> const& list : lists) {
    out.begin_array();
    for (std::string const& text : list) out.value(text);
    out.end_array();
  }
  return out.end_array().text();
}

/// Reads the names of the features of a network's inputs.  Errors: data_error.
std::vector<std::vector<std::string>> features_from(std::string const& json, std::string const& where,
                                                    std::size_t inputs) {
  io::json_document const parsed = io::parse_json(json, where);
  io::json_value const root = parsed.root();
  if (root.kind() != io::json_kind::array || root.size() != inputs)
    root.refuse(text_of({"a list of ", inputs, " lists of texts"}));
  std::vector<std::vector<std::string>> lists;
  for (io::json_value const list : root.items()) {
    if (list.kind() != io::json_kind::array) list.refuse("a list of texts");
    std::vector<std::string>& names = lists.emplace_back();
    for (io::json_value const one : list.items()) names.emplace_back(one.string());
  }
  return lists;
}

/// Adds the maps of inputs and targets, the encoder, the pipeline and the names of the features, if there are
/// any. The names are those of the encoder if there is one.
void add_preparation(training_state const& run, model_content& to) {
  auto const& [pipeline, encoder, rescaling, features] = run.preparation;
  if (!rescaling.empty()) to.add_metadata(normalisation_key, rescaling.to_json());
  if (encoder) to.add_metadata(encoder_key, to_json(*encoder));
  if (pipeline) to.add_metadata(pipeline_key, pipeline->to_json());
  if (!encoder && !features.empty()) to.add_metadata(features_key, json_of(features));
}

std::optional<table_encoder> encoder_of(model_file const& from) {
  auto const& metadata = from.file().metadata();
  auto const found = metadata.find(encoder_key);
  if (found == metadata.end()) return std::nullopt;
  io::json_document const parsed = io::parse_json(found->second, from.file().name() + ", " + encoder_key);
  return table_encoder_from_json(parsed.root());
}

/// A pipeline in a program without the component transform.
class unread_pipeline final : public row_pipeline {
 public:
  explicit unread_pipeline(std::string json) : json_(std::move(json)) {}
  data_table apply(data_table const& rows) const override {
    throw setting_error({.what = "this program cannot apply the pipeline of the model",
                         .where = rows.name(),
                         .expected = "#include <cohort/transform/keep_pipeline.hpp> and the component transform",
                         .got = "a program without them"});
  }
  std::string to_json() const override { return json_; }

 private:
  std::string json_;
};

std::shared_ptr<row_pipeline const> pipeline_of(model_file const& from) {
  auto const& metadata = from.file().metadata();
  auto const found = metadata.find(pipeline_key);
  if (found == metadata.end()) return nullptr;
  if (!read_row_pipeline) return std::make_shared<unread_pipeline const>(found->second);
  return read_row_pipeline(found->second, from.file().name() + ", " + pipeline_key);
}

data_preparation preparation_in(model_file const& from, graph_view net) {
  data_preparation made;
  auto const& metadata = from.file().metadata();
  if (auto const found = metadata.find(normalisation_key); found != metadata.end()) {
    std::string const where = from.file().name() + ", " + normalisation_key;
    made.rescaling = normalisation::from_json(found->second, where);
    try {
      check_normalisation(net, made.rescaling);
    } catch (error const& why) {
      throw data_error({.what = "a model's normalisation is damaged", .where = where, .got = {why.what()}});
    }
  }
  made.encoder = encoder_of(from);
  made.pipeline = pipeline_of(from);
  if (auto const found = metadata.find(features_key); found != metadata.end())
    made.feature_names = features_from(found->second, from.file().name() + ", " + features_key,
                                       net.with_role(layer_role::input).size());
  return made;
}

void load_preparation(training& run, model_file const& from) {
  run.state().preparation = preparation_in(from, run.network());
}

void add_replica(training_state& run, model_content& to) {
  std::vector<std::byte*> const arrays = run.optimizer_arrays();
  to.add_parameters(run.parameters());
  add_preparation(run, to);
  to.add_state(run.parameters(), {.settings = run.settings.optimizer,
                                  .position = run.position,
                                  .arrays = arrays,
                                  .plateau = run.rate_plateau});
}

model_content consensus_model(training_state& run, bool optimizer_state) {
  check_common_steps(run, "save");
  replica const mine = run.current_replica();
  scoped_consensus const consensus(*run.exchange_strategy, mine, optimizer_state ? mine.arrays() : 1);
  model_content content(run.net);
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
    run.preparation = std::move(preparation);
    return;
  }
  // Reads into temporary arrays first, because a mismatch must leave everything unchanged.
  parameter_update loaded(run.parameters(), run.settings.optimizer);
  std::vector<std::byte*> arrays;
  for (int k = 0; k < loaded.state_arrays(); ++k) arrays.push_back(loaded.state(k));
  training_position const position = from.read_state(run.parameters(), run.settings.optimizer, arrays);
  from.read_parameters(run.net, run.parameters());
  for (int k = 0; k < loaded.state_arrays(); ++k)
    run.parameters().passes().copy(loaded.state(k), run.update().state(k), run.parameters().arena_bytes());
  run.position = position;
  run.preparation = std::move(preparation);
  run.rate_plateau = from.plateau();
  run.epoch_sums = {};
  run.states_step = -1;
}

}  // namespace cohort::detail
