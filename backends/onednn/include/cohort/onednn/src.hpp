// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component onednn. In a program that is built without CMake, exactly one source
// includes this file. The included sources can also be compiled separately, in parallel.
#include <cohort/onednn/impl/onednn.cpp>
#include <cohort/onednn/impl/onednn_plans.cpp>
