// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/copy.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort {

namespace detail {

inline constexpr char const* dropout_rate_sentence = "the rate of a dropout must be in [0, 1)";
constexpr bool is_dropout_rate(double rate) { return rate >= 0 && rate < 1; }

/// Calls visit(i, is_kept) for each element of a mask. An element is dropped with probability `rate`, rounded
/// down to a multiple of 2⁻³².
///
/// Exact     element i uses word i mod 4 of random block i / 4, for every element type.
template <class Visit>
void each_of_mask(random_stream const& numbers, double rate, std::size_t count, Visit visit) {
  auto const dropped_below = static_cast<std::uint32_t>(rate * 0x1p32);
  for (std::size_t i = 0; i < count; i += 4) {
    auto const words = numbers.block(i / 4);
    for (std::size_t k = 0; k < 4 && i + k < count; ++k) visit(i + k, words[k] >= dropped_below);
  }
}

}  // namespace detail

/// Sets random elements to 0 in training; identity at inference.
///
/// Shapes    any; the output has the shape of the input.
/// Units     `rate` is the probability of dropping an element. Kept elements are divided by 1 − rate, so the
///           mean does not change.
/// Exact     the mask of an example depends only on seed, layer, step and the example's index in the data
///           set: it is the same for any number of ranks and threads. Backward recomputes the mask; nothing
///           is stored.
/// Source    Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, JMLR 2014.
struct dropout {
  static constexpr std::string_view kind_name = "dropout";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool reads_scalars = true;
  static constexpr bool in_place = true;

  double rate = 0.5;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"rate", &dropout::rate}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!detail::is_dropout_rate(rate)) return {detail::dropout_rate_sentence};
    return inputs[0];
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    if (!a.training) return detail::copy_forward(a);
    mask(a, a.inputs[0], a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0]) mask(a, a.diff_output, a.diff_inputs[0]);
  }

 private:
  template <class T>
  void mask(host_arguments<T> const& a, T const* from, T* to) const {
    T const factor[]{
        0, static_cast<T>(1 / (1 - rate))};  // a table instead of a branch, which would be unpredictable
    auto const size = static_cast<std::size_t>(a.output_shape.elements());
    for (int n = 0; n < a.batch; ++n, from += size, to += size)
      detail::each_of_mask(a.random(n), rate, size,
                           [&](std::size_t i, bool kept) { to[i] = factor[kept] * from[i]; });
  }
};

/// Like `dropout`, but drops whole channels. Neighbouring elements of an image are correlated, so dropping
/// single elements removes little information.
///
/// Shapes    input T×C or C×H×W; output of the same shape.
/// Source    Tompson, Goroshin, Jain, LeCun and Bregler, CVPR 2015.
struct spatial_dropout {
  static constexpr std::string_view kind_name = "spatial_dropout";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool reads_scalars = true;
  static constexpr bool in_place = true;

  double rate = 0.5;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"rate", &spatial_dropout::rate}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!detail::is_dropout_rate(rate)) return {detail::dropout_rate_sentence};
    if (inputs[0].rank < 2)
      return {"spatial dropout needs channels of several elements: use dropout", {"input", inputs[0]}};
    return inputs[0];
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    if (!a.training) return detail::copy_forward(a);
    mask(a, a.inputs[0], a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0]) mask(a, a.diff_output, a.diff_inputs[0]);
  }

 private:
  template <class T>
  void mask(host_arguments<T> const& a, T const* from, T* to) const {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    auto const size = static_cast<std::size_t>(a.output_shape.elements());
    bool const sequence = a.output_shape.rank == 2;
    std::size_t const area = size / channels, distance = sequence ? 1 : area, step = sequence ? channels : 1;
    for (int n = 0; n < a.batch; ++n, from += size, to += size)
      detail::each_of_mask(a.random(n), rate, channels, [&](std::size_t c, bool kept) {
        auto const factor = static_cast<T>(kept ? 1 / (1 - rate) : 0);
        for (std::size_t i = 0, at = c * distance; i < area; ++i, at += step) to[at] = factor * from[at];
      });
  }
};

extern template struct detail::host_kernels<dropout>;
extern template struct detail::host_kernels<spatial_dropout>;

}  // namespace cohort
