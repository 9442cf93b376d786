// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plans and parameter stores of this component's backends in the compiled library.
// No header includes this file.
#include <cohort/cudnn.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<cudnn>;
template class parameter_store<cudnn_tf32>;
template class parameter_store<cudnn_bf16>;
template std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<cudnn>>, graph_view,
                                               plan_settings const&);
template detail::backend_handle detail::make_backend_handle<cudnn>(graph_view, training_settings const&);
template detail::backend_handle detail::calibrated_backend_handle<cudnn>(graph_view, training_settings&);
template std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<cudnn_tf32>>, graph_view,
                                               plan_settings const&);
template detail::backend_handle detail::make_backend_handle<cudnn_tf32>(graph_view, training_settings const&);
template detail::backend_handle detail::calibrated_backend_handle<cudnn_tf32>(graph_view, training_settings&);
template std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<cudnn_bf16>>, graph_view,
                                               plan_settings const&);
template detail::backend_handle detail::make_backend_handle<cudnn_bf16>(graph_view, training_settings const&);
template detail::backend_handle detail::calibrated_backend_handle<cudnn_bf16>(graph_view, training_settings&);

}  // namespace cohort
