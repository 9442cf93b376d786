// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/transform_pipeline.hpp>
#include <string_view>

namespace cohort {

/// Imports a TransformProcess of DataVec from its JSON text, as returned by toJson().
///
///     transform_pipeline const how = import_transform_process(io::read_text("process.json"));
///
/// Before    the text may be untrusted.
/// After     the schema has the columns of the initial schema. Columns of a CategoricalToOneHotTransform are
///           named "column=value" (DataVec: "column[value]").
/// Errors    data_error naming the step, for a malformed text, or for a step or type of column without an
///           exact equivalent: docs/deeplearning4j.md lists them. Nothing is approximated.
/// Exact     integers are computed as f64: the values are equal up to 2^53.
/// Source    transform, filter, condition and sequence of DataVec 0.9 to 1.0.0-M2.
transform_pipeline import_transform_process(std::string_view json,
                                            std::string_view name = "TransformProcess");

}  // namespace cohort
