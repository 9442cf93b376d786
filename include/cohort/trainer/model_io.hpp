// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/trainer/training.hpp>
#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Behind training::save and training::load: including this header makes them usable.
template <>
struct model_io<training> {
  template <class Target>
  static void save(training& from, Target& to, bool updater_state) {
    std::vector<std::byte*> const arrays =
        updater_state ? arrays_of(from.update()) : std::vector<std::byte*>();
    std::optional<updater_state_view> state;
    if (updater_state)
      state = {
          .settings = from.settings().optimizer(), .position = {from.step_, from.epoch_}, .arrays = arrays};
    if constexpr (std::convertible_to<Target&, std::string>) {
      save_model(to, from.network(), from.parameters(), state);
    } else {
      static_assert(byte_sink<Target>, "cohort: a model is written to a path or to a sink of bytes");
      write_model(to, from.network(), from.parameters(), state);
    }
  }

  static void load(training& into, std::string const& path) { load(into, model_file::open(path)); }
  static void load(training& into, model_file const& file) {
    if (file.optimizer()) {
      // Into arrays of its own first: what does not fit must leave everything as it was.
      parameter_update loaded(into.parameters(), into.settings().optimizer());
      training_position const position =
          file.read_state(into.parameters(), into.settings().optimizer(), arrays_of(loaded));
      file.read_parameters(into.network(), into.parameters());
      for (int k = 0; k < loaded.state_arrays(); ++k)
        std::memcpy(into.update().state(k), loaded.state(k), into.parameters().arena_bytes());
      into.step_ = position.step;
      into.epoch_ = position.epoch;
    } else {
      file.read_parameters(into.network(), into.parameters());
    }
  }

 private:
  static std::vector<std::byte*> arrays_of(parameter_update& update) {
    std::vector<std::byte*> arrays;
    for (int k = 0; k < update.state_arrays(); ++k) arrays.push_back(update.state(k));
    return arrays;
  }
};

}  // namespace cohort
