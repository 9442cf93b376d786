// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/data/dataset.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <functional>

namespace cohort {

COHORT_CORE_INLINE void example_view::fit(data_description const& what) {
  at_.resize(what.parts());
  own_.resize(what.parts());
  for (std::size_t part = 0; part < own_.size(); ++part) {
    tensor_description const& d = what.part(part);
    own_[part].resize(static_cast<std::size_t>(d.example.elements()) * bytes_of(d.stored));
  }
}

}  // namespace cohort

namespace cohort::detail {

COHORT_CORE_INLINE void fit(batch& b, data_description const& what, int capacity) {
  auto const fit_list = [&](std::vector<named_tensor>& tensors,
                            std::vector<tensor_description> const& parts) {
    tensors.resize(parts.size());
    for (std::size_t t = 0; t < parts.size(); ++t) {
      if (tensors[t].name != parts[t].name) tensors[t].name = parts[t].name;
      tensors[t].example = parts[t].example;
      tensors[t].type = parts[t].type;
      tensors[t].reserve(capacity);
    }
  };
  fit_list(b.inputs, what.inputs);
  fit_list(b.targets, what.targets);
  fit_list(b.masks, what.masks);
  auto const room = static_cast<std::size_t>(capacity);
  b.weights.reserve(what.weighted ? room : 0);
  b.keys.reserve(what.keyed ? room : 0);
  b.indices.reserve(room);
}

/// By bits, so that it holds under -ffast-math.
COHORT_CORE_INLINE float checked_weight(float weight, std::int64_t example) {
  constexpr std::uint32_t infinity = 0x7f800000U, minus_zero = 0x80000000U;
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(weight);
  if (bits < infinity || bits == minus_zero) return weight;
  throw data_error({.what = "the weight of an example is negative or not finite",
                    .where = {"example ", example},
                    .expected = "a finite number of 0 or more; 0 leaves the example out",
                    .got = {weight}});
}

COHORT_CORE_INLINE part_writer::part_writer(tensor_description const& part)
    : transform(transform_of(part)),
      elements(static_cast<std::size_t>(part.example.elements())),
      bytes(elements * bytes_of(part.type)),
      scale(part.scale),
      offset(part.offset) {}

COHORT_CORE_INLINE void part_writer::operator()(std::byte const* source, std::byte* destination) const {
  transform(source, destination, elements, scale, offset);
}

COHORT_CORE_INLINE batch_writer::batch_writer(data_description const& what)
    : weighted_(what.weighted), keyed_(what.keyed) {
  for (std::size_t part = 0; part < what.parts(); ++part) writers_.emplace_back(what.part(part));
}

COHORT_CORE_INLINE named_tensor& batch_writer::tensor(batch& b, std::size_t part) {
  if (part < b.inputs.size()) return b.inputs[part];
  part -= b.inputs.size();
  return part < b.targets.size() ? b.targets[part] : b.masks[part - b.targets.size()];
}

COHORT_CORE_INLINE void batch_writer::begin(batch& b, std::size_t count) const {
  b.weights.resize(weighted_ ? count : 0);
  b.keys.resize(keyed_ ? count : 0);
}

COHORT_CORE_INLINE void batch_writer::write(example_view const& example, batch& b, std::size_t row) const {
  for (std::size_t part = 0; part < writers_.size(); ++part)
    writers_[part](example.at(part), tensor(b, part).memory.data() + row * writers_[part].bytes);
  if (weighted_) b.weights[row] = checked_weight(example.weight, b.indices[row]);
  if (keyed_) b.keys[row].assign(example.key);
}

COHORT_CORE_INLINE void batch_writer::gather(std::span<example_rows const> rows,
                                             std::span<std::int64_t const> indices, batch& b) const {
  for (std::size_t part = 0; part < writers_.size(); ++part) {
    part_writer const writer = writers_[part];
    std::byte* destination = tensor(b, part).memory.data();
    auto const source = [&](std::size_t row) {
      return rows[part].first + static_cast<std::size_t>(indices[row]) * rows[part].distance_bytes;
    };
    for (std::size_t row = 0; row < indices.size(); ++row) {
      if (row + 2 < indices.size())  // shuffled rows are far apart
        for (std::size_t byte = 0; byte < std::min<std::size_t>(rows[part].distance_bytes, 1024); byte += 64)
          __builtin_prefetch(source(row + 2) + byte);
      writer(source(row), destination);
      destination += writer.bytes;
    }
  }
}

}  // namespace cohort::detail
