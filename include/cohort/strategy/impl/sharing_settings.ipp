// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/strategy/sharing_settings.hpp>

namespace cohort {

void sharing_settings::check() const {
  detail::require_setting(warm_up >= 0, "sharing", "warm_up", "0 or a number of steps", warm_up);
  detail::require_setting(sync_buffers >= 0, "sharing", "sync_buffers", "0 (never) or a number of steps",
                          sync_buffers);
  detail::require_setting(max_staleness >= unbounded && max_staleness < 100, "sharing", "max_staleness",
                          "0 to 99, or unbounded", max_staleness);
  if (max_staleness == unbounded && share != share::update)
    throw setting_error({.what = "gradients cannot be shared with unbounded staleness",
                         .where = "sharing.max_staleness",
                         .expected = "0 to 99, or share::update",
                         .got = "unbounded"});
  if (max_staleness != 0 && route == route::merged)
    throw setting_error({.what = "merged messages cannot be applied late",
                         .where = "sharing.max_staleness",
                         .expected = "0, or route::to_all",
                         .got = {max_staleness}});
}

}  // namespace cohort
