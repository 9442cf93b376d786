// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of the component configuration. A program that is built without CMake includes this file
// in one of its sources. The parts can also be compiled separately, and in parallel.
#include <cohort/configuration/impl/configuration.cpp>
