// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/copy.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Adds normally distributed noise in training; identity at inference and for gradients.
///
/// Shapes    any; the output has the shape of the input.
/// Units     `deviation`: the standard deviation, in the units of the input.
/// Exact     the noise of an example depends only on seed, layer, step and the example's index in the data
///           set, as for dropout.
struct gaussian_noise {
  static constexpr std::string_view kind_name = "gaussian_noise";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool reads_scalars = true;
  static constexpr bool in_place = true;

  double deviation = 0.1;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"deviation", &gaussian_noise::deviation}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!(deviation >= 0 && deviation < 1e300))
      return {"the deviation of Gaussian noise must be a finite number, at least 0"};
    return inputs[0];
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    if (!a.training) return detail::copy_forward(a);
    auto const size = static_cast<std::size_t>(a.output_shape.elements());
    for (int n = 0; n < a.batch; ++n) {
      random_stream const numbers = a.random(n);
      std::size_t const first = static_cast<std::size_t>(n) * size;
      for (std::size_t i = 0; i < size; ++i)
        a.output[first + i] = a.inputs[0][first + i] + static_cast<T>(deviation * numbers.normal<double>(i));
    }
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::copy_backward(a);
  }
};

extern template struct detail::host_kernels<gaussian_noise>;

}  // namespace cohort
