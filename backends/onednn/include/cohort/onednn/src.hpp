// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component onednn. In a program that is built without CMake, exactly one source
// includes this file. Its parts can also be compiled separately, and in parallel.
#include <cohort/onednn/impl/onednn.cpp>
#include <cohort/onednn/impl/onednn_plans.cpp>
