// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <memory>

namespace cohort {

/// Creates a communicator of all ranks of a transport. All relatives share the transport; the last relative
/// destroys the transport.
///
/// Errors    setting_error for a deadline out of range.
std::unique_ptr<communicator> make_communicator(std::unique_ptr<detail::transport> over,
                                                communicator_settings settings = {});

}  // namespace cohort
