// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace benchmarks {

/// What a figure depends on besides the code measured: said in every report.
std::string commit();
std::string compiler();
std::string processor();

/// Adds all of it to Google Benchmark's context, together with the instruction set that Cohort's own passes
/// use.
void add_build_context();

}  // namespace benchmarks
