// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of the component monitoring:
// one source of a program that is built without CMake includes this file. The parts can also be compiled
// separately, and in parallel.
#include <cohort/monitoring/impl/monitoring.cpp>
