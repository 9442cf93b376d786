// SPDX-License-Identifier: Apache-2.0
#pragma once
// Defines the object that programs built against the compiled library refer to. No header includes this file.
#include <cohort/detail/compiled_library.hpp>

namespace cohort::detail {

template <int major, int minor, int patch, bool cxx11_strings, bool debug_containers>
char const
    compiled_library<major, minor, patch, cxx11_strings, debug_containers>::has_same_version_and_settings = 1;

template struct compiled_library<version_part(0), version_part(1), version_part(2), has_cxx11_strings,
                                 has_debug_containers>;

}  // namespace cohort::detail
