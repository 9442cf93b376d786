// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/impl/bf16_simd.ipp>
#include <cohort/execution/impl/flat_simd.ipp>
#include <cohort/execution/impl/isa.ipp>
#include <cohort/execution/impl/processor_name.ipp>
#include <cohort/execution/impl/sink.ipp>
#include <cohort/execution/impl/team.ipp>
#include <cohort/execution/impl/usable_processors.ipp>
