// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/tensor/element.hpp>

namespace cohort::detail {

mask_sources masks_of(graph_view net) {
  mask_sources made;
  std::vector<int> const losses = net.with_role(layer_role::loss);
  if (!losses.empty()) made.averaged = net.mask_number(net.averaged_mask(losses[0]));
  for (int id : net.masks()) made.all.push_back(mask_source_of(net, id));
  return made;
}

mask_source mask_source_of(graph_view net, int begin) {
  mask_source made{.length = net[begin].output[0], .in_batch = net.kind(begin).role == layer_role::input};
  bool const is_padded = net.kind(begin) == kind_of<padded_input>;
  if (is_padded) made.padding = static_cast<float>(decode<padded_input>(net.fields(begin)).value);
  if (made.in_batch && !is_padded) return made;
  int const marked = made.in_batch ? begin : net.inputs(begin)[0];
  std::vector<int> const inputs = net.with_role(layer_role::input);
  made.input = static_cast<int>(std::ranges::find(inputs, marked) - inputs.begin());
  return made;
}

int mask_of_batch(graph_view net, int begin) {
  int number = 0;
  for (int id : net.masks()) {
    if (net.kind(id).role != layer_role::input) continue;
    if (id == begin) return number;
    ++number;
  }
  return -1;
}

/// Calls visit(span of the elements).
template <class Visit>
auto with_elements(tensor_view of, Visit visit) {
  switch (of.type) {
    case element_type::u8:
      return visit(of.as<std::uint8_t>());
    case element_type::i32:
      return visit(of.as<std::int32_t>());
    case element_type::f64:
      return visit(of.as<double>());
    default:
      return visit(of.as<float>());
  }
}

void write_mask(mask_source const& source, tensor_view from, std::uint8_t* steps) {
  // A mask in the batch is u8; 0 marks a step that does not exist.
  float const padding = from.type == element_type::u8 ? 0 : source.padding;
  auto const count = static_cast<std::size_t>(from.dims[0]) * static_cast<std::size_t>(source.length);
  with_elements(from, [&](auto values) {
    std::size_t const width = count == 0 ? 0 : values.size() / count;
    auto const is_padding = [&](auto number) { return static_cast<float>(number) == padding; };
    for (std::size_t step = 0; step < count; ++step)
      steps[step] = !std::ranges::all_of(values.subspan(step * width, width), is_padding);
  });
}

tensor_view mask_of(graph_view net, int begin, std::span<tensor_view const> inputs,
                    std::span<tensor_view const> masks, std::vector<std::uint8_t>& memory) {
  if (begin < 0) return {};
  mask_source const source = mask_source_of(net, begin);
  tensor_view const* const from =
      source.in(inputs, masks, static_cast<std::size_t>(std::max(mask_of_batch(net, begin), 0)));
  if (!from || from->type == element_type::u8) return from ? *from : tensor_view();
  shape const dims{from->dims[0], source.length};
  memory.resize(static_cast<std::size_t>(dims.elements()));
  write_mask(source, *from, memory.data());
  return {memory.data(), dims};
}

step_masks::step_masks(mask_sources const& sources, int batch)
    : sources_(sources.all),
      averaged_(sources.averaged),
      batch_(batch),
      memory_(sources_.size()),
      masks_(sources_.size()) {
  for (std::size_t m = 0; m < sources_.size(); ++m) {
    memory_[m].lengths.resize(static_cast<std::size_t>(batch));
    memory_[m].counts.resize(static_cast<std::size_t>(batch));
    masks_[m] = {.length = sources_[m].length,
                 .lengths = memory_[m].lengths.data(),
                 .counts = memory_[m].counts.data()};
  }
}

void step_masks::load(std::span<tensor_view const> inputs, std::span<tensor_view const> masks, int examples) {
  std::size_t used = 0;
  auto const of_batch = static_cast<std::size_t>(std::ranges::count_if(sources_, &mask_source::in_batch));
  if (!masks.empty() && masks.size() != of_batch)
    throw shape_error({.what = "the batch has the wrong number of masks",
                       .expected = {of_batch, ", one for each masked input"},
                       .got = {masks.size()}});
  for (std::size_t m = 0; m < sources_.size(); ++m) {
    mask_source const& from = sources_[m];
    auto const length = static_cast<std::size_t>(from.length);
    std::size_t const whole = length * static_cast<std::size_t>(batch_),
                      given = length * static_cast<std::size_t>(examples);
    std::vector<std::uint8_t>& steps = memory_[m].steps;
    masks_[m].steps = nullptr;
    tensor_view const* const source = from.in(inputs, masks, used);
    if (!source) {
      steps.assign(given, 1);
      steps.resize(whole, 0);
    } else if (!from.in_batch || masks.empty()) {
      steps.assign(whole, 0);
      write_mask(from, *source, steps.data());
    } else {
      tensor_view const& mask = *source;
      if (mask.type != element_type::u8 || !(mask.dims == shape(examples, from.length)))
        throw shape_error({.what = "a mask of the batch has the wrong shape or element type",
                           .where = {"mask ", used},
                           .expected = {to_string(shape(examples, from.length)), " x u8"},
                           .got = {to_string(mask.dims), " x ", name_of(mask.type)}});
      ++used;
      auto const* const first = reinterpret_cast<std::uint8_t const*>(mask.data);
      if (examples == batch_) {
        masks_[m].steps = first;
      } else {
        steps.assign(first, first + given);
        steps.resize(whole, 0);
      }
    }
    if (!masks_[m].steps) masks_[m].steps = steps.data();
    measure(m);
  }
}

/// Computes lengths, counts and has_gaps from the steps.
void step_masks::measure(std::size_t which) {
  step_mask& mask = masks_[which];
  mask.has_gaps = false;
  for (int n = 0; n < batch_; ++n) {
    std::int32_t last = 0, count = 0;
    for (int t = 0; t < mask.length; ++t)
      if (mask.has(n, t)) {
        last = t + 1;
        ++count;
      }
    memory_[which].lengths[static_cast<std::size_t>(n)] = last;
    memory_[which].counts[static_cast<std::size_t>(n)] = count;
    mask.has_gaps = mask.has_gaps || last != count;
  }
}

}  // namespace cohort::detail
