// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

namespace detail {

/// Checks explicit padding of an image. The output is {top, bottom, left, right}.
constexpr inference four_sides(padding const& sides, shape const& input) {
  if (input.rank != 3) return {"this layer needs an input of channels x height x width", {"input", input}};
  shape const each{sides.top, sides.bottom, sides.left, sides.right};
  if (sides.mode != padding_mode::sides)
    return {"the sides must be numbers: top, bottom, left, right", {"sides", each}};
  for (int side = 0; side < 4; ++side)
    if (each[side] < 0) return {"a side must not be negative", {"sides", each}};
  return each;
}

/// Calls visit(offset in the inner image, offset in the outer image) for each row of the inner image. The
/// inner image begins at (top, left) of the outer image.
template <class Visit>
void each_inner_row(int batch, shape const& inner, shape const& outer, padding const& sides, Visit visit) {
  auto const width = static_cast<std::size_t>(inner[2]), outer_width = static_cast<std::size_t>(outer[2]);
  auto const left = static_cast<std::size_t>(sides.left), top = static_cast<std::size_t>(sides.top);
  auto const height = static_cast<std::size_t>(inner[1]), outer_height = static_cast<std::size_t>(outer[1]);
  std::size_t const images = static_cast<std::size_t>(batch) * static_cast<std::size_t>(inner[0]);
  for (std::size_t image = 0; image < images; ++image)
    for (std::size_t row = 0; row < height; ++row)
      visit((image * height + row) * width, (image * outer_height + top + row) * outer_width + left);
}

/// Fills the outer image with zeros and copies the inner image into it.
template <class T>
void pad_with_zeros(int batch, shape const& inner, shape const& outer, padding const& sides, T const* from,
                    T* to) {
  std::fill_n(to, static_cast<std::size_t>(outer.batched(batch).elements()), T(0));
  each_inner_row(batch, inner, outer, sides, [&](std::size_t small, std::size_t large) {
    std::copy_n(from + small, inner[2], to + large);
  });
}

/// Copies the inner image out of the outer image.
template <class T>
void crop(int batch, shape const& inner, shape const& outer, padding const& sides, T const* from, T* to) {
  each_inner_row(batch, inner, outer, sides, [&](std::size_t small, std::size_t large) {
    std::copy_n(from + large, inner[2], to + small);
  });
}

}  // namespace detail

/// Adds zeros around an image: zero_padding{.sides = 1}, or {.sides = {top, bottom, left, right}}.
///
/// Shapes    input C×H×W → output C×(top + H + bottom)×(left + W + right).
struct zero_padding {
  static constexpr std::string_view kind_name = "zero_padding";

  required<padding, "sides"> sides;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"sides", &zero_padding::sides}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    inference const each = detail::four_sides(sides, inputs[0]);
    if (each.problem.found()) return each;
    shape const& by = each.output;
    return shape{inputs[0][0], inputs[0][1] + by[0] + by[1], inputs[0][2] + by[2] + by[3]};
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::pad_with_zeros(a.batch, a.input_shapes[0], a.output_shape, sides, a.inputs[0], a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0])
      detail::crop<T>(a.batch, a.input_shapes[0], a.output_shape, sides, a.diff_output, a.diff_inputs[0]);
  }
};

/// Removes the border of an image: cropping{.sides = 1}, or {.sides = {top, bottom, left, right}}.
///
/// Shapes    input C×H×W → output C×(H − top − bottom)×(W − left − right).
struct cropping {
  static constexpr std::string_view kind_name = "cropping";

  required<padding, "sides"> sides;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"sides", &cropping::sides}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    inference const each = detail::four_sides(sides, inputs[0]);
    if (each.problem.found()) return each;
    shape const& by = each.output;
    if (by[0] + by[1] >= inputs[0][1] || by[2] + by[3] >= inputs[0][2])
      return {"the cropping removes the whole image", {"input", inputs[0]}, {"sides", by}};
    return shape{inputs[0][0], inputs[0][1] - by[0] - by[1], inputs[0][2] - by[2] - by[3]};
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::crop(a.batch, a.output_shape, a.input_shapes[0], sides, a.inputs[0], a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0])
      detail::pad_with_zeros<T>(a.batch, a.output_shape, a.input_shapes[0], sides, a.diff_output,
                                a.diff_inputs[0]);
  }
};

extern template struct detail::host_kernels<zero_padding>;
extern template struct detail::host_kernels<cropping>;

}  // namespace cohort
