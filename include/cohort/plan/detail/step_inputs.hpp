// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/plan/detail/loss_divisor.hpp>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Checks the external data of a step, converts it to the plan's types, and provides the addresses that
/// kernels read.
///
/// Shapes    inputs are padded with zeros to the plan's batch; class indices stay unchanged, numeric targets
///           are converted to T. Inputs of type i32 are converted to T, exactly up to 2^24.
/// Order     call load, then scale. Before: the data of a request stays valid until backward has run.
/// Errors    load: shape_error; data_error if a target is out of range.
/// Cost      if the arena is in device memory: one upload for each input, and one for all other data.
template <class T>
class step_inputs {
 public:
  /// Shapes exclude the batch.
  step_inputs(std::span<shape const> inputs, std::span<target_spec const> targets, int batch, bool training,
              arena_passes& passes, mask_sources const& masks = {})
      : shapes_(inputs),
        specs_(targets),
        batch_(batch),
        training_(training),
        passes_(passes),
        staging_(inputs.size()),
        device_inputs_(inputs.size()),
        inputs_(inputs.size()),
        target_staging_(targets.size()),
        targets_(targets.size()),
        masks_(masks, batch) {}

  void load(forward_request const& request) {
    check_inputs(request.inputs);
    for (std::size_t i = 0; i < request.inputs.size(); ++i) inputs_[i] = staged(i, request.inputs[i]);
    if (masks_.size() > 0 || !request.masks.empty()) masks_.load(request.inputs, request.masks, examples_);
    if (scalars_.states != request.states || scalars_.first_row != request.first_row) ++version_;
    scalars_.states = request.states;
    scalars_.first_row = request.first_row;
    if (training_) load_training(request);
    if (passes_.space() && (training_ || masks_.size() > 0)) upload_block(request);
    if (!passes_.space() && training_) targets_ = host_targets_;
  }
  /// Sets scalars().gradient_scale, the factor that converts gradients of the summed loss to gradients of the
  /// mean loss.
  void scale(double factor) {
    scalars_.gradient_scale = factor;
    if (!passes_.space() || factor == uploaded_scale_) return;
    uploaded_scale_ = factor;
    passes_.upload(reinterpret_cast<std::byte const*>(&uploaded_scale_),
                   device_block_.data() + offsetof(step_constants, gradient_scale), sizeof factor);
  }

  int examples() const { return examples_; }
  void* input(std::size_t i) const { return inputs_[i]; }
  tensor_view& target(std::size_t t) { return targets_[t]; }
  step_scalars& scalars() { return scalars_; }
  step_mask& mask(std::size_t which) { return masks_[which]; }
  /// Address, in the arenas' space, of the batch's weight for running statistics. For values with this mask,
  /// it is the sum of weight·(unmasked steps) over the examples; for mask −1, the sum of the weights.
  double const* part_weight(int mask) const {
    return (passes_.space() ? device_part_weights_ : part_weights_.data()) + (mask + 1);
  }
  /// A number that increases if the address or type of targets, masks, scalars or states that a device's
  /// passes use has changed since the previous step.
  std::uint64_t version() const { return version_; }

 private:
  void check_inputs(std::span<tensor_view const> inputs) {
    if (inputs.size() != shapes_.size())
      throw shape_error({.what = "the batch has the wrong number of inputs",
                         .expected = {shapes_.size()},
                         .got = {inputs.size()}});
    examples_ = inputs[0].dims.rank > 0 ? inputs[0].dims[0] : 0;
    bool const fits = training_ ? examples_ == batch_ : examples_ >= 0 && examples_ <= batch_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      shape const wanted = shapes_[i].batched(fits ? examples_ : batch_);
      if (!fits || !(inputs[i].dims == wanted))
        throw shape_error({.what = "an input of the batch has the wrong shape",
                           .where = {"input ", i},
                           .expected = to_string(wanted),
                           .got = to_string(inputs[i].dims)});
      if (inputs[i].type != element_type::f32
          && inputs[i].type != element_of<T> && inputs[i].type != element_type::i32)
        throw shape_error({.what = "an input of the batch has an unsupported element type",
                           .where = {"input ", i},
                           .expected = {element_of<T> == element_type::f32 ? "" : "f32, ",
                                        name_of(element_of<T>), ", or i32 for indices"},
                           .got = {name_of(inputs[i].type)}});
    }
  }

  void load_training(forward_request const& request) {
    load_targets(request.targets);
    scalars_.seed = request.seed;
    scalars_.step = request.step;
    scalars_.sums = request.sums;
    scalars_.weights = per_example(request.weights, "weights");
    scalars_.indices = per_example(request.indices, "indices");
    scalars_.steps = by_target() ? counted_.data() : masks_.averaged_steps();
    part_weights_.assign(1, scalars_.weight_of(batch_, nullptr));
    for (std::size_t m = 0; m < masks_.size(); ++m)
      part_weights_.push_back(scalars_.weight_of(batch_, masks_[m].counts));
  }
  void load_targets(std::span<tensor_view const> targets) {
    if (targets.size() != specs_.size())
      throw shape_error({.what = "the batch has the wrong number of targets",
                         .expected = {specs_.size(), ", one for each loss"},
                         .got = {targets.size()}});
    host_targets_.assign(targets.begin(), targets.end());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      tensor_view const& given = targets[t];
      target_spec const& wanted = specs_[t];
      bool const indices = wanted.takes_indices(given.type, given.dims, batch_);
      bool const numbers = wanted.takes_numbers(given.type, given.dims, batch_, element_of<T>);
      if (!indices && !numbers)
        throw shape_error({.what = "a target has the wrong shape or element type",
                           .where = {"target ", t},
                           .expected = expectation(wanted),
                           .got = {to_string(given.dims), " x ", name_of(given.type)}});
      if (indices) check_indices(t, given.as<std::int32_t>(), wanted);
      if (numbers && given.type != element_of<T>)
        host_targets_[t] = {converted(target_staging_[t], given, given.dims.elements()), given.dims};
      if (numbers) check_numbers(t, host_targets_[t].template as<T>(), wanted);
    }
    if (by_target()) count_targets();
  }
  /// Returns whether the loss is a mean over the targets that it does not ignore.
  bool by_target() const { return specs_.size() == 1 && specs_[0].ignores() && !specs_[0].sums_steps; }
  /// Counts each example's targets that the loss does not ignore.
  void count_targets() {
    step_mask const* const mask = masks_.averaged();
    counted_.resize(static_cast<std::size_t>(batch_));
    for (int n = 0; n < batch_; ++n) {
      std::span<std::uint8_t const> exist;
      if (mask)
        exist = {mask->steps + std::ptrdiff_t{n} * mask->length, static_cast<std::size_t>(mask->length)};
      counted_[static_cast<std::size_t>(n)] =
          detail::count_targets(specs_[0], host_targets_[0].rows(n, 1), exist);
    }
  }
  std::string expectation(target_spec const& wanted) const {
    std::string text;
    if (wanted.classes > 0) text = text_of({to_string(wanted.index_shape().batched(batch_)), " x i32"});
    if (wanted.numbers)
      text += text_of({wanted.classes > 0 ? ", or " : "", to_string(wanted.values.batched(batch_)), " x ",
                       name_of(element_of<T>)});
    return text;
  }
  static void check_indices(std::size_t t, std::span<std::int32_t const> labels, target_spec const& wanted) {
    auto const each = static_cast<std::size_t>(std::max(wanted.steps, 1));
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (!wanted.accepts(labels[i]))
        throw data_error(
            {.what = "a label is out of range",
             .where = {"target ", t, ", example ", i / each, " of the batch",
                       wanted.steps > 0 ? text_of({", step ", i % each}) : ""},
             .expected = {"0 to ", wanted.classes - 1,
                          wanted.ignores() ? text_of({", or ", wanted.ignored, " to ignore it"}) : ""},
             .got = {labels[i]}});
  }
  static void check_numbers(std::size_t t, std::span<T const> values, target_spec const& wanted) {
    if (wanted.takes_any_number()) return;
    auto const width = static_cast<std::size_t>(wanted.values.elements());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (auto const one = static_cast<double>(values[i]); !(one >= wanted.lowest && one <= wanted.highest))
        throw data_error({.what = "a target is out of range",
                          .where = {"target ", t, ", example ", i / width, " of the batch"},
                          .expected = {wanted.lowest, " to ", wanted.highest},
                          .got = {one}});
  }
  template <class E>
  E const* per_example(std::span<E const> values, char const* what) const {
    if (!values.empty() && values.size() != static_cast<std::size_t>(batch_))
      throw shape_error({.what = {"the batch has the wrong number of ", what},
                         .expected = {batch_, ", one for each example"},
                         .got = {values.size()}});
    return values.empty() ? nullptr : values.data();
  }

  /// Address of an input for kernels: the input itself if kernels can read it in place, otherwise a copy with
  /// the plan's batch and element type. Uploaded if arenas are outside the processor's memory.
  void* staged(std::size_t i, tensor_view const& input) {
    std::int64_t const elements = shapes_[i].batched(batch_).elements();
    void* host = const_cast<std::byte*>(input.data);
    if (input.type != element_of<T> || examples_ != batch_) host = converted(staging_[i], input, elements);
    auto const space = passes_.space();
    if (!space) return host;
    std::size_t const bytes = static_cast<std::size_t>(elements) * sizeof(T);
    device_inputs_[i].resize(bytes, space);
    passes_.upload(static_cast<std::byte const*>(host), device_inputs_[i].data(), bytes);
    return device_inputs_[i].data();
  }
  /// Returns a copy of a tensor, converted to T and padded with zeros to `whole` elements.
  static T* converted(buffer& memory, tensor_view const& from, std::int64_t whole) {
    auto const size = static_cast<std::size_t>(whole), count = static_cast<std::size_t>(from.dims.elements());
    if (memory.bytes() == 0) memory = buffer(size * sizeof(T));
    T* const to = memory.template as<T>();
    if (from.type == element_type::i32)
      std::transform(reinterpret_cast<std::int32_t const*>(from.data),
                     reinterpret_cast<std::int32_t const*>(from.data) + count, to,
                     [](std::int32_t index) { return static_cast<T>(index); });
    else if (from.type == element_type::f32)
      std::copy_n(reinterpret_cast<float const*>(from.data), count, to);
    else
      std::copy_n(reinterpret_cast<T const*>(from.data), count, to);
    std::fill(to + count, to + size, T(0));
    return to;
  }

  /// Uploads all data except inputs in one block; targets, masks and scalars then point to this block.
  void upload_block(forward_request const& request) {
    std::vector<tensor_view> const& targets = host_targets_;
    step_constants const now{uploaded_scale_, request.seed, static_cast<std::uint64_t>(request.step)};
    auto const size_of = [](tensor_view const& one) {
      return static_cast<std::size_t>(one.dims.elements()) * bytes_of(one.type);
    };
    std::size_t bytes = 0;
    auto const room = [&](std::size_t size) {
      return std::exchange(bytes, bytes + round_to_alignment(size));
    };
    std::span<double const> const parts = part_weights_;
    std::size_t const constants = room(sizeof now), part_weights = room(parts.size_bytes()),
                      weights = room(request.weights.size_bytes()),
                      indices = room(request.indices.size_bytes());
    offsets_.clear();
    for (std::size_t m = 0; m < masks_.size(); ++m) offsets_.push_back(room(masks_.steps(m).size()));
    for (tensor_view const& one : targets) offsets_.push_back(room(size_of(one)));
    host_block_.resize(bytes);
    device_block_.resize(bytes, passes_.space());
    auto const put = [&](std::size_t at, void const* from, std::size_t size) {
      if (size > 0) std::memcpy(host_block_.data() + at, from, size);
    };
    put(constants, &now, sizeof now);
    put(part_weights, parts.data(), parts.size_bytes());
    put(weights, request.weights.data(), request.weights.size_bytes());
    put(indices, request.indices.data(), request.indices.size_bytes());
    for (std::size_t m = 0; m < masks_.size(); ++m)
      put(offsets_[m], masks_.steps(m).data(), masks_.steps(m).size());
    std::span<std::size_t const> const of_targets = std::span(offsets_).subspan(masks_.size());
    for (std::size_t t = 0; t < targets.size(); ++t) put(of_targets[t], targets[t].data, size_of(targets[t]));
    passes_.upload(host_block_.data(), device_block_.data(), bytes);

    bool same = true;
    auto const point = [&](auto& to, auto const& new_value) {
      same = same && to == new_value;
      to = new_value;
    };
    std::byte const* const base = device_block_.data();
    point(scalars_.on_device, reinterpret_cast<step_constants const*>(base + constants));
    point(device_part_weights_, reinterpret_cast<double const*>(base + part_weights));
    scalars_.weights = request.weights.empty() ? nullptr : reinterpret_cast<float const*>(base + weights);
    scalars_.indices =
        request.indices.empty() ? nullptr : reinterpret_cast<std::int64_t const*>(base + indices);
    point(device_weights_, scalars_.weights);
    point(device_indices_, scalars_.indices);
    point(sums_, request.sums);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      point(targets_[t].type, targets[t].type);
      point(targets_[t].data, base + of_targets[t]);
      targets_[t].dims = targets[t].dims;
    }
    for (std::size_t m = 0; m < masks_.size(); ++m)
      point(masks_[m].on_device, reinterpret_cast<std::uint8_t const*>(base + offsets_[m]));
    if (!same) ++version_;
  }

  std::span<shape const> shapes_;
  std::span<target_spec const> specs_;
  int batch_;
  bool training_;
  arena_passes& passes_;
  std::vector<buffer> staging_;
  std::vector<reusable_buffer> device_inputs_;  // inputs in the arenas' memory
  std::vector<void*> inputs_;
  std::vector<buffer> target_staging_;
  std::vector<std::int32_t> counted_;      // per example: number of targets that are not ignored
  std::vector<tensor_view> host_targets_;  // targets in the processor's memory
  std::vector<tensor_view> targets_;       // targets as kernels read them
  step_scalars scalars_;
  step_masks masks_;
  std::vector<double> part_weights_;  // weight without a mask, then for each mask
  double const* device_part_weights_ = nullptr;
  reusable_buffer host_block_, device_block_;  // data that is uploaded in one block
  std::vector<std::size_t> offsets_;           // offsets in that block: masks, then targets
  float const* device_weights_ = nullptr;
  std::int64_t const* device_indices_ = nullptr;
  batch_sums* sums_ = nullptr;
  double uploaded_scale_ = 1;
  std::uint64_t version_ = 0;
  int examples_ = 0;
};

}  // namespace cohort::detail
