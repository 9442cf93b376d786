// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/impl/attention_host.ipp>
#include <cohort/layer/impl/attention_program.ipp>
#include <cohort/layer/impl/attention_simd.ipp>
#include <cohort/layer/impl/built_in_kinds.ipp>
#include <cohort/layer/impl/cell_functions.ipp>
#include <cohort/layer/impl/host_kernel.ipp>
#include <cohort/layer/impl/initialiser.ipp>
#include <cohort/layer/impl/initialiser_fields.ipp>
#include <cohort/layer/impl/layer_states.ipp>
#include <cohort/layer/impl/recurrent_core.ipp>
#include <cohort/layer/impl/recurrent_host.ipp>
#include <cohort/layer/impl/recurrent_program.ipp>
#include <cohort/layer/impl/recurrent_schedule.ipp>
#include <cohort/layer/impl/softmax_row.ipp>
