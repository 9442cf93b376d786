// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <span>

namespace cohort {

/// Merges the evaluators of all ranks, where each rank has evaluated its part of the examples.
///
/// Shapes    the same kinds of evaluators, with the same settings and in the same order, on every rank.
/// Order     collective.
/// After     every rank's evaluators contain the examples of all ranks.
/// Moves     one allgatherv of the evaluators' bytes.
/// Errors    data_error naming the rank whose report does not match. This rank's evaluators are then
///           unchanged.
/// Exact     the evaluators are merged in the order of ranks, so all ranks get the same bits.
void merge_ranks(communicator& world, std::span<evaluator* const> evaluators);

}  // namespace cohort
