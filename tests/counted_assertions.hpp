// SPDX-License-Identifier: Apache-2.0
#pragma once
// Included before every test: counts the assertions that run, so that main.cpp can report a case that has
// checked nothing, for example because of a loop over an empty list.
#include <gtest/gtest.h>
#include <atomic>

namespace counted_assertions {

inline std::atomic<long> run{0};

inline int count() {
  run.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

}  // namespace counted_assertions

// Every assertion of GoogleTest begins with this macro.
#undef GTEST_AMBIGUOUS_ELSE_BLOCKER_
#define GTEST_AMBIGUOUS_ELSE_BLOCKER_  \
  switch (counted_assertions::count()) \
  case 0:                              \
  default:
