// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/detail/batch_moments.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort {

/// Means and variances of one step's batch, from which training updates the running statistics. Each worker
/// has one part.
///
/// Kernels write the mean b and the biased variance s of their part of the batch to the gradient slots of
/// running_mean and running_variance. For each micro-batch, a context merges b and s into its worker's part
/// of this class. The weight a of a micro-batch is the sum of its examples' weights; for values with a mask,
/// each weight counts once for each unmasked step. The merge of parts 1 and 2 is
///
///     a = a₁ + a₂      b = b₁ + a₂/a·(b₂ − b₁)      s = a₁/a·s₁ + a₂/a·s₂ + a₁·a₂/a²·(b₂ − b₁)²
///
/// With momentum k, an update sets the running mean m to m + (1 − k)·(b − m) and the running variance v to
/// k·v + (1 − k)·s.
///
/// Shapes    channels of all running statistics in the order of the parameters; none for frozen layers.
/// Order     clear each worker's part, then run the worker's backward calls. When all workers are done:
///           merge_workers, exchange with other ranks (read, write), follow.
/// Exact     merged in f64, with micro-batches, workers and ranks in their order. Variances are never
///           negative. A channel without examples of a positive weight keeps the bits of its running
///           statistics.
/// Source    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample
///           variances, 1979.
class batch_statistics {
 public:
  using moments = detail::batch_moments;

  /// Range of the channels of one running_mean tensor.
  struct layer {
    int parameter;  ///< index of the running_mean; that of the running_variance is one higher
    std::size_t first, channels;
  };

  /// Before    all layers to freeze have been frozen (parameter_set::freeze).
  batch_statistics(parameter_set const& parameters, std::size_t workers);

  std::span<layer const> layers() const;
  std::size_t channels() const { return channels_; }
  /// A worker's part, in the memory space of the arenas; null if no layer has running statistics.
  moments* part(std::size_t worker) const;

  /// Removes all examples from a worker's part.
  void clear(std::size_t worker);
  /// Removes all examples from all parts.
  void clear();
  /// Merges all parts into the first, and clears the others.
  void merge_workers();

  /// Copies the first part to host memory, and back.
  void read(std::span<moments> to) const;
  void write(std::span<moments const> from);

  /// Updates the running statistics among the parameters of `which` from the first part.  Before: no kernel
  /// that uses these running statistics is running.
  void follow(parameter_set& parameters, parameter_range const& which = {}) const;

 private:
  arena_passes* passes_;
  element_type type_;
  std::vector<layer> layers_;
  std::size_t channels_ = 0;
  std::vector<buffer> parts_;
};

namespace detail {

/// Returns the channel ranges of the running_mean tensors that training updates.
std::vector<batch_statistics::layer> statistics_layers(std::span<parameter const> table);

}  // namespace detail

}  // namespace cohort
