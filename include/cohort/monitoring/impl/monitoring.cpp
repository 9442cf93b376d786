// SPDX-License-Identifier: Apache-2.0
#include <cohort/monitoring/detail/implementation.hpp>
#include <cohort/monitoring/impl/chrome_trace.ipp>
#include <cohort/monitoring/impl/dense_parameters.ipp>
#include <cohort/monitoring/impl/forecast.ipp>
#include <cohort/monitoring/impl/html_report_listener.ipp>
#include <cohort/monitoring/impl/report_curve.ipp>
#include <cohort/monitoring/impl/tensorboard_listener.ipp>
#include <cohort/monitoring/impl/timeline.ipp>

COHORT_IS_IMPLEMENTATION(cohort_monitoring_src_hpp)
