// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/training/run_memory.hpp>
#include <cohort/training/settings.hpp>
#include <cstddef>
#include <span>
#include <string>

namespace cohort::detail {

struct training_state;

/// The memory that a fit will hold on this rank. See training::memory_of.
run_memory memory_of_fit(training_state& run, dataset const& data, fit_settings const& how);

/// The memory that a fit will hold on one rank.
struct rank_memory {
  std::string host;
  std::size_t bytes = 0;
  std::string parts;  ///< the kinds of memory and their total, as one line
};

/// Formats the memory of all ranks: the parts and the number of the rank with the most memory, and the sums
/// of the (at most 8) hosts with the most memory. For a single rank, only the parts.
///
/// Before    ranks is not empty.
std::string text_of(std::span<rank_memory const> ranks);

/// Logs the memory of a fit with this plan over all ranks, and the layers that the plan recomputes. Logs
/// nothing if the previous log was for the same batch and number of micro-batches.
///
/// Order     collective.
/// Moves     one allgatherv of about 300 bytes per rank for each new batch or number of micro-batches.
void log_memory(training_state& run, plan const& made, dataset const& data, fit_settings const& how);

}  // namespace cohort::detail
