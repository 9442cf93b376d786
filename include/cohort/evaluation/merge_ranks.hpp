// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort {

/// Brings together what the evaluators of all ranks have seen: each rank has looked at its part of the examples.
///
/// Shapes    the same kinds of evaluators, of the same settings and in the same order, on every rank.
/// Order     collective.
/// After     every rank's evaluators have seen the examples of all ranks.
/// Moves     one allgatherv of their bytes.
/// Errors    data_error naming the rank whose report does not fit: this rank's are then as they were before.
/// Exact     merged in the order of ranks: the same bits on every rank.
inline void merge_ranks(communicator& world, std::span<evaluator* const> evaluators) {
  detail::report_writer mine;
  for (evaluator const* one : evaluators) mine.block(one->to_bytes());
  std::vector<std::byte> const before = mine.take();
  gathered const all = world.allgatherv(before);

  auto const merge = [&](std::span<std::byte const> bytes) {
    detail::report_reader reports(bytes);
    for (evaluator* one : evaluators) one->merge(reports.block("the size of a report"));
    reports.end();
  };
  int rank = 0;
  try {
    for (evaluator* one : evaluators) one->clear();
    for (; rank < world.size(); ++rank) merge(all.of(rank));
  } catch (data_error const& refused) {
    for (evaluator* one : evaluators) one->clear();
    merge(before);
    throw data_error({.what = {"cannot merge the reports of rank ", rank}, .got = refused.what()});
  }
}

}  // namespace cohort
