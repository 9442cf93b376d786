// SPDX-License-Identifier: Apache-2.0
#include <cohort/transform/transform_settings.hpp>

namespace cohort {

void transform_report::add(transform_report const& more) {
  rows += more.rows;
  removed += more.removed;
  skipped += more.skipped;
  for (std::string const& one : more.problems)
    if (problems.size() < max_problems) problems.push_back(one);
  notices.insert(notices.end(), more.notices.begin(), more.notices.end());
}

}  // namespace cohort
