// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/detail/document_fields.hpp>
#include <cohort/transform/detail/pipeline_json.hpp>

namespace cohort::detail {

/// Fields of a transform_pipeline, without the version that files of pipelines have.
struct pipeline_codec {
  void read(io::json_value from, transform_pipeline& value) const {
    constexpr std::array<std::string_view, 2> fields{"schema", "steps"};
    expect_fields(from, fields);
    if (auto const given = from.find("schema")) value.schema = read_schema(*given);
    if (auto const given = from.find("steps")) value.steps = read_steps(*given);
  }
  void write(io::json_writer& out, transform_pipeline const& value) const {
    out.begin_object();
    write_pipeline(out, value);
    out.end_object();
  }
  void schema(io::json_writer& out) const {
    write_object_schema(out, [&] { write_pipeline_schema(out); });
  }
};

}  // namespace cohort::detail
