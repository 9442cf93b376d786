// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace cohort {

/// Whether a backend can be used on this machine now, and if not, why: a clause for a user. `device`, if it can: what it would
/// run on, where that is to be said.
struct availability {
  bool usable = true;
  std::string reason{};
  std::string device{};
};

}  // namespace cohort
