// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/run_document.hpp>

namespace cohort::detail {

/// Returns whether a document reads remote files.
bool reads_remote_files(run_document run);

}  // namespace cohort::detail
