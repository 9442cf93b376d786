// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/preflight_report.hpp>

namespace cohort {

/// Checks hosts and network before training: equal versions and settings, clocks, free memory, disk and
/// /dev/shm. Also sends messages in both directions between every two ranks, and measures latency and
/// bandwidth.
///
/// Order     collective.
/// Moves     per rank, to each other rank: a message of `probe` bytes and 13 small messages, in P − 1 rounds
///           of disjoint pairs (P rounds if P is odd). The pairs of a round share the network.
/// Errors    communicator_error, on all ranks, if two ranks cannot exchange messages within the deadline.
preflight_report preflight(communicator& world, preflight_settings const& what = {});

}  // namespace cohort
