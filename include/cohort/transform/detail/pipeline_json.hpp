// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/detail/pipeline_fields.hpp>
#include <string>
#include <string_view>

/// Parts of the JSON of pipelines.
namespace cohort::detail {

/// Parses the text of a pipeline, which may have any number of columns and values.
///
/// Errors    as io::parse_json.
io::json_document parse_pipeline(std::string_view text, std::string_view name);

/// Visits the fields of a pipeline's file. The file of a fitted pipeline has further fields after these.
template <class Visitor>
void file_fields(Visitor& v, transform_pipeline& how) {
  std::string for_editors;
  int version = transform_pipeline::version;
  v.field("$schema", for_editors, ignored_codec{});
  v.field("version", version, version_codec{version});
  field_table(v, how);
}

}  // namespace cohort::detail
