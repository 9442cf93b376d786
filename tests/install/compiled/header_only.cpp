// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/strategy/detail/process_group.hpp>
#include <string>

#include "training.hpp"

#ifdef COHORT_CORE_COMPILED
#error this source is compiled header-only
#endif

std::string checksum_header_only() { return checksum_after_training<cohort::reference<float>>(cohort::allreduce{}); }

std::uint64_t process_header_only() { return cohort::detail::random_process_id(); }
