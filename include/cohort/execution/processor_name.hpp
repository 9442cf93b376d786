// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace cohort {

/// Returns the processor's brand name, its CPUID signature and the name of best_isa(). The signature (family,
/// model, stepping) is included because hypervisors shorten names. On other architectures than x86, returns
/// only the name of best_isa().
///
/// Errors    as best_isa().
std::string processor_name();

}  // namespace cohort
