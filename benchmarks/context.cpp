// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <benchmark/benchmark.h>

#include <cohort/execution/isa.hpp>
#include <fstream>
#include <string>
#include <string_view>

namespace benchmarks {

std::string commit() { return COHORT_COMMIT; }

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

void add_build_context() {
  benchmark::AddCustomContext("commit", commit());
  benchmark::AddCustomContext("compiler", compiler());
  benchmark::AddCustomContext("processor", processor());
  benchmark::AddCustomContext("isa", std::string(cohort::name_of(cohort::best_isa())));
}

}  // namespace benchmarks
