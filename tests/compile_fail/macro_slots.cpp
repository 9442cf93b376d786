// SPDX-License-Identifier: Apache-2.0
// expect: the macro `slots` is defined
#ifdef MUST_FAIL
#define slots
#else
// The same program without the macro.
#endif
#include <cohort/checkpoint/safetensors.hpp>

int main() {}
