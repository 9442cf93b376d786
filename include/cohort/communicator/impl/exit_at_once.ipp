// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cstdio>
#include <cstdlib>

namespace cohort::detail {

void exit_at_once(int status) {
  if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);
  std::_Exit(status);
}

}  // namespace cohort::detail
