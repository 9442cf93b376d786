// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/sliding_window.hpp>

namespace cohort::detail {

/// Fields of every kind of convolution, in their order.
template <class L>
constexpr auto convolution_fields() {
  return field_list{field{"filters", &L::filters},   field{"kernel", &L::kernel},
                    field{"stride", &L::stride},     field{"padding", &L::padding},
                    field{"dilation", &L::dilation}, field{"groups", &L::groups},
                    field{"bias", &L::bias}};
}

/// Performs the checks that all convolutions share. Returns `made`, or the first mistake: in `made`, in the
/// filters or in the groups.
constexpr inference grouped(inference const& made, shape const& input, int filters, int groups) {
  if (filters < 1) return {"a convolution needs at least one filter", labelled_number("filters", filters)};
  if (made.problem.found()) return made;
  if (groups < 1) return {"a convolution needs at least one group", labelled_number("groups", groups)};
  if (input[0] % groups != 0)
    return {"the channels must be divisible by the groups", labelled_number("channels", input[0]),
            labelled_number("groups", groups)};
  if (filters % groups != 0)
    return {"the filters must be divisible by the groups", labelled_number("filters", filters),
            labelled_number("groups", groups)};
  return made;
}

/// Returns the parameters of a convolution: weights K×(C/groups)×taps and, with `bias`, a bias K.
///
/// Shapes    taps: R×S, or R for one dimension.
/// Units     fan_in and fan_out count the connections within one group.
constexpr parameter_list convolution_parameters(int channels, int filters, int groups, shape const& taps,
                                                bool bias) {
  int const depth = channels / groups, area = static_cast<int>(taps.elements());
  shape weights{filters, depth, taps[0], taps[1]};
  weights.rank = 2 + taps.rank;
  int const fan_in = depth * area, fan_out = filters / groups * area;
  parameter_list list;
  list.add({"weights", weights, parameter_role::weights, fan_in, fan_out});
  if (bias) list.add({"bias", {filters}, parameter_role::biases, fan_in, fan_out});
  return list;
}

}  // namespace cohort::detail
