// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <fstream>
#include <string>

namespace benchmarks {

/// Returns the bytes of a field of /proc/self/status: VmRSS, the resident memory, or VmHWM, its maximum so
/// far.
inline long long memory_bytes(std::string const& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ':'))
      return std::strtoll(line.c_str() + field.size() + 1, nullptr, 10) * 1024;
  return 0;
}

/// Sets VmHWM to the resident memory.
inline void forget_memory_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace benchmarks
