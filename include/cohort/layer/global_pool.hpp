// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/kind.hpp>

namespace cohort {

namespace detail {

/// Shape inference: C×… or T×C → C.
constexpr inference whole_channels(shape const& input) {
  if (input.rank < 2)
    return {"global pooling needs an input of channels x height x width or steps x channels",
            {"input", input}};
  return shape{channels_of(input)};
}

/// The elements of one channel of an example: `first`, `first` + `step`, …, without the elements of padding.
struct channel_elements {
  int example;
  std::size_t first, step;
  int positions;
  step_mask const* mask;

  /// Calls visit(i) for each element.
  template <class Visit>
  void each(Visit visit) const {
    for (int p = 0; p < positions; ++p)
      if (!mask || mask->has(example, p)) visit(first + static_cast<std::size_t>(p) * step);
  }
  int count() const { return mask ? mask->counts[example] : positions; }
};

/// Calls visit(output element, channel_elements) for each channel of each example.
template <class T, class Visit>
void each_plane(host_arguments<T> const& a, Visit visit) {
  shape const& input = a.input_shapes[0];
  auto const channels = static_cast<std::size_t>(channels_of(input)),
             size = static_cast<std::size_t>(input.elements()), area = size / channels;
  bool const sequence = input.rank == 2;
  for (int n = 0; n < a.batch; ++n)
    for (std::size_t c = 0; c < channels; ++c)
      visit(static_cast<std::size_t>(n) * channels + c,
            channel_elements{n, static_cast<std::size_t>(n) * size + c * (sequence ? 1 : area),
                             sequence ? channels : 1, static_cast<int>(area), a.mask});
}

}  // namespace detail

/// Mean of each channel; for a sequence, over its unmasked steps.
///
/// Shapes    input C×H×W or T×C → output C.
/// Exact     a sequence without unmasked steps has mean 0.
struct global_avg_pool {
  static constexpr std::string_view kind_name = "global_avg_pool";
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return detail::whole_channels(inputs[0]); }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_plane(a, [&](std::size_t o, detail::channel_elements const& channel) {
      T sum = 0;
      channel.each([&](std::size_t i) { sum += a.inputs[0][i]; });
      a.output[o] = sum / static_cast<T>(std::max(channel.count(), 1));
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    if (a.mask) std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
    detail::each_plane(a, [&](std::size_t o, detail::channel_elements const& channel) {
      T const diff = a.diff_output[o] / static_cast<T>(std::max(channel.count(), 1));
      channel.each([&](std::size_t i) { a.diff_inputs[0][i] = diff; });
    });
  }
};

/// Largest element of each channel; for a sequence, over its unmasked steps.
///
/// Shapes    input C×H×W or T×C → output C.
/// Exact     if a channel has several largest elements, the first in row-major order gets the gradient. A
///           sequence without unmasked steps has the output 0.
struct global_max_pool {
  static constexpr std::string_view kind_name = "global_max_pool";
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return detail::whole_channels(inputs[0]); }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_plane(a, [&](std::size_t o, detail::channel_elements const& channel) {
      a.output[o] = channel.count() > 0 ? a.inputs[0][largest(a, channel)] : T(0);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
    detail::each_plane(a, [&](std::size_t o, detail::channel_elements const& channel) {
      if (channel.count() > 0) a.diff_inputs[0][largest(a, channel)] = a.diff_output[o];
    });
  }

 private:
  /// Index of the first of the largest elements.
  template <class T>
  static std::size_t largest(host_arguments<T> const& a, detail::channel_elements const& channel) {
    std::size_t found = 0;
    bool is_first = true;
    channel.each([&](std::size_t i) {
      if (is_first || a.inputs[0][i] > a.inputs[0][found]) found = i;
      is_first = false;
    });
    return found;
  }
};

extern template struct detail::host_kernels<global_avg_pool>;
extern template struct detail::host_kernels<global_max_pool>;

}  // namespace cohort
