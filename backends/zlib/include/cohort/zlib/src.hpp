// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component zlib. In a program that is built without CMake, exactly one source includes
// this file. Its parts can also be compiled separately, and in parallel.
#include <cohort/zlib/impl/zlib.cpp>
