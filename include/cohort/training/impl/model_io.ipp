// SPDX-License-Identifier: Apache-2.0
// Members of training that save and load models.
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/training.hpp>
#include <optional>
#include <string>

namespace cohort {

void training::save(std::string const& path, bool optimizer_state) {
  detail::activity_scope const saving(*state_, rank_progress::activity::saving);
  model_content const written = detail::consensus_model(*state_, optimizer_state, false);
  auto const write = [&] {
    bool const is_first = state_->world->rank() == 0;
    if (is_first || written.is_collective())
      detail::save_model_of_ranks(*state_->world, is_first ? std::optional(path) : std::nullopt, written);
    return std::string();
  };
  if (state_->world->size() == 1)
    write();
  else if (auto const all = outcome_of_all(*state_->world, "save", write); !all.trouble.empty())
    throw file_error({.what = "cannot save the model", .where = path, .got = all.trouble});
}

void training::save(io::byte_sink_ref to, bool optimizer_state) {
  detail::activity_scope const saving(*state_, rank_progress::activity::saving);
  write_model(to, detail::consensus_model(*state_, optimizer_state));
}

void training::load(std::string const& path) { load(model_file::open_on_demand(path)); }

void training::load(model_file const& from) { detail::load_model(*state_, from); }

transfer_report training::load_matching(std::string const& path) {
  return load_matching(model_file::open(path));
}

transfer_report training::load_matching(model_file const& from) {
  transfer_report done = read_matching(from.file().tensors(), from.file().name(), network(), parameters());
  state_->restart_average();
  return done;
}

transfer_report training::load_matching(training const& from) {
  model_content content(from.network());
  content.add_parameters(from.parameters());
  transfer_report done = read_matching(content.tensors(), "the other training", network(), parameters());
  state_->restart_average();
  return done;
}

}  // namespace cohort
