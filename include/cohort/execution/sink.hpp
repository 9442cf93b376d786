// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace cohort {

/// Where a line of output goes: the library prints nothing by itself. A line comes without its newline.
///
/// Order     called by one thread at a time for each object that holds the sink.
using sink = std::function<void(std::string_view line)>;

/// Each line to the standard error stream, in one write, so that lines of several ranks do not mix.
inline sink stderr_sink() {
  return [](std::string_view line) {
    std::string const whole = std::string(line) + '\n';
    std::fwrite(whole.data(), 1, whole.size(), stderr);
    std::fflush(stderr);
  };
}

inline sink silent_sink() {
  return [](std::string_view) {};
}

}  // namespace cohort
