// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/io/json_value.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/transform/transform_pipeline.hpp>
#include <span>
#include <string_view>
#include <variant>

/// Parts of the JSON of pipelines.
namespace cohort::detail {

/// Names of the alternatives of transform_step, in their order.
inline constexpr std::array<std::string_view, 12> step_names{
    "filter", "derive", "categories", "one_hot", "index",        "normalise",
    "impute", "drop",   "keep",       "rename",  "group_by_key", "windows"};
static_assert(step_names.size() == std::variant_size_v<transform_step>);

/// Parses the text of a pipeline, which may have any number of columns and values.
///
/// Errors    as io::parse_json.
io::json_document parse_pipeline(std::string_view text, std::string_view name);

/// Throws data_error for a field that is none of `known`, with the nearest known one.
void expect_fields(io::json_value object, std::span<std::string_view const> known);

/// Reads the version of a document.  Errors: data_error for another one.
void expect_version(io::json_value root, int version);

/// Writes the fields `schema` and `steps` of the current object.
void write_pipeline(io::json_writer& out, transform_pipeline const& how);
/// Reads these fields.
transform_pipeline read_pipeline(io::json_value object);
table_schema read_schema(io::json_value list);
std::vector<transform_step> read_steps(io::json_value list);
/// Writes the JSON Schemas of these fields.
void write_pipeline_schema(io::json_writer& out);

/// A list of texts.
void write_texts(io::json_writer& out, std::string_view name, std::span<std::string const> texts);
std::vector<std::string> read_texts(io::json_value list);
io::json_value::range items_of_list(io::json_value list);

}  // namespace cohort::detail
