// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cstdint>
#include <string>

namespace cohort {

/// Units     `epsilon` is the step of a parameter; `samples` counts elements of each parameter tensor, 0: all.
struct gradient_check_settings {
  int batch = 3;
  std::uint64_t seed = 1;
  double epsilon = 1e-5;
  int samples = 24;
};

/// The element whose two gradients are furthest apart: of the tensor `parameter`, in row-major order.
///
/// Units     `relative_error` |analytic − numeric| over the larger of the two, or over a thousandth of the network's
///           largest gradient where both are below that; infinite if one of them is not a number.
struct gradient_report {
  double relative_error = 0;
  std::string parameter{};
  std::int64_t element = 0;
  double analytic = 0;
  double numeric = 0;
  int compared = 0;
};

/// Compares the gradients that backward computes with central differences of the loss, on random parameters, inputs and
/// targets, by `reference<double>`. It holds for layers of one's own, with their kernels instantiated for double.
///
/// Before    the network ends in a loss. Only parameters are compared: a layer's gradient with respect to its input is
///           under test where a layer with parameters stands before it.
/// Errors    those of make_plan.
/// Exact     a right gradient is found right to about 1e-6: the differences lose ε² and 1e-16·loss/ε. A kink (relu at
///           0, a tie under a max pool) within ε of an element spoils its difference, so an element that does not agree
///           is tried again with ε/8, and the better of the two counts; a wrong gradient is wrong in both.
gradient_report check_gradients(graph_view net, gradient_check_settings const& settings = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/gradient_check.ipp>
#endif
