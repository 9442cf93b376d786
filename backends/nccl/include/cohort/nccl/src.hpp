// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component nccl. In a program that is built without CMake, exactly one source includes
// this file.
#include <cohort/nccl/impl/nccl.cpp>
