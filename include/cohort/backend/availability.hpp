// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace cohort {

/// Whether a backend can be used on this machine now, and if not, why: a clause for a user.
struct availability {
  bool usable = true;
  std::string reason{};
};

}  // namespace cohort
