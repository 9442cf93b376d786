// SPDX-License-Identifier: Apache-2.0
#include <cohort/interchange/detail/implementation.hpp>
#include <cohort/interchange/impl/deeplearning4j_fields.ipp>
#include <cohort/interchange/impl/deeplearning4j_layers.ipp>
#include <cohort/interchange/impl/deeplearning4j_models.ipp>
#include <cohort/interchange/impl/deeplearning4j_recurrent.ipp>
#include <cohort/interchange/impl/deeplearning4j_training.ipp>
#include <cohort/interchange/impl/deeplearning4j_windows.ipp>
#include <cohort/interchange/impl/export_onnx.ipp>
#include <cohort/interchange/impl/import_deeplearning4j.ipp>
#include <cohort/interchange/impl/import_onnx.ipp>
#include <cohort/interchange/impl/imported_model.ipp>
#include <cohort/interchange/impl/key_runs.ipp>
#include <cohort/interchange/impl/merge_predictions.ipp>
#include <cohort/interchange/impl/name_map.ipp>
#include <cohort/interchange/impl/nd4j_reader.ipp>
#include <cohort/interchange/impl/onnx_exporter.ipp>
#include <cohort/interchange/impl/onnx_import_activations.ipp>
#include <cohort/interchange/impl/onnx_import_constants.ipp>
#include <cohort/interchange/impl/onnx_import_masks.ipp>
#include <cohort/interchange/impl/onnx_import_patterns.ipp>
#include <cohort/interchange/impl/onnx_import_products.ipp>
#include <cohort/interchange/impl/onnx_import_sequences.ipp>
#include <cohort/interchange/impl/onnx_import_shapes.ipp>
#include <cohort/interchange/impl/onnx_import_values.ipp>
#include <cohort/interchange/impl/onnx_import_windows.ipp>
#include <cohort/interchange/impl/onnx_importer.ipp>
#include <cohort/interchange/impl/onnx_model.ipp>
#include <cohort/interchange/impl/prediction_layout.ipp>
#include <cohort/interchange/impl/prediction_part.ipp>
#include <cohort/interchange/impl/tensor_operation.ipp>
#include <cohort/interchange/impl/write_predictions.ipp>

COHORT_IS_IMPLEMENTATION(cohort_interchange_src_hpp)
