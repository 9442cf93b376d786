// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/data/detail/batch_writer.hpp>
#include <cohort/data/detail/class_label.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort::detail {

void resize_batch(batch& b, data_description const& description, int capacity) {
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

// Tests bits, so it also works with -ffast-math.
float checked_weight(float weight, std::int64_t example) {
  constexpr std::uint32_t infinity = 0x7f800000U, minus_zero = 0x80000000U;
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(weight);
  if (bits < infinity || bits == minus_zero) return weight;
  throw data_error({.what = "the weight of an example is negative or not finite",
                    .where = {"example ", example},
                    .expected = "a finite number of at least 0, because the loss is the weighted mean; 0 "
                                "excludes the example. Factors of either sign, such as advantages, scale "
                                "the target",
                    .got = {weight}});
}

part_writer::part_writer(tensor_description const& part)
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

void part_writer::operator()(std::byte const* source, std::byte* destination) const {
  if (channels.empty()) return transform(source, destination, elements, scale, offset);
  for (channel_scaling const& one : channels) {
    transform(source, destination, elements / channels.size(), one.scale, one.offset);
    source += stored_channel_bytes;
    destination += channel_bytes;
  }
}

batch_writer::batch_writer(data_description const& description)
    : weighted_(description.weighted), keyed_(description.keyed) {
  for (std::size_t part = 0; part < description.parts(); ++part) {
    writers_.emplace_back(description.part(part));
    tensor_description const& one = description.part(part);
    bool const whole_numbers =
        one.stored == element_type::u8 || one.stored == element_type::i32 || one.stored == element_type::i64;
    if (one.classes > 0 && one.example.elements() == 1 && whole_numbers) class_labels_.push_back({part, one});
  }
}

named_tensor& batch_writer::tensor(batch& b, std::size_t part) {
  if (part < b.inputs.size()) return b.inputs[part];
  part -= b.inputs.size();
  return part < b.targets.size() ? b.targets[part] : b.masks[part - b.targets.size()];
}

void batch_writer::begin(batch& b, std::size_t count) const {
  b.weights.resize(weighted_ ? count : 0);
  b.keys.resize(keyed_ ? count : 0);
}

void batch_writer::check(example_view const& example, std::int64_t index) const {
  for (class_check const& one : class_labels_) checked_class_label(one.label, example.at(one.part), index);
  if (weighted_) checked_weight(example.weight, index);
}

void batch_writer::write(example_view const& example, batch& b, std::size_t row) const {
  for (class_check const& one : class_labels_)
    checked_class_label(one.label, example.at(one.part), b.indices[row]);
  for (std::size_t part = 0; part < writers_.size(); ++part)
    writers_[part](example.at(part), tensor(b, part).memory.data() + row * writers_[part].bytes);
  if (weighted_) b.weights[row] = checked_weight(example.weight, b.indices[row]);
  if (keyed_) b.keys[row].assign(example.key);
}

}  // namespace cohort::detail
