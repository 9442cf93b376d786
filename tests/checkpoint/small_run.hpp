// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <string>
#include <vector>

/// A run that consists of its checkpoints only. The shared file contains `value`; the file of rank r contains
/// 1000·`value` + r.
struct small_run {
  cohort::graph net = cohort::graph::build([](cohort::builder& b) {
    return b.input({1, 4, 4}) | cohort::dense{.units = 2} | cohort::softmax_cross_entropy{};
  });

  cohort::checkpoint_content at(std::int64_t step, int rank, float value, std::vector<float>& memory) const {
    memory.assign(2, value);
    memory[1] = 1000 * value + static_cast<float>(rank);
    cohort::checkpoint_content content{.position = {step, step / 10, step % 10 * 64},
                                       .rank_local = cohort::model_content(net),
                                       .settings_hash = 77};
    content.rank_local.add("strategy/own", cohort::tensor_view(&memory[1], {1}));
    if (rank == 0) content.shared.emplace(net).add("strategy/shared", cohort::tensor_view(&memory[0], {1}));
    return content;
  }

  /// Saves this rank's part.
  std::string save(cohort::communicator& world, std::string const& directory, std::int64_t step, float value,
                   int keep = 3) const {
    std::vector<float> memory;
    return cohort::save_checkpoint(world, directory, at(step, world.rank(), value, memory), keep);
  }
  void save(int ranks, std::string const& directory, std::int64_t step, float value, int keep = 3) const {
    cohort::launch<cohort::threads>(
        ranks, [&](cohort::communicator& world) { save(world, directory, step, value, keep); });
  }
};

inline float shared_value(cohort::checkpoint_reader const& from) {
  cohort::model_file const shared = from.shared();
  return shared.file().at("strategy/shared").as<float>()[0];
}
inline float own_value(cohort::checkpoint_reader const& from, int rank) {
  cohort::model_file const own = from.rank_file(rank);
  return own.file().at("strategy/own").as<float>()[0];
}

inline std::string step_path(std::string const& directory, std::int64_t step) {
  return directory + '/' + cohort::detail::checkpoint_name(step);
}
