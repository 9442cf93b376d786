// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled library's plans and parameters of the reference backends. No header includes this file.
#include <cohort/backend/reference.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<reference<float>>;
template class parameter_store<reference<double>>;
template std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<reference<float>>>, graph_view,
                                               plan_settings const&);
template std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<reference<double>>>,
                                               graph_view, plan_settings const&);
template detail::backend_handle detail::make_backend_handle<reference<float>>(graph_view,
                                                                              training_settings const&);
template detail::backend_handle detail::make_backend_handle<reference<double>>(graph_view,
                                                                               training_settings const&);
template detail::backend_handle detail::calibrated_backend_handle<reference<float>>(graph_view,
                                                                                    training_settings&);
template detail::backend_handle detail::calibrated_backend_handle<reference<double>>(graph_view,
                                                                                     training_settings&);

}  // namespace cohort
