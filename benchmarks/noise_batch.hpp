// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/embedding.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>

namespace benchmarks {

/// Makes a batch of noise in [0, 1), or of random indices if an embedding reads the input, with random
/// classes.
inline cohort::batch noise_batch(cohort::graph_view net, int count) {
  cohort::random_stream const chance(1, "noise");
  cohort::shape const example = net[net.with_role(cohort::layer_role::input)[0]].output;
  int const loss = net.with_role(cohort::layer_role::loss)[0];
  cohort::target_spec const target = net.kind(loss).target(net.fields(loss), net.input_shapes(loss));
  cohort::shape const labels_of_one = target.index_shape();
  int vocabulary = 0;
  for (int id = 0; id < net.size(); ++id)
    if (net.kind(id).name == cohort::embedding::kind_name)
      vocabulary = cohort::detail::decode<cohort::embedding>(net.fields(id)).vocabulary;
  cohort::batch made;
  made.count = count;
  made.global_count = count;
  made.inputs.push_back({.name = "input", .example = example, .type = cohort::element_type::f32});
  made.targets.push_back({.name = "label", .example = labels_of_one, .type = cohort::element_type::i32});
  made.inputs[0].reserve(count);
  made.targets[0].reserve(count);
  auto* const values = reinterpret_cast<float*>(made.inputs[0].memory.data());
  auto const elements = static_cast<std::uint64_t>(example.elements()) * static_cast<std::uint64_t>(count);
  for (std::uint64_t i = 0; i < elements; ++i)
    values[i] = vocabulary > 0 ? static_cast<float>(chance.below(i, static_cast<std::uint64_t>(vocabulary)))
                               : chance.uniform01(i);
  auto* const labels = reinterpret_cast<std::int32_t*>(made.targets[0].memory.data());
  auto const all = static_cast<std::uint64_t>(labels_of_one.batched(count).elements());
  for (std::uint64_t i = 0; i < all; ++i)
    labels[i] =
        static_cast<std::int32_t>(chance.below(elements + i, static_cast<std::uint64_t>(target.classes)));
  return made;
}

}  // namespace benchmarks
