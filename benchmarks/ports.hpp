// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/backend_port.hpp>
#include <cohort/trainer/settings.hpp>
#include <memory>
#include <string_view>

namespace benchmarks {

using port = cohort::detail::backend_port (*)(cohort::graph_view, cohort::training_settings const&);

/// `port_to` of a backend, compiled once for all programs: onednn, onednn_bf16; where the component is on cudnn, cudnn_tf32 and
/// cudnn_bf16.
///
/// Errors    setting_error for another name.
port port_to(std::string_view backend);

/// cohort::tune for any of them, compiled once too.
std::shared_ptr<cohort::run_tuning> tuning_of_any(int batch);

}  // namespace benchmarks
