// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace benchmarks {

/// Context of a measurement, included in every report.
std::string commit();
std::string compiler();
std::string processor();

/// Adds commit, compiler, processor, and the instruction set that Cohort's own kernels use to Google
/// Benchmark's context.
void add_build_context();

}  // namespace benchmarks
