// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/class_label.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>

namespace cohort {

COHORT_CORE_INLINE void dataset::require_random_access(char const* user) const {
  if (!indexed())
    throw setting_error({.what = "this data set is a stream, whose examples cannot be accessed by index",
                         .where = user,
                         .expected = "an indexed data set",
                         .got = "a stream"});
}

}  // namespace cohort

namespace cohort::detail {

COHORT_CORE_INLINE void resize_batch(batch& b, data_description const& description, int capacity) {
  auto const resize_list = [&](std::vector<named_tensor>& tensors,
                               std::vector<tensor_description> const& parts) {
    tensors.resize(parts.size());
    for (std::size_t t = 0; t < parts.size(); ++t) {
      if (tensors[t].name != parts[t].name) tensors[t].name = parts[t].name;
      tensors[t].example = parts[t].example;
      tensors[t].type = parts[t].type;
      tensors[t].reserve(capacity);
    }
  };
  resize_list(b.inputs, description.inputs);
  resize_list(b.targets, description.targets);
  resize_list(b.masks, description.masks);
  auto const count = static_cast<std::size_t>(capacity);
  b.weights.reserve(description.weighted ? count : 0);
  b.keys.reserve(description.keyed ? count : 0);
  b.indices.reserve(count);
}

/// Returns the weight if it is finite and not negative. Tests bits, so it also works with -ffast-math.
COHORT_CORE_INLINE float checked_weight(float weight, std::int64_t example) {
  constexpr std::uint32_t infinity = 0x7f800000U, minus_zero = 0x80000000U;
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(weight);
  if (bits < infinity || bits == minus_zero) return weight;
  throw data_error({.what = "the weight of an example is negative or not finite",
                    .where = {"example ", example},
                    .expected = "a finite number of at least 0; 0 excludes the example",
                    .got = {weight}});
}

COHORT_CORE_INLINE part_writer::part_writer(tensor_description const& part)
    : transform(transform_of(part)),
      elements(static_cast<std::size_t>(part.example.elements())),
      bytes(elements * bytes_of(part.type)),
      stored_bytes(elements * bytes_of(part.stored)),
      scale(part.scale),
      offset(part.offset) {
  if (part.channels.empty()) return;
  std::vector<channel_scaling> const maps = maps_in_memory(part.example, part.channels);
  std::size_t const each = elements / maps.size();
  stored_channel_bytes = each * bytes_of(part.stored);
  channel_bytes = each * bytes_of(part.type);
  for (channel_scaling const& one : maps) channels.push_back(channel_scaling{scale, offset}.then(one));
}

COHORT_CORE_INLINE void part_writer::operator()(std::byte const* source, std::byte* destination) const {
  if (channels.empty()) return transform(source, destination, elements, scale, offset);
  for (channel_scaling const& one : channels) {
    transform(source, destination, elements / channels.size(), one.scale, one.offset);
    source += stored_channel_bytes;
    destination += channel_bytes;
  }
}

COHORT_CORE_INLINE batch_writer::batch_writer(data_description const& description)
    : weighted_(description.weighted), keyed_(description.keyed) {
  for (std::size_t part = 0; part < description.parts(); ++part) {
    writers_.emplace_back(description.part(part));
    tensor_description const& one = description.part(part);
    bool const whole_numbers =
        one.stored == element_type::u8 || one.stored == element_type::i32 || one.stored == element_type::i64;
    if (one.classes > 0 && one.example.elements() == 1 && whole_numbers) class_labels_.push_back({part, one});
  }
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
  for (class_check const& one : class_labels_)
    checked_class_label(one.label, example.at(one.part), b.indices[row]);
  for (std::size_t part = 0; part < writers_.size(); ++part)
    writers_[part](example.at(part), tensor(b, part).memory.data() + row * writers_[part].bytes);
  if (weighted_) b.weights[row] = checked_weight(example.weight, b.indices[row]);
  if (keyed_) b.keys[row].assign(example.key);
}

COHORT_CORE_INLINE void batch_writer::gather(dataset_interface const& data,
                                             std::span<std::int64_t const> indices, example_view& scratch,
                                             batch& b) const {
  if (!data.in_memory()) {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      data.get(indices[row], scratch);
      write(scratch, b, row);
    }
    return;
  }
  std::array<std::byte const*, dataset_interface::max_located> sources;
  for (std::size_t first = 0; first < indices.size(); first += sources.size()) {
    auto const some = indices.subspan(first, std::min(sources.size(), indices.size() - first));
    for (std::size_t part = 0; part < writers_.size(); ++part) {
      part_writer const& writer = writers_[part];
      data.locate(some, part, sources.data());
      std::byte* destination = tensor(b, part).memory.data() + first * writer.bytes;
      for (std::size_t row = 0; row < some.size(); ++row) {
        if (row + 2 < some.size())  // prefetches, because shuffled rows are far apart
          for (std::size_t byte = 0; byte < std::min<std::size_t>(writer.stored_bytes, 1024); byte += 64)
            __builtin_prefetch(sources[row + 2] + byte);
        writer(sources[row], destination);
        destination += writer.bytes;
      }
    }
  }
}

}  // namespace cohort::detail
