// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of the component audio. A program that is built without CMake includes this file in one
// of its sources. To compile the sources in parallel instead, compile the files that `pkg-config
// --variable=sources` prints (docs/install.md).
#include <cohort/audio/impl/audio.cpp>
