// SPDX-License-Identifier: Apache-2.0
#pragma once
// What training::save and training::load are: include it to use them.
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/trainer/training.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

inline updater_state_view training::state() {
  state_view_.clear();
  for (int k = 0; k < update().state_arrays(); ++k) state_view_.push_back(update().state(k));
  return {.settings = settings_.optimizer(), .position = {step_, epoch_}, .arrays = state_view_};
}

inline void training::save(std::string const& path, bool updater_state) {
  save_model(path, net_, parameters(), updater_state ? std::optional(state()) : std::nullopt);
}

template <class Sink>
void training::save(Sink& to, bool updater_state) {
  static_assert(byte_sink<Sink>, "a model is written to a path or to a sink of bytes");
  write_model(to, net_, parameters(), updater_state ? std::optional(state()) : std::nullopt);
}

inline void training::load(std::string const& path) { load(model_file::open(path)); }

inline void training::load(model_file const& file) {
  if (file.optimizer()) {
    // Into arrays of its own first: what does not fit must leave everything as it was.
    parameter_update loaded(parameters(), settings_.optimizer());
    std::vector<std::byte*> arrays;
    for (int k = 0; k < loaded.state_arrays(); ++k) arrays.push_back(loaded.state(k));
    training_position const position = file.read_state(parameters(), settings_.optimizer(), arrays);
    file.read_parameters(net_, parameters());
    for (int k = 0; k < loaded.state_arrays(); ++k)
      std::memcpy(update().state(k), loaded.state(k), parameters().arena_bytes());
    step_ = position.step;
    epoch_ = position.epoch;
  } else {
    file.read_parameters(net_, parameters());
  }
  workers_->parameters_changed();
}

}  // namespace cohort
