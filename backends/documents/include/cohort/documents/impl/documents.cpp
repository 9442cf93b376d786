// SPDX-License-Identifier: Apache-2.0
#include <cohort/documents/detail/implementation.hpp>
#include <cohort/documents/impl/checks.ipp>
#include <cohort/documents/impl/data.ipp>
#include <cohort/documents/impl/monitors.ipp>
#include <cohort/documents/impl/networks.ipp>
#include <cohort/documents/impl/outputs.ipp>
#include <cohort/documents/impl/records.ipp>
#include <cohort/documents/impl/remote.ipp>
#include <cohort/documents/impl/reports.ipp>
#include <cohort/documents/impl/run.ipp>
#include <cohort/documents/impl/settings.ipp>
#include <cohort/documents/impl/shared_encoder.ipp>
#include <cohort/documents/impl/weights.ipp>

COHORT_IS_IMPLEMENTATION(cohort_documents_src_hpp)
