// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/each_channel.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>
#include <utility>

namespace cohort {

/// Selects the channels first … last − 1: subset{.first = 0, .last = 3}. The inverse of `concatenate`.
///
/// Shapes    input C, T×C or C×H×W; output: the same extents, but with last − first channels.
struct subset {
  static constexpr std::string_view kind_name = "subset";
  static constexpr mask_use masks = mask_use::passes;

  required<int, "first"> first;
  required<int, "last"> last;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"first", &subset::first}, field{"last", &subset::last}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank == 0) return {"a subset needs an input with channels", {"input", inputs[0]}};
    if (first < 0 || last <= first)
      return {"a subset must have 0 <= first < last", labelled_number("first", first),
              labelled_number("last", last)};
    if (last > channels_of(inputs[0]))
      return {"the last of a subset must not exceed the channels of its input",
              labelled_number("last", last),
              {"input", inputs[0]}};
    shape part = inputs[0];
    part[channel_axis(part)] = last - first;
    return part;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    T* to = a.output;
    detail::each_channel(a.batch, a.input_shapes[0], [&](int c, std::size_t begin, std::size_t area) {
      if (is_selected(c)) to = std::copy_n(a.inputs[0] + begin, area, to);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    T const* from = a.diff_output;
    detail::each_channel(a.batch, a.input_shapes[0], [&](int c, std::size_t begin, std::size_t area) {
      T* const to = a.diff_inputs[0] + begin;
      if (is_selected(c))
        std::copy_n(std::exchange(from, from + area), area, to);
      else
        std::fill_n(to, area, T(0));
    });
  }

 private:
  constexpr bool is_selected(int channel) const { return channel >= first && channel < last; }
};

extern template struct detail::host_kernels<subset>;

}  // namespace cohort
