// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cstddef>

namespace cohort {

COHORT_CORE_INLINE void sharing_settings::check() const {
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

namespace cohort::detail {

COHORT_CORE_INLINE std::string sharing_text(std::string_view compressor, sharing_settings const& settings) {
  constexpr std::string_view routes[]{"by size", "to all", "merged"};
  bool const bounded = settings.max_staleness != unbounded;
  return text_of(
      {compressor, " of ",
       settings.share == share::gradient ? "gradients"
       : settings.mean                   ? "steps (mean)"
                                         : "steps",
       ", warm-up ", settings.warm_up, ", buffers every ", settings.sync_buffers, ", messages ",
       routes[static_cast<std::size_t>(settings.route)],
       settings.group == sharing_group::process && bounded ? ", one per process" : ", one per rank",
       ", staleness ", bounded ? text_of({settings.max_staleness}) : "unbounded",
       settings.slower_if_stale ? ", rate divided by staleness" : ""});
}

}  // namespace cohort::detail
