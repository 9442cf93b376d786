// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <string>

namespace cohort {

namespace detail {

/// "conv2d: filters 20, kernel 5, no bias": the fields that are not at their defaults.
std::string layer_text(graph_view net, int id);

}  // namespace detail

/// A network as a table: its layers' names, kinds, output shapes, parameters and cost; then the totals.
///
/// Units     MFLOP: million floating-point operations of one example's forward pass.
/// Order     of the graph; a network that is no chain also shows what each layer reads.
std::string summary(graph_view net);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/graph/impl/summary.ipp>
#endif
