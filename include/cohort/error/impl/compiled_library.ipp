// SPDX-License-Identifier: Apache-2.0
#pragma once
// Defines the object that programs built against the compiled library refer to. No header includes this file.
#include <cohort/detail/build_check.hpp>

namespace cohort::detail {

template <int major, int minor, int patch>
char const compiled_library<major, minor, patch>::has_this_version = 1;

template struct compiled_library<version_part(0), version_part(1), version_part(2)>;

}  // namespace cohort::detail
