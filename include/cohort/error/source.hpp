// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort {

/// A location in the user's source code. As a field's default member initialiser, here() returns the line of
/// the braces that initialise the aggregate.
struct source_line {
  char const* file = "";
  int line = 0;

  /// Returns the caller's location.
  static constexpr source_line here(char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace cohort
