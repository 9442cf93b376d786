// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace cohort {

/// The library's version; the build system reads it from this line.
inline constexpr std::string_view library_version = "0.1.0";

}  // namespace cohort
