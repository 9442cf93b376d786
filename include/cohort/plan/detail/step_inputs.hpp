// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/plan/arena_passes.hpp>
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

/// What a step has from outside, checked, in the plan's types, and where kernels read it.
///
/// Shapes    inputs filled up with zeros to the plan's batch; targets as they came, or numbers in T.
/// Order     take, then scale.  Before: what a request points to lives until backward has run.
/// Moves     to where arenas lie, if that is not here: each input that is not used, and in one piece all else.
/// Errors    take: shape_error; data_error for a target out of range.
template <class T>
class step_inputs {
 public:
  /// The shapes are those of one example.
  step_inputs(std::span<shape const> inputs, std::span<target_spec const> targets, int batch, bool training,
              arena_passes& passes)
      : shapes_(inputs),
        specs_(targets),
        batch_(batch),
        training_(training),
        passes_(passes),
        staging_(inputs.size()),
        brought_(inputs.size()),
        inputs_(inputs.size()),
        target_staging_(targets.size()),
        targets_(targets.size()) {}

  void take(forward_request const& request) {
    check_inputs(request.inputs);
    for (std::size_t i = 0; i < request.inputs.size(); ++i) inputs_[i] = staged(i, request.inputs[i]);
    if (!training_) return;
    take_targets(request.targets);
    scalars_.seed = request.seed;
    scalars_.step = request.step;
    scalars_.sums = request.sums;
    scalars_.weights = one_an_example(request.weights, "weights");
    scalars_.indices = one_an_example(request.indices, "indices");
    if (passes_.space())
      bring(request);
    else
      targets_ = wanted_;
  }
  /// The factor that makes the gradient that of a mean.
  void scale(double factor) {
    scalars_.gradient_scale = factor;
    if (!passes_.space() || factor == brought_scale_) return;
    brought_scale_ = factor;
    passes_.bring(reinterpret_cast<std::byte const*>(&brought_scale_),
                  there_.data() + offsetof(step_constants, gradient_scale), sizeof factor);
  }

  int examples() const { return examples_; }
  void* input(std::size_t i) const { return inputs_[i]; }
  tensor_view& target(std::size_t t) { return targets_[t]; }
  step_scalars& scalars() { return scalars_; }
  /// Another one where a device's kernels find another address or type among targets and scalars than in the step before.
  std::uint64_t version() const { return version_; }

 private:
  void check_inputs(std::span<tensor_view const> inputs) {
    if (inputs.size() != shapes_.size())
      throw shape_error({.what = "the batch has another number of inputs than the network",
                         .expected = {shapes_.size()},
                         .got = {inputs.size()}});
    examples_ = inputs[0].dims.rank > 0 ? inputs[0].dims[0] : 0;
    bool const fits = training_ ? examples_ == batch_ : examples_ >= 0 && examples_ <= batch_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      shape const wanted = shapes_[i].batched(fits ? examples_ : batch_);
      if (!fits || !(inputs[i].dims == wanted))
        throw shape_error({.what = "an input has another shape than the network's",
                           .where = {"input ", i},
                           .expected = to_string(wanted),
                           .got = to_string(inputs[i].dims)});
      if (inputs[i].type != element_type::f32 && inputs[i].type != element_of<T>)
        throw shape_error({.what = "an input has an element type that the network cannot take",
                           .where = {"input ", i},
                           .expected = {"f32 or ", name_of(element_of<T>)},
                           .got = {name_of(inputs[i].type)}});
    }
  }

  void take_targets(std::span<tensor_view const> targets) {
    if (targets.size() != specs_.size())
      throw shape_error({.what = "the batch has another number of targets than the network has losses",
                         .expected = {specs_.size()},
                         .got = {targets.size()}});
    wanted_.assign(targets.begin(), targets.end());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      tensor_view const& given = targets[t];
      target_spec const& wanted = specs_[t];
      bool const indices = wanted.takes_indices(given.type, given.dims, batch_);
      bool const numbers = wanted.takes_numbers(given.type, given.dims, batch_, element_of<T>);
      if (!indices && !numbers)
        throw shape_error({.what = "a target does not fit its loss",
                           .where = {"target ", t},
                           .expected = expectation(wanted),
                           .got = {to_string(given.dims), " x ", name_of(given.type)}});
      if (indices) check_indices(t, given.as<std::int32_t>(), wanted.classes);
      if (numbers && given.type != element_of<T>)
        wanted_[t] = {converted(target_staging_[t], given, given.dims.elements()), given.dims};
      if (numbers) check_numbers(t, wanted_[t].template as<T>(), wanted);
    }
  }
  std::string expectation(target_spec const& wanted) const {
    std::string text;
    if (wanted.classes > 0) text = text_of({batch_, " x i32"});
    if (wanted.numbers)
      text += text_of({wanted.classes > 0 ? ", or " : "", to_string(wanted.values.batched(batch_)), " x ",
                       name_of(element_of<T>)});
    return text;
  }
  static void check_indices(std::size_t t, std::span<std::int32_t const> labels, int classes) {
    for (std::size_t n = 0; n < labels.size(); ++n)
      if (labels[n] < 0 || labels[n] >= classes)
        throw data_error({.what = "a label is out of range",
                          .where = {"target ", t, ", example ", n, " of the batch"},
                          .expected = {"0 to ", classes - 1},
                          .got = {labels[n]}});
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
  E const* one_an_example(std::span<E const> values, char const* what) const {
    if (!values.empty() && values.size() != static_cast<std::size_t>(batch_))
      throw shape_error({.what = {"the batch has another number of ", what, " than examples"},
                         .expected = {batch_},
                         .got = {values.size()}});
    return values.empty() ? nullptr : values.data();
  }

  /// The input itself where a kernel can read it in place, else a copy of the plan's batch and element type, which is brought
  /// to where arenas lie.
  void* staged(std::size_t i, tensor_view const& input) {
    std::int64_t const elements = shapes_[i].batched(batch_).elements();
    void* here = const_cast<std::byte*>(input.data);
    if (input.type != element_of<T> || examples_ != batch_) here = converted(staging_[i], input, elements);
    auto const space = passes_.space();
    if (!space) return here;
    std::size_t const bytes = static_cast<std::size_t>(elements) * sizeof(T);
    brought_[i].resize(bytes, space);
    passes_.bring(static_cast<std::byte const*>(here), brought_[i].data(), bytes);
    return brought_[i].data();
  }
  /// A copy in T, filled up with zeros to `whole` elements.
  static T* converted(buffer& memory, tensor_view const& from, std::int64_t whole) {
    auto const size = static_cast<std::size_t>(whole), count = static_cast<std::size_t>(from.dims.elements());
    if (memory.bytes() == 0) memory = buffer(size * sizeof(T));
    T* const to = memory.template as<T>();
    if (from.type == element_type::f32)
      std::copy_n(reinterpret_cast<float const*>(from.data), count, to);
    else
      std::copy_n(reinterpret_cast<T const*>(from.data), count, to);
    std::fill(to + count, to + size, T(0));
    return to;
  }

  /// All but inputs to where arenas lie, one behind the other; targets and scalars point there then.
  void bring(forward_request const& request) {
    std::vector<tensor_view> const& targets = wanted_;
    step_constants const now{brought_scale_, scalars_.weight_of(batch_), request.seed,
                             static_cast<std::uint64_t>(request.step)};
    auto const size_of = [](tensor_view const& one) {
      return static_cast<std::size_t>(one.dims.elements()) * bytes_of(one.type);
    };
    std::size_t bytes = 0;
    auto const room = [&](std::size_t size) {
      return std::exchange(bytes, bytes + round_to_alignment(size));
    };
    std::size_t const constants = room(sizeof now), weights = room(request.weights.size_bytes()),
                      indices = room(request.indices.size_bytes());
    offsets_.clear();
    for (tensor_view const& one : targets) offsets_.push_back(room(size_of(one)));
    here_.resize(bytes);
    there_.resize(bytes, passes_.space());
    auto const put = [&](std::size_t at, void const* from, std::size_t size) {
      if (size > 0) std::memcpy(here_.data() + at, from, size);
    };
    put(constants, &now, sizeof now);
    put(weights, request.weights.data(), request.weights.size_bytes());
    put(indices, request.indices.data(), request.indices.size_bytes());
    for (std::size_t t = 0; t < targets.size(); ++t) put(offsets_[t], targets[t].data, size_of(targets[t]));
    passes_.bring(here_.data(), there_.data(), bytes);

    bool same = true;
    auto const point = [&](auto& to, auto const& now_there) {
      same = same && to == now_there;
      to = now_there;
    };
    std::byte const* const base = there_.data();
    point(scalars_.device_passes, reinterpret_cast<step_constants const*>(base + constants));
    scalars_.weights = request.weights.empty() ? nullptr : reinterpret_cast<float const*>(base + weights);
    scalars_.indices =
        request.indices.empty() ? nullptr : reinterpret_cast<std::int64_t const*>(base + indices);
    point(brought_weights_, scalars_.weights);
    point(brought_indices_, scalars_.indices);
    point(sums_, request.sums);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      point(targets_[t].type, targets[t].type);
      point(targets_[t].data, base + offsets_[t]);
      targets_[t].dims = targets[t].dims;
    }
    if (!same) ++version_;
  }

  std::span<shape const> shapes_;
  std::span<target_spec const> specs_;
  int batch_;
  bool training_;
  arena_passes& passes_;
  std::vector<buffer> staging_;
  std::vector<reusable_buffer> brought_;  // inputs, where arenas lie
  std::vector<void*> inputs_;
  std::vector<buffer> target_staging_;
  std::vector<tensor_view> wanted_;   // targets, here
  std::vector<tensor_view> targets_;  // where kernels read them
  step_scalars scalars_;
  reusable_buffer here_, there_;  // what is brought in one piece
  std::vector<std::size_t> offsets_;
  float const* brought_weights_ = nullptr;
  std::int64_t const* brought_indices_ = nullptr;
  batch_sums* sums_ = nullptr;
  double brought_scale_ = 1;
  std::uint64_t version_ = 0;
  int examples_ = 0;
};

}  // namespace cohort::detail
