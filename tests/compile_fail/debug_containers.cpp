// SPDX-License-Identifier: Apache-2.0
// expect: expected the release containers, got _GLIBCXX_DEBUG
#ifdef MUST_FAIL
#define _GLIBCXX_DEBUG
#else
// The same program without the macro.
#endif
#include <cohort/checkpoint/safetensors.hpp>

int main() {}
