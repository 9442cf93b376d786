// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

namespace detail {

/// Positions whose channels are processed together.
inline constexpr std::size_t softmax_block = 64;

/// Calls visit(first, places, step, last) for blocks of up to `softmax_block` neighbouring positions. Channel
/// c of the block begins at first + c·step, for all c with first + c·step < last.
template <class T, class Visit>
void each_softmax_block(host_arguments<T> const& a, Visit visit) {
  auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
  std::size_t const area =
      a.output_shape.rank == 2 ? 1 : static_cast<std::size_t>(a.output_shape.elements()) / channels;
  std::size_t const size = channels * area;
  for (std::size_t row = 0; row < a.elements_of_output(); row += size)
    for (std::size_t place = 0; place < area; place += softmax_block)
      visit(row + place, std::min(softmax_block, area - place), area, row + size);
}

/// Finds the largest channel at each position of a block of each_softmax_block.
template <class T>
void find_largest(T const* input, std::size_t first, std::size_t places, std::size_t step, std::size_t last,
                  T* largest) {
  std::copy_n(input + first, places, largest);
  for (std::size_t c = first; c < last; c += step)
    for (std::size_t i = 0; i < places; ++i) largest[i] = std::max(largest[i], input[c + i]);
}

constexpr inference infer_softmax(shape const& input, char const* sentence) {
  if (input.rank == 0 || channels_of(input) < 2) return {sentence, {"input", input}};
  return input;
}

}  // namespace detail

/// Softmax activation: e^x / Σ e^x over the channels, separately at each position or step. For a loss, use
/// `softmax_cross_entropy`.
///
/// Shapes    input C, T×C or C×H×W, C ≥ 2; output of the same shape, with sum 1 over C.
/// Exact     the largest x is subtracted first, so the exponentials do not overflow.
struct softmax {
  static constexpr std::string_view kind_name = "softmax";
  static constexpr mask_use masks = mask_use::passes;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_softmax(inputs[0], "softmax needs at least two channels");
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_softmax_block(
        a, [&](std::size_t first, std::size_t places, std::size_t step, std::size_t last) {
          T largest[detail::softmax_block], total[detail::softmax_block] = {};
          detail::find_largest(a.inputs[0], first, places, step, last, largest);
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i)
              total[i] += a.output[c + i] = std::exp(a.inputs[0][c + i] - largest[i]);
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i) a.output[c + i] /= total[i];
        });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    detail::each_softmax_block(
        a, [&](std::size_t first, std::size_t places, std::size_t step, std::size_t last) {
          T mean[detail::softmax_block] = {};
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i) mean[i] += a.diff_output[c + i] * a.output[c + i];
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i)
              a.diff_inputs[0][c + i] = a.output[c + i] * (a.diff_output[c + i] - mean[i]);
        });
  }
};

/// Logarithm of the softmax: x − log Σ e^x over the channels, separately at each position or step.
///
/// Shapes    input C, T×C or C×H×W, C ≥ 2; output of the same shape.
/// Exact     the largest x is subtracted first, so the exponentials do not overflow, and small probabilities
///           keep their logarithms.
struct log_softmax {
  static constexpr std::string_view kind_name = "log_softmax";
  static constexpr mask_use masks = mask_use::passes;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_softmax(inputs[0], "log_softmax needs at least two channels");
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_softmax_block(
        a, [&](std::size_t first, std::size_t places, std::size_t step, std::size_t last) {
          T largest[detail::softmax_block], total[detail::softmax_block] = {};
          detail::find_largest(a.inputs[0], first, places, step, last, largest);
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i) total[i] += std::exp(a.inputs[0][c + i] - largest[i]);
          for (std::size_t i = 0; i < places; ++i) total[i] = std::log(total[i]);
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i)
              a.output[c + i] = a.inputs[0][c + i] - largest[i] - total[i];
        });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    detail::each_softmax_block(
        a, [&](std::size_t first, std::size_t places, std::size_t step, std::size_t last) {
          T sum[detail::softmax_block] = {};
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i) sum[i] += a.diff_output[c + i];
          for (std::size_t c = first; c < last; c += step)
            for (std::size_t i = 0; i < places; ++i)
              a.diff_inputs[0][c + i] = a.diff_output[c + i] - std::exp(a.output[c + i]) * sum[i];
        });
  }
};

extern template struct detail::host_kernels<softmax>;
extern template struct detail::host_kernels<log_softmax>;

}  // namespace cohort
