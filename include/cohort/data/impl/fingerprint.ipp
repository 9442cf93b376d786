// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/fingerprint.hpp>
#include <cohort/detail/hash.hpp>

namespace cohort {

std::uint64_t fingerprint(dataset const& data, std::int64_t epoch) {
  std::int64_t const count = std::min<std::int64_t>(data.size(), 16);
  batch sample;
  detail::resize_batch(sample, data.describe(), static_cast<int>(count));
  for (std::int64_t k = 0; k < count; ++k)
    sample.indices.push_back(count > 1 ? k * (data.size() - 1) / (count - 1) : 0);
  detail::batch_writer const writer(data.describe());
  example_view scratch;
  scratch.allocate(data.describe());
  scratch.epoch = epoch;
  writer.begin(sample, sample.indices.size());
  writer.gather(data.model(), sample.indices, scratch, sample);

  std::uint64_t hash = detail::fnv1a("examples");
  auto const add = [&](void const* bytes, std::size_t size) {
    hash = detail::fnv1a({static_cast<char const*>(bytes), size}, hash);
  };
  for (auto const* const tensors : {&sample.inputs, &sample.targets, &sample.masks})
    for (named_tensor const& one : *tensors)
      add(one.memory.data(), static_cast<std::size_t>(count) * one.example_bytes());
  add(sample.weights.data(), sample.weights.size() * sizeof(float));
  for (std::string const& key : sample.keys) add(key.data(), key.size());
  return hash;
}

}  // namespace cohort
