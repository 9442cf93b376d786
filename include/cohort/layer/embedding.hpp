// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/layer/kind.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>

namespace cohort {

/// Replaces each index with a learned vector of `width` elements.
///
/// Shapes    input: indices 0 … vocabulary − 1 (i32 in the batch, or floating-point numbers). T indices
///           become a sequence T×width, an image H×W of indices becomes width×H×W. Weights vocabulary×width.
/// Units     `mask_zero`: index 0 is padding, and the output has a mask. The input must then have the shape
///           T.
/// Errors    data_error with the example and the position, if an index is outside the vocabulary. Forward
///           stops at that index.
/// Exact     gradients are added in the order of the examples. The input gradient is 0. Masked indices
///           contribute nothing to the gradient of the weights.
struct embedding {
  static constexpr std::string_view kind_name = "embedding";
  static constexpr bool reads_indices = true;

  required<int, "vocabulary"> vocabulary;
  required<int, "width"> width;
  bool mask_zero = false;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"vocabulary", &embedding::vocabulary}, field{"width", &embedding::width},
                      field{"mask_zero", &embedding::mask_zero}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (vocabulary < 1)
      return {"an embedding needs a vocabulary of at least 1", labelled_number("vocabulary", vocabulary)};
    if (vocabulary > 1 << 24)
      return {"the vocabulary must be at most 2^24: f32 cannot represent larger indices",
              labelled_number("vocabulary", vocabulary)};
    if (width < 1) return {"an embedding needs a width of at least 1", labelled_number("width", width)};
    if (inputs[0].rank < 1 || inputs[0].rank > 2)
      return {"the indices must have one or two extents", {"input", inputs[0]}};
    if (mask_zero && vocabulary < 2)
      return {"mask_zero needs a vocabulary of at least 2: index 0 is padding",
              labelled_number("vocabulary", vocabulary)};
    if (mask_zero && inputs[0].rank != 1)
      return {"mask_zero needs a sequence of indices, T", {"input", inputs[0]}};
    return inputs[0].rank == 1 ? shape{inputs[0][0], width.value} : inputs[0].batched(width);
  }
  constexpr mask_rule masks(std::span<shape const> inputs) const {
    if (mask_zero) return mask_use::begins;
    if (inputs[0].rank != 1) return "an embedding accepts a mask only for a sequence of indices, T";
    return mask_use::passes;
  }
  constexpr parameter_list parameters(std::span<shape const>) const {
    parameter_list list;
    list.add({"weights", {vocabulary.value, width.value}, parameter_role::weights, vocabulary, width});
    return list;
  }

  /// Returns the row of the weights for an index.
  ///
  /// Errors    data_error if `index` is not an integer in the vocabulary; `example` and `position` locate it
  ///           in the batch.
  template <class T>
  std::size_t row_of(T index, std::size_t example, std::size_t position) const {
    if (is_finite(index) && index >= 0 && index < static_cast<T>(vocabulary.value)) {
      auto const row = static_cast<std::size_t>(index);
      if (static_cast<T>(row) == index) return row;
    }
    throw data_error({.what = "an index is not in the vocabulary",
                      .where = {"example ", example, " of the batch, index ", position},
                      .expected = {"an integer from 0 to ", vocabulary.value - 1},
                      .got = {static_cast<double>(index)}});
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    each_vector(a, [&](std::size_t vector, std::size_t to, std::size_t step) {
      for (std::size_t k = 0; k < size(); ++k) a.output[to + k * step] = a.parameters[0][vector + k];
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    std::fill_n(a.diff_parameters[0], static_cast<std::size_t>(vocabulary.value) * size(), T(0));
    each_vector(a, [&](std::size_t vector, std::size_t from, std::size_t step) {
      for (std::size_t k = 0; k < size(); ++k)
        a.diff_parameters[0][vector + k] += a.diff_output[from + k * step];
    });
    if (a.diff_inputs[0]) std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(width.value); }

  /// Calls visit(offset of the vector in the weights, offset of its first element in the output, stride
  /// between its elements in the output) for each index.
  template <class T, class Visit>
  void each_vector(host_arguments<T> const& a, Visit visit) const {
    auto const indices = static_cast<std::size_t>(a.input_shapes[0].elements());
    bool const sequence = a.input_shapes[0].rank == 1;
    std::size_t const distance = sequence ? size() : 1, step = sequence ? 1 : indices;
    for (std::size_t n = 0; n < static_cast<std::size_t>(a.batch); ++n)
      for (std::size_t i = 0; i < indices; ++i)
        visit(row_of(a.inputs[0][n * indices + i], n, i) * size(), n * indices * size() + i * distance, step);
  }
};

extern template struct detail::host_kernels<embedding>;

}  // namespace cohort
