// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/plan.hpp>
#include <cstddef>
#include <string>

namespace cohort {

/// The memory of a training run on this rank, known before it is allocated.
///
/// Units     bytes. `parameters`: with average_decay, also the copy for predictions. `gradients`,
///           `activations`, `accumulation` and `staging` are sums over all workers. `accumulation`: only with
///           several micro-batches. `staging`: copies of a batch for the kernels, if its element type is not
///           the backend's or the arenas are in device memory. `batches`: the current batch and the
///           prefetched batches. `exchange`: see strategy::bytes.
/// Exact     within 5 % of Cohort's peak for tensors. Not included: kernels' code, descriptors and threads'
///           stacks (15 to 26 MB on oneDNN); the data set; listeners, also the copy of the state that a
///           checkpoint_listener holds; plans for evaluation and prediction;
///           messages of gradient sharing; rounding to pages (at most one page of 2 MiB per arena).
struct run_memory {
  std::size_t parameters = 0;
  std::size_t optimizer_state = 0;
  std::size_t working_copies = 0;
  std::size_t gradients = 0;
  std::size_t activations = 0;
  std::size_t accumulation = 0;
  std::size_t staging = 0;
  std::size_t batches = 0;
  std::size_t exchange = 0;

  /// Total of all kinds.
  std::size_t total() const;
};

/// Memory of `workers` workers; `made` is the plan of their largest micro-batch.
run_memory memory_of_workers(plan const& made, int workers, bool accumulates);

/// Adds the memory of the examples: `batches` batches of `batch` examples, and one micro-batch of
/// `micro_batch` examples per worker.
void add_examples(run_memory& to, data_description const& what, parameter_set const& parameters, int batch,
                  int batches, int workers, int micro_batch);

/// Formats the memory as one line: "memory: parameters 0.4 MB, …; total 1.9 MB".
std::string text_of(run_memory const& m, int workers, int micro_batches);

}  // namespace cohort
