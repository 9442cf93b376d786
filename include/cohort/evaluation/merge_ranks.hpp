// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <span>

namespace cohort {

/// Brings together what the evaluators of all ranks have seen: each rank has looked at its part of the examples.
///
/// Shapes    the same kinds of evaluators, of the same settings and in the same order, on every rank.
/// Order     collective.
/// After     every rank's evaluators have seen the examples of all ranks.
/// Moves     one allgatherv of their bytes.
/// Errors    data_error naming the rank whose report does not fit: this rank's are then as they were before.
/// Exact     merged in the order of ranks: the same bits on every rank.
void merge_ranks(communicator& world, std::span<evaluator* const> evaluators);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/evaluation/impl/merge_ranks.ipp>
#endif
