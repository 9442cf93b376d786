// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cstddef>

namespace cohort::detail {

std::string sharing_text(std::string_view compressor, sharing_settings const& settings) {
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
