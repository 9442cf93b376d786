// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component mpi. In a program that is built without CMake, exactly one source includes
// this file.
#include <cohort/mpi/impl/mpi.cpp>
