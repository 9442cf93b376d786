// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/copy.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Sets masked steps to 0; y = x at unmasked steps. `builder` inserts this layer before layers that read
/// padding, for example conv1d. Without a mask, it changes nothing.
///
/// Shapes    input T or T×C; output of the same shape.
struct zero_masked {
  static constexpr std::string_view kind_name = "zero_masked";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool reads_mask = true;
  static constexpr bool in_place = true;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank == 0 || inputs[0].rank > 2)
      return {"zero_masked needs a sequence: T or TxC", {"input", inputs[0]}};
    return inputs[0];
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_forward(a);
    clear_padding(a, a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::copy_backward(a);
    if (a.diff_inputs[0]) clear_padding(a, a.diff_inputs[0]);
  }

 private:
  template <class T>
  static void clear_padding(host_arguments<T> const& a, T* values) {
    if (!a.mask) return;
    std::size_t const width = a.elements_of_output() / static_cast<std::size_t>(a.batch * a.output_shape[0]);
    for (int n = 0; n < a.batch; ++n)
      for (int t = 0; t < a.output_shape[0]; ++t, values += width)
        if (!a.mask->has(n, t)) std::fill_n(values, width, T(0));
  }
};

extern template struct detail::host_kernels<zero_masked>;

}  // namespace cohort
