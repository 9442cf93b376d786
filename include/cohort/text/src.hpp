// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of the component text:
// one source of a program that is built without CMake includes this file. The parts can also be compiled
// separately, and in parallel.
#include <cohort/text/impl/text.cpp>
