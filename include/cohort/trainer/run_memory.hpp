// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/plan.hpp>
#include <cstddef>
#include <string>

namespace cohort {

/// What a run of training holds on this rank, known before it is allocated.
///
/// Units     bytes. `gradients`, `activations`, `accumulation` and `staging` are of all workers together; `accumulation` only where a
///           batch is taken in pieces. `staging`: a batch where kernels can read it, if its element type is not the backend's, or
///           arenas lie on a device. `batches`: the one in use and those made ahead. `exchange`: what the strategy says it holds.
/// Exact     within 5 % of what Cohort holds at most. Not in it: what no tensor is (kernels' code and descriptors, stacks of
///           threads: 15 to 26 MB on oneDNN), the data set, listeners, plans of evaluation and prediction, messages of
///           sharing, and what memory is rounded up to, one page of 2 MiB an arena at most.
struct run_memory {
  std::size_t parameters = 0;
  std::size_t updater_state = 0;
  std::size_t working_copies = 0;
  std::size_t gradients = 0;
  std::size_t activations = 0;
  std::size_t accumulation = 0;
  std::size_t staging = 0;
  std::size_t batches = 0;
  std::size_t exchange = 0;

  std::size_t total() const;
};

/// Of `workers` whose largest pieces have this plan.
run_memory memory_of_workers(plan const& made, int workers, bool accumulates);

/// Adds what examples need: `batch` of them in each of `batches`, and the workers' pieces of `piece`.
void add_examples(run_memory& to, data_description const& what, parameter_set const& parameters, int batch,
                  int batches, int workers, int piece);

/// "memory: parameters 0.4 MB, …; together 1.9 MB": a line for the user.
std::string text_of(run_memory const& m, int workers, int pieces);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/run_memory.ipp>
#endif
