// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/detail/config.hpp>
#include <cstdio>
#include <cstdlib>

namespace cohort::detail {

COHORT_CORE_INLINE void exit_at_once(int status) {
  if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);
  std::_Exit(status);
}

}  // namespace cohort::detail
