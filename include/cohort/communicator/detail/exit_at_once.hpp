// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <cstdlib>

namespace cohort::detail {

/// Ends the process without what runs at exit, which may wait for ranks that do not come. What was printed to the
/// standard output comes out, unless a thread holds that stream; no other stream is touched: who reads one holds it.
[[noreturn, gnu::cold]] inline void exit_at_once(int status) {
  if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);
  std::_Exit(status);
}

}  // namespace cohort::detail
