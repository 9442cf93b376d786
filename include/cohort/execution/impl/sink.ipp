// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/sink.hpp>
#include <cstdio>
#include <string>

namespace cohort {

sink stderr_sink() {
  return [](std::string_view line) {
    std::string const whole = std::string(line) + '\n';
    std::fwrite(whole.data(), 1, whole.size(), stderr);
    std::fflush(stderr);
  };
}

sink silent_sink() {
  return [](std::string_view) {};
}

}  // namespace cohort
