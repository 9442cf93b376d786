// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/optimizer/detail/optimizer_fields.hpp>

namespace cohort {

std::string to_json(optimizer_settings const& settings) { return detail::line_of(settings); }

optimizer_settings optimizer_from_json(io::json_value value) {
  auto settings = detail::read_complete<optimizer_settings>(value);
  detail::with_path(value, [&] { settings.check(); });
  return settings;
}

std::string to_json(plateau const& seen) { return detail::line_of(seen); }

plateau plateau_from_json(io::json_value value) { return detail::read_complete<plateau>(value); }

}  // namespace cohort
