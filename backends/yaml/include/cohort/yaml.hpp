// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json.hpp>
#include <cohort/yaml/detail/implementation.hpp>
#include <string_view>

namespace cohort::io {

/// Parses one YAML document as JSON values. Errors name the line and column.
///
/// Plain scalars have the types of YAML 1.2's core schema:
///     null, Null, NULL, ~, (empty)         null
///     true, True, TRUE, false, …           booleans. yes, no, on and off are texts
///     12, -3, 0o17, 0x1f                   integers
///     0.5, .5, 5e-4                        numbers
///     anything else, or quoted             a text
/// A key is its literal text: `1: a` has the key "1".
///
/// Before    the text is UTF-8 and may be untrusted; `limits` bounds its bytes, values and levels.
/// Errors    data_error with `name`, line and column for a text that is not YAML; a key that is null, a list,
///           an object or repeated; an anchor, alias or tag; a second document; a number that is not finite;
///           or an exceeded limit. setting_error if max_depth is out of range.
/// Exact     as parse_json.
json_document parse_yaml(std::string_view text, std::string_view name = "YAML text",
                         json_limits limits = {.max_bytes = std::size_t{4} << 20});

}  // namespace cohort::io
