// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/detail/backend_handle.hpp>
#include <cohort/training/settings.hpp>
#include <memory>
#include <string_view>

namespace benchmarks {

using handle_maker = cohort::detail::backend_handle (*)(cohort::graph_view, cohort::training_settings const&);

/// Returns `make_backend_handle` of a backend: onednn or onednn_bf16; with the component cudnn also cudnn,
/// cudnn_tf32 or cudnn_bf16. Compiled once for all programs.
///
/// Errors    setting_error for any other name.
handle_maker make_backend_handle(std::string_view backend);

/// cohort::tune for each of these backends, compiled once for all programs.
std::shared_ptr<cohort::run_autotuner> autotuner_of_any(int batch);

}  // namespace benchmarks
