// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/plan/plan.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Some rows of a batch, as a context takes them; its memory is used again for the next ones.
class batch_rows {
 public:
  /// Before    the batch lives for as long as the request is used.
  forward_request const& take(batch const& from, index_slice rows, bool targets, std::uint64_t seed,
                              std::int64_t step, batch_sums* sums = nullptr);

 private:
  std::vector<tensor_view> inputs_;
  std::vector<tensor_view> targets_;
  forward_request request_{};
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/batch_rows.ipp>
#endif
