// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component cudnn. In a program that is built without CMake, exactly one source
// includes this file. The included sources can also be compiled separately, in parallel.
#include <cohort/cudnn/impl/cudnn.cpp>
#include <cohort/cudnn/impl/cudnn_plans.cpp>
