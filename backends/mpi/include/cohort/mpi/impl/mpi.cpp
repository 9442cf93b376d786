// SPDX-License-Identifier: Apache-2.0
#include <cohort/mpi/detail/implementation.hpp>
#include <cohort/mpi/impl/call.ipp>
#include <cohort/mpi/impl/control.ipp>
#include <cohort/mpi/impl/extent.ipp>
#include <cohort/mpi/impl/finalize_check.ipp>
#include <cohort/mpi/impl/launch.ipp>
#include <cohort/mpi/impl/mpi.ipp>
#include <cohort/mpi/impl/roll_call.ipp>
#include <cohort/mpi/impl/transport.ipp>
#include <cohort/mpi/impl/watchdog.ipp>

COHORT_IS_IMPLEMENTATION(cohort_mpi_src_hpp)
