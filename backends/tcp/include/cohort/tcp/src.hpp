// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component tcp. In a program that is built without CMake, exactly one source includes
// this file.
#include <cohort/tcp/impl/tcp.cpp>
