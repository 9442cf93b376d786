// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace cohort {

/// What the processor calls itself, with family, model and stepping, since hypervisors cut names short; elsewhere its
/// instruction set alone.
std::string processor_name();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/processor_name.ipp>
#endif
