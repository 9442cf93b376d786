// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace cohort {

/// Whether a backend is usable on this machine now.
///
/// `reason`  why it is not usable, as a clause for the user
/// `device`  the device that it would run on, for the log; may be empty
struct availability {
  bool usable = true;
  std::string reason{};
  std::string device{};
};

}  // namespace cohort
