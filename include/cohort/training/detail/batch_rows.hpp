// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/plan/plan.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Makes requests for rows of a batch. The next request reuses the memory of the last one.
class batch_rows {
 public:
  /// Returns a request that refers to rows `rows` of `from`.
  ///
  /// Before    the batch outlives the use of the request.
  forward_request& select(batch_view const& from, index_slice rows, bool targets, std::uint64_t seed,
                          std::int64_t step, batch_sums* sums = nullptr);

 private:
  std::vector<tensor_view> inputs_;
  std::vector<tensor_view> targets_;
  std::vector<tensor_view> masks_;
  forward_request request_{};
};

}  // namespace cohort::detail
