// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/plan/plan.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Some rows of a batch, as a context takes them; its memory is used again for the next ones.
class batch_rows {
 public:
  /// Before    the batch lives for as long as the request is used.
  forward_request const& take(batch const& from, index_slice rows, bool targets, std::uint64_t seed,
                              std::int64_t step, batch_sums* sums = nullptr) {
    auto const of_tensor = [&](tensor_view all) {
      return all.rows(static_cast<int>(rows.first), static_cast<int>(rows.count));
    };
    auto const of_list = [&](auto const& all) {
      std::span const whole(all);
      return whole.empty()
                 ? whole
                 : whole.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count));
    };
    inputs_.clear();
    targets_.clear();
    for (std::size_t i = 0; i < from.inputs.size(); ++i) inputs_.push_back(of_tensor(from.input(i)));
    for (std::size_t i = 0; targets && i < from.targets.size(); ++i)
      targets_.push_back(of_tensor(from.target(i)));
    request_ = {.inputs = inputs_,
                .targets = targets_,
                .weights = of_list(from.weights),
                .indices = of_list(from.indices),
                .seed = seed,
                .step = step,
                .sums = sums};
    return request_;
  }

 private:
  std::vector<tensor_view> inputs_;
  std::vector<tensor_view> targets_;
  forward_request request_{};
};

}  // namespace cohort::detail
