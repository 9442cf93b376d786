// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort::detail {

/// Limits for an untrusted file, the same as for model files.
inline constexpr std::int64_t max_onnx_extent = std::int64_t{1} << 24;
inline constexpr std::int64_t max_onnx_window = (std::int64_t{1} << 15) - 1;
inline constexpr std::int64_t max_onnx_layer_elements = std::int64_t{1} << 30;
inline constexpr std::size_t max_onnx_nodes = 10'000;
/// Largest numbers of elements that are computed at import: of a result, and of all results of a file,
/// because a small file may describe many large ones.
inline constexpr std::int64_t max_onnx_folded = std::int64_t{1} << 22,
                              max_onnx_folded_in_all = 4 * max_onnx_folded;
/// Largest number of products of elements that are computed at import, for all matrices of a file.
inline constexpr std::int64_t max_onnx_products = std::int64_t{1} << 29;
/// Largest numbers of runs of consecutive elements, each of which is a layer: that a node selects, and that
/// all nodes of a file select.
inline constexpr std::size_t max_onnx_runs = 1024, max_onnx_runs_in_all = 16 * max_onnx_runs;

/// Remedies for a refused file: the last part of each message.
namespace onnx_remedy {
inline constexpr std::string_view
    check = "check the file by onnx.checker.check_model, and export the model again",
    replace = "replace this part of the model before the export; docs/onnx.md lists what is imported",
    fold = "export the model with constant parameters, or compute constants by onnxsim",
    extents = "set onnx_import_settings::inputs (cohort import: --input)",
    inference = "export the model in inference mode (PyTorch: model.eval())",
    batch_first = "export the model with the batch as the first axis of each value",
    reduce = "export a smaller model, or divide it into several files",
    dynamic =
        "export the model with a fixed batch or by torch.onnx.export(dynamo=True), or fold its shapes by "
        "onnxsim";
}  // namespace onnx_remedy

}  // namespace cohort::detail
