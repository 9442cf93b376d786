// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/merge_ranks.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

void merge_ranks(communicator& world, std::span<evaluator* const> evaluators) {
  detail::report_writer mine;
  for (evaluator const* one : evaluators) mine.block(one->to_bytes());
  std::vector<std::byte> const before = mine.release();
  gathered const all = world.allgatherv(before);

  auto const merge = [&](std::span<std::byte const> bytes) {
    detail::report_reader reports(bytes);
    for (evaluator* one : evaluators) one->merge(reports.block("size of a report"));
    reports.end();
  };
  int rank = 0;
  try {
    for (evaluator* one : evaluators) one->clear();
    for (; rank < world.size(); ++rank) merge(all.of(rank));
  } catch (data_error const& refused) {
    for (evaluator* one : evaluators) one->clear();
    merge(before);
    throw data_error({.what = {"cannot merge the reports of rank ", rank},
                      .expected = "reports of the same kinds and settings on every rank",
                      .got = refused.what()});
  }
}

}  // namespace cohort
