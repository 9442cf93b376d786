// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component cudnn. In a program that is built without CMake, exactly one source
// includes this file. Its parts can also be compiled separately, and in parallel.
#include <cohort/cudnn/impl/cudnn.cpp>
#include <cohort/cudnn/impl/cudnn_plans.cpp>
