// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/detail/shared_outcome.hpp>
#include <cohort/trainer/detail/scoped_consensus.hpp>
#include <cohort/trainer/training.hpp>
#include <concepts>
#include <string>
#include <vector>

namespace cohort {

/// Behind training::save and training::load: including this header makes them usable.
template <>
struct model_io<training> {
  template <class Target>
  static void save(training& from, Target& to, bool updater_state) {
    from.require_common_steps("save");
    replica const mine = from.own();
    detail::scoped_consensus const agreed(*from.strategy_, mine, updater_state ? mine.arrays() : 1);
    model_content content(from.network());
    content.add_parameters(from.parameters());
    if (updater_state)
      content.add_state(from.parameters(), {.settings = from.settings().optimizer(),
                                            .position = from.position_,
                                            .arrays = arrays_of(from.update()),
                                            .plateau = from.plateau_});
    if constexpr (std::convertible_to<Target&, std::string>) {
      auto const write = [&] {
        if (from.world().rank() == 0) save_model(to, content);
        return std::string();
      };
      if (from.world().size() == 1) {
        write();
      } else if (auto const all = detail::outcome_of_all(from.world(), write); !all.trouble.empty()) {
        throw file_error({.what = "the model was not saved", .where = std::string(to), .got = all.trouble});
      }
    } else {
      static_assert(byte_sink<Target>, "cohort: a model is written to a path or to a sink of bytes");
      write_model(to, content);
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
        into.parameters().passes().copy(loaded.state(k), into.update().state(k),
                                        into.parameters().arena_bytes());
      into.position_ = position;
      into.plateau_ = file.plateau();
      into.so_far_ = {};
    } else {
      file.read_parameters(into.network(), into.parameters());
    }
  }

  static transfer_report load_matching(training& into, std::string const& path) {
    return load_matching(into, model_file::open(path));
  }
  static transfer_report load_matching(training& into, model_file const& from) {
    return read_matching(from.file().tensors(), from.file().name(), into.network(), into.parameters());
  }
  static transfer_report load_matching(training& into, training const& from) {
    model_content content(from.network());
    content.add_parameters(from.parameters());
    return read_matching(content.tensors(), "the other training", into.network(), into.parameters());
  }

  static std::vector<std::byte*> arrays_of(parameter_update& update) {
    std::vector<std::byte*> arrays;
    for (int k = 0; k < update.state_arrays(); ++k) arrays.push_back(update.state(k));
    return arrays;
  }
};

}  // namespace cohort
