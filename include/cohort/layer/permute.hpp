// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/copy.hpp>
#include <cohort/layer/detail/permuted_copy.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Permutes the axes of each example: permute{.order = {1, 0}} makes C×T from T×C. `view` and `extents`
/// reshape the tensor before and after. Together they shuffle channels or pixels:
///
///   C×H×W, g groups of channels   permute{.order = {1, 0, 2}, .view = {g, C/g, H·W}, .extents = {C, H, W}}
///   (r²·C)×H×W → C×rH×rW          permute{.order = {0, 3, 1, 4, 2}, .view = {C, r, r, H, W},
///                                         .extents = {C, r·H, r·W}}
///
/// Shapes    input any → output `extents` (one to three; default: the permuted extents of the view). `view`:
///           one to six extents; default: the input's extents. `order` has an element for each axis of the
///           view.
/// Exact     copies elements. Axis a of the permuted tensor is axis order[a] of the view.
/// Source    channel shuffle: Zhang et al., 2017; pixel shuffle: Shi et al., 2016, PixelShuffle of PyTorch.
struct permute {
  static constexpr std::string_view kind_name = "permute";

  required<axis_order, "order"> order;
  shape view{};
  shape extents{};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"order", &permute::order}, field{"view", &permute::view},
                      field{"extents", &permute::extents}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    axis_order const axes = order;
    for (shape const& given : {view, extents})
      for (int axis = 0; axis < given.rank; ++axis)
        if (given[axis] < 1) return {"every extent must be at least 1", {"view", view}, {"extents", extents}};
    if (view.rank > 0 && !detail::has_elements(view, inputs[0].elements()))
      return {"the view must keep the number of elements", {"input", inputs[0]}, {"view", view}};
    shape const from = viewed(inputs[0]);
    shape listed;
    listed.extents = axes.axes;
    listed.rank = axes.rank;
    unsigned seen = 0;
    for (int axis = 0; axis < axes.rank; ++axis)
      if (axes[axis] >= 0 && axes[axis] < from.rank) seen |= 1U << axes[axis];
    if (axes.rank != from.rank || seen != (1U << from.rank) - 1)
      return {"the order must contain each axis once, counted from 0", {"axes of", from}, {"order", listed}};
    shape result = extents;
    if (result.rank == 0)
      result = detail::permuted(from, axes);
    else if (!detail::has_elements(result, inputs[0].elements()))
      return {"permute must keep the number of elements", {"input", inputs[0]}, {"extents", extents}};
    if (result.rank == 0 || result.rank > 3)
      return {"the result of permute must have one to three extents", {"extents", result}};
    return result;
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_permuted(a.inputs[0], a.output, a.batch, viewed(a.input_shapes[0]), order);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    detail::copy_permuted(a.diff_output, a.diff_inputs[0], a.batch,
                          detail::permuted(viewed(a.input_shapes[0]), order), detail::inverse(order));
  }

 private:
  constexpr shape viewed(shape const& input) const { return view.rank > 0 ? view : input; }
};

extern template struct detail::host_kernels<permute>;

}  // namespace cohort
