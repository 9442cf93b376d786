// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <cstddef>
#include <vector>

/// Kernels of a single layer, run on numbers that a test provides; computes all gradients.
///
/// Before    `run` or `forward`, which fill `output`; then `differentiate` fills diff_inputs and
///           diff_parameters.
template <class T = double>
struct lone_layer {
  cohort::kind const* kind;
  std::vector<double> fields;
  int batch;
  std::vector<cohort::shape> shapes;
  std::vector<std::vector<T>> inputs;
  std::vector<std::vector<T>> parameters{};
  cohort::step_scalars scalars{};
  cohort::step_mask const* mask = nullptr;
  cohort::shape output_shape{};
  std::vector<T> output{};
  std::vector<std::vector<T>> diff_inputs{};
  std::vector<std::vector<T>> diff_parameters{};

  template <cohort::layer L>
  lone_layer(L const& l, int examples, std::vector<cohort::shape> dims, std::vector<std::vector<T>> numbers,
             std::vector<std::vector<T>> trained = {})
      : kind(&cohort::kind_of<L>),
        batch(examples),
        shapes(std::move(dims)),
        inputs(std::move(numbers)),
        parameters(std::move(trained)) {
    auto const values = cohort::detail::encode(l);
    fields.assign(values.begin(), values.end());
    output_shape = kind->infer(fields.data(), shapes).output;
  }

  std::vector<T> const& forward(bool training = true) {
    output.assign(static_cast<std::size_t>(output_shape.batched(batch).elements()), T(7));
    auto const elements = training ? kind->workspace(fields.data(), shapes, batch) : 0;
    workspace_.assign(static_cast<std::size_t>(elements), T(7));
    kind->template host<T>().forward(fields.data(), arguments(training, nullptr));
    return output;
  }
  /// After     all results are overwritten; they were not 0 before.
  std::vector<T> const& differentiate(std::vector<T> const& diff_output) {
    for (auto* all : {&diff_inputs, &diff_parameters}) all->clear();
    for (auto const& one : inputs) diff_inputs.emplace_back(one.size(), T(7));
    for (auto const& one : parameters) diff_parameters.emplace_back(one.size(), T(7));
    kind->template host<T>().backward(fields.data(), arguments(true, diff_output.data()));
    return diff_inputs[0];
  }

 private:
  cohort::host_arguments<T> arguments(bool training, T const* diff_output) {
    pointers_.clear();
    written_.clear();
    pointers_.reserve(inputs.size() + parameters.size());
    written_.reserve(inputs.size() + parameters.size());
    for (auto const* all : {&inputs, &parameters})
      for (auto const& one : *all) pointers_.push_back(one.data());
    for (auto* all : {&diff_inputs, &diff_parameters})
      for (auto& one : *all) written_.push_back(one.data());
    return {.batch = batch,
            .training = training,
            .layer = 3,
            .input_shapes = shapes,
            .output_shape = output_shape,
            .inputs = pointers_.data(),
            .output = output.data(),
            .parameters = pointers_.data() + inputs.size(),
            .workspace = workspace_.empty() ? nullptr : workspace_.data(),
            .scalars = training ? &scalars : nullptr,
            .mask = mask,
            .diff_output = diff_output,
            .diff_inputs = written_.data(),
            .diff_parameters = written_.data() + inputs.size()};
  }

  std::vector<T> workspace_{};
  std::vector<T const*> pointers_{};
  std::vector<T*> written_{};
};

/// Reason why a layer rejects inputs; nothing if it accepts them.
template <cohort::layer L, class... Shapes>
std::string_view refusal_of(L const& l, Shapes... inputs) {
  cohort::shape const all[]{inputs...};
  char const* const sentence = l.infer(all).problem.sentence;
  return sentence ? sentence : "";
}
template <cohort::layer L, class... Shapes>
constexpr cohort::shape shape_of(L const& l, Shapes... inputs) {
  cohort::shape const all[]{inputs...};
  return l.infer(all).output;
}
