// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace cohort::detail {

enum class file_format { unknown, jpeg, png, bmp, gif, tiff, webp };

file_format format_of(std::string_view file);

/// Returns what to do with a file that cannot be decoded, given its first bytes; empty for an unknown kind. A
/// TIFF or WebP file needs a library that this program was built without.
std::string advice_for(std::string_view file);

}  // namespace cohort::detail
