// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// Ends the process without what runs at exit, which may wait for ranks that do not come. What was printed to the
/// standard output comes out, unless a thread holds that stream; no other stream is touched: who reads one holds it.
[[noreturn, gnu::cold]] void exit_at_once(int status);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/exit_at_once.ipp>
#endif
