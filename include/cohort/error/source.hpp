// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort {

/// Where in the user's program a layer was written. As a field's default it names the line of the braces.
struct source {
  char const* file = "";
  int line = 0;

  static constexpr source here(char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace cohort
