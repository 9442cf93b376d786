// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace cohort::detail {

/// Returns whether a file that begins with these bytes is compressed by gzip.
///
/// Source    RFC 1952, 2.3.1.
inline bool has_gzip_magic(std::string_view begin) { return begin.starts_with("\x1f\x8b"); }

}  // namespace cohort::detail
