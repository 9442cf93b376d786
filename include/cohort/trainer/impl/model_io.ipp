// SPDX-License-Identifier: Apache-2.0
#pragma once
// training's members that save and load models.
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/detail/shared_outcome.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/trainer/detail/scoped_consensus.hpp>
#include <cohort/trainer/training.hpp>
#include <string>
#include <vector>

namespace cohort {

COHORT_CORE_INLINE std::vector<std::byte*> training::state_arrays() {
  std::vector<std::byte*> arrays;
  for (int k = 0; k < update().state_arrays(); ++k) arrays.push_back(update().state(k));
  return arrays;
}

/// What save writes.   Order  collective.
COHORT_CORE_INLINE model_content training::content(bool updater_state) {
  require_common_steps("save");
  replica const mine = own();
  detail::scoped_consensus const agreed(*strategy_, mine, updater_state ? mine.arrays() : 1);
  model_content content(network());
  content.add_parameters(parameters());
  if (updater_state)
    content.add_state(parameters(), {.settings = settings_.optimizer(),
                                     .position = position_,
                                     .arrays = state_arrays(),
                                     .plateau = plateau_});
  return content;
}

COHORT_CORE_INLINE void training::save(std::string const& path, bool updater_state) {
  model_content const written = content(updater_state);
  auto const write = [&] {
    if (world_->rank() == 0) save_model(path, written);
    return std::string();
  };
  if (world_->size() == 1)
    write();
  else if (auto const all = detail::outcome_of_all(*world_, write); !all.trouble.empty())
    throw file_error({.what = "the model was not saved",
                      .where = path,
                      .expected = "a file that rank 0 can write",
                      .got = all.trouble});
}

COHORT_CORE_INLINE void training::save(byte_sink_ref to, bool updater_state) {
  write_model(to, content(updater_state));
}

COHORT_CORE_INLINE void training::load(std::string const& path) { load(model_file::open(path)); }

COHORT_CORE_INLINE void training::load(model_file const& from) {
  if (!from.optimizer()) return from.read_parameters(network(), parameters());
  // Into arrays of its own first: a mismatch must leave everything unchanged.
  parameter_update loaded(parameters(), settings_.optimizer());
  std::vector<std::byte*> arrays;
  for (int k = 0; k < loaded.state_arrays(); ++k) arrays.push_back(loaded.state(k));
  training_position const position = from.read_state(parameters(), settings_.optimizer(), arrays);
  from.read_parameters(network(), parameters());
  for (int k = 0; k < loaded.state_arrays(); ++k)
    parameters().passes().copy(loaded.state(k), update().state(k), parameters().arena_bytes());
  position_ = position;
  plateau_ = from.plateau();
  so_far_ = {};
}

COHORT_CORE_INLINE transfer_report training::load_matching(std::string const& path) {
  return load_matching(model_file::open(path));
}

COHORT_CORE_INLINE transfer_report training::load_matching(model_file const& from) {
  return read_matching(from.file().tensors(), from.file().name(), network(), parameters());
}

COHORT_CORE_INLINE transfer_report training::load_matching(training const& from) {
  model_content content(from.network());
  content.add_parameters(from.parameters());
  return read_matching(content.tensors(), "the other training", network(), parameters());
}

}  // namespace cohort
