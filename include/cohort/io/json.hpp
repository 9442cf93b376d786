// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json_value.hpp>
#include <string_view>

namespace cohort::io {

/// Limits for untrusted text. Parsing needs at most about 250 bytes per value plus 2 bytes per byte of text.
struct json_limits {
  std::size_t max_bytes = std::size_t{64} << 20;  ///< size of the text
  std::size_t max_values = 1'000'000;             ///< number of values, including arrays and objects
  int max_depth = 64;                             ///< levels of nested arrays and objects; 1 to 1000
};

/// Parses one JSON text (RFC 8259). Rejects byte order marks, comments, trailing commas and duplicate fields.
///
/// Errors    data_error with `name`, line, column (in characters) and path, also if a limit is exceeded.
///           setting_error if max_depth is out of range.
/// Exact     numbers are rounded to the nearest double. Overflow is an error; underflow gives zero.
json_document parse_json(std::string_view text, std::string_view name = "JSON text", json_limits limits = {});

}  // namespace cohort::io
