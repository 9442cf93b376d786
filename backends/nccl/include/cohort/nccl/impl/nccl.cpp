// SPDX-License-Identifier: Apache-2.0
#include <cohort/nccl/detail/implementation.hpp>
#include <cohort/nccl/impl/gpu_sum.ipp>
#include <cohort/nccl/impl/nccl.ipp>
#include <cohort/nccl/impl/nccl_family.ipp>
#include <cohort/nccl/impl/nccl_functions.ipp>
#include <cohort/nccl/impl/nccl_ranks.ipp>

COHORT_IS_IMPLEMENTATION(cohort_nccl_src_hpp)
