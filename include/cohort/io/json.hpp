// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json_value.hpp>
#include <string_view>

namespace cohort {

/// What a hostile text may cost: memory is at most about 100 bytes a value and 2 bytes a byte.
struct json_limits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_values = 1'000'000;
  int max_depth = 64;  // of arrays and objects inside each other; at most 1000
};

/// Reads one JSON text (RFC 8259), strictly: no byte order mark, comment, trailing comma or repeated field.
///
/// Errors    data_error with `name`, line, column (in characters) and path; nothing is read past a limit.
/// Exact     numbers are rounded to nearest; one too large for a double is refused, one too small is zero.
json_document parse_json(std::string_view text, std::string_view name = "JSON text", json_limits limits = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/json.ipp>
#endif
