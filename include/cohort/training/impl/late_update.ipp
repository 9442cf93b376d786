// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/late_update.hpp>
#include <cstddef>
#include <span>

namespace cohort::detail {

int late_buckets(parameter_set const& parameters, parameter_update const& update, when_not_finite otherwise,
                 bool synchronised) {
  std::span<bucket const> const all = parameters.buckets();
  bool const can_be_late = update.is_sharded()
                               ? !update.has_constraints() && !update.average()
                               : update.can_update_ranges() && otherwise != when_not_finite::skip;
  if (all.empty() || parameters.passes().space() || !can_be_late || synchronised) return 0;
  std::int64_t whole = 0, late = 0;
  for (bucket const& one : all) whole += one.elements;
  std::size_t count = 0;
  while (2 * late < whole) late += all[count++].elements;
  return count < all.size() ? static_cast<int>(count) : 0;
}

late_update::late_update(strategy& exchange_strategy, int buckets, gradient_parts& gradients,
                         parameter_update& update, step_info const& now)
    : exchange_strategy_(&exchange_strategy),
      gradients_(&gradients),
      update_(&update),
      request_{.parts = gradients.all(), .step = now.step, .epoch = now.epoch} {
  request_.which.first =
      gradients.parameters().buckets()[static_cast<std::size_t>(buckets - 1)].first_parameter;
}

void late_update::require_finite(parameter_set const& parameters) const {
  std::size_t const first = parameters.offset_of(first_late());
  if (!parameters.passes().finite(parameters.type(),
                                  gradients_->first() + first * bytes_of(parameters.type()),
                                  parameters.arena_elements() - first))
    throw numeric_error(
        {.what = "a gradient is not finite",
         .where = {"step ", request_.step, ", epoch ", request_.epoch, ", in the sum over the ranks"},
         .expected = "finite numbers",
         .got = "NaN or infinity; try a smaller learning rate"});
}

}  // namespace cohort::detail
