// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cstdint>
#include <string>

namespace cohort {

/// Settings of check_gradients.
///
/// Units     `epsilon` is the step of the central differences. `samples` is the number of elements checked in
///           each parameter tensor; 0: all.
struct gradient_check_settings {
  int batch = 3;
  std::uint64_t seed = 1;
  double epsilon = 1e-5;
  int samples = 24;
};

/// Result of check_gradients: the element whose gradient has the largest error. `element` is its row-major
/// index in the tensor `parameter`.
///
/// Units     `relative_error`: |analytic − numeric| divided by the larger magnitude of the two. If both are
///           below a thousandth of the network's largest gradient, that thousandth is the divisor. Infinite
///           if a gradient is not finite. `compared`: number of compared elements.
struct gradient_report {
  double relative_error = 0;
  std::string parameter{};
  std::int64_t element = 0;
  double analytic = 0;
  double numeric = 0;
  int compared = 0;
};

/// Compares the gradients that backward computes with central differences of the loss. Parameters, inputs,
/// targets and masks are random; the backend is `reference<double>`. User-defined layers can be checked if
/// their kernels are instantiated for double.
///
/// Before    the network ends in a loss. Only gradients of parameters are compared: a layer's input gradient
///           is checked only if a layer with parameters precedes that layer.
/// Errors    as make_plan.
/// Exact     a correct gradient has an error of about 1e-6: the differences have a truncation error of about
///           ε² and a rounding error of about 1e-16·loss/ε. A kink (relu at 0, a tie in the window of a max
///           pool) within ε of an element invalidates its difference. An element with an error above 1e-7 is
///           therefore checked again with ε/8, and the smaller error counts. A wrong gradient has a large
///           error with ε and with ε/8.
gradient_report check_gradients(graph_view net, gradient_check_settings const& settings = {});

}  // namespace cohort
