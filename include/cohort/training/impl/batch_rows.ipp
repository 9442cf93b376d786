// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/batch_rows.hpp>
#include <cstddef>
#include <span>

namespace cohort::detail {

forward_request& batch_rows::select(batch_view const& from, index_slice rows, bool targets,
                                    std::uint64_t seed, std::int64_t step, batch_sums* sums) {
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
  masks_.clear();
  for (std::size_t i = 0; i < from.inputs.size(); ++i) inputs_.push_back(of_tensor(from.inputs[i]));
  for (std::size_t i = 0; targets && i < from.targets.size(); ++i)
    targets_.push_back(of_tensor(from.targets[i]));
  for (tensor_view const& one : from.masks) masks_.push_back(of_tensor(one));
  request_ = {.inputs = inputs_,
              .targets = targets_,
              .masks = masks_,
              .weights = of_list(from.weights),
              .indices = of_list(from.indices),
              .seed = seed,
              .step = step,
              .sums = sums};
  return request_;
}

}  // namespace cohort::detail
