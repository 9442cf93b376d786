// SPDX-License-Identifier: Apache-2.0
#include <cohort/transform/detail/implementation.hpp>
#include <cohort/transform/impl/byte_coding.ipp>
#include <cohort/transform/impl/column_schema.ipp>
#include <cohort/transform/impl/column_statistics.ipp>
#include <cohort/transform/impl/exact_sum.ipp>
#include <cohort/transform/impl/fitted_pipeline.ipp>
#include <cohort/transform/impl/import_transform_process.ipp>
#include <cohort/transform/impl/keep_pipeline.ipp>
#include <cohort/transform/impl/keyed_rows.ipp>
#include <cohort/transform/impl/keyed_sequences.ipp>
#include <cohort/transform/impl/pass_plan.ipp>
#include <cohort/transform/impl/pipeline_json.ipp>
#include <cohort/transform/impl/pipeline_program.ipp>
#include <cohort/transform/impl/pipeline_steps.ipp>
#include <cohort/transform/impl/row_expression.ipp>
#include <cohort/transform/impl/row_frame.ipp>
#include <cohort/transform/impl/table_pieces.ipp>
#include <cohort/transform/impl/time_text.ipp>
#include <cohort/transform/impl/transform_rows.ipp>
#include <cohort/transform/impl/transform_settings.ipp>

COHORT_IS_IMPLEMENTATION(cohort_transform_src_hpp)
