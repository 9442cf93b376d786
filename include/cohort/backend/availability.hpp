// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace cohort {

/// Result of a backend's probe(): whether the backend is usable on this machine now.
///
/// `reason`  why the backend is not usable, as a clause for messages
/// `device`  the device on which the backend would run, for the log; may be empty
struct availability {
  bool usable = true;
  std::string reason{};
  std::string device{};
};

}  // namespace cohort
