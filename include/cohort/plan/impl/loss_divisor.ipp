// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/detail/loss_divisor.hpp>
#include <vector>

namespace cohort::detail {

int count_targets(target_spec const& of, tensor_view target, std::span<std::uint8_t const> steps) {
  int const rows = std::max(of.steps, 1);
  bool const indices = target.type == element_type::i32;
  auto const exists = [&](int t) { return steps.empty() || steps[static_cast<std::size_t>(t)] != 0; };
  int count = 0;
  for (int t = 0; t < rows; ++t)
    count += exists(t) && !(indices && of.is_ignored(target.as<std::int32_t>()[static_cast<std::size_t>(t)]));
  return count;
}

loss_divisor::loss_divisor(graph_view net) {
  std::vector<int> const losses = net.with_role(layer_role::loss);
  by_target_ = !losses.empty() && net.averages_targets(losses[0]);
  if (by_target_) counted_ = net.target(losses[0]);
  mask_sources const masks = masks_of(net);
  if (masks.averaged < 0) return;
  auto const which = static_cast<std::size_t>(masks.averaged);
  source_ = masks.all[which];
  for (std::size_t m = 0; m < which; ++m) mask_ += masks.all[m].in_batch ? 1 : 0;
}

double loss_divisor::of(std::span<tensor_view const> inputs, std::span<tensor_view const> masks,
                        std::span<tensor_view const> targets, std::span<float const> weights,
                        int count) const {
  int const length = source_.length;
  tensor_view const* const steps = length > 0 ? source_.in(inputs, masks, mask_) : nullptr;
  std::vector<std::uint8_t> exist(steps ? static_cast<std::size_t>(length) : 0);
  auto const steps_of = [&] { return static_cast<int>(std::ranges::count(exist, 1)); };
  double sum = 0;
  for (int n = 0; n < count; ++n) {
    if (steps) write_mask(source_, steps->rows(n, 1), exist.data());
    int const of_example = by_target_ ? count_targets(counted_, targets[0].rows(n, 1), exist)
                           : steps    ? steps_of()
                                      : std::max(length, 1);
    sum += (weights.empty() ? 1.0 : static_cast<double>(weights[static_cast<std::size_t>(n)])) * of_example;
  }
  return sum;
}

}  // namespace cohort::detail
