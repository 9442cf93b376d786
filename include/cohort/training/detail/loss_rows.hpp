// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/batch.hpp>
#include <cohort/data/batch_view.hpp>
#include <cohort/data/description.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohort::detail {

/// Rows of a loss's outputs and targets for evaluators: one row per example or, if the output of the loss is
/// a sequence T×C, one per unmasked step. Rows whose target the loss ignores, and examples of weight 0 (such
/// as damaged records that are skipped), are omitted.
class loss_rows {
 public:
  /// Shape of a row of a loss's output, and the description of its target.
  static shape of_output(shape const& output);
  static tensor_description of_target(shape const& output, tensor_description target);

  /// Selects the rows of a loss.
  ///
  /// `from`      the examples of the outputs and targets
  /// Before      outputs, targets and `from` must outlive the rows; the next call of select overwrites the
  ///             rows.
  void select(graph_view net, int loss, tensor_view outputs, tensor_view targets, batch_view const& from);

  tensor_view outputs() const { return outputs_; }
  tensor_view targets() const { return targets_; }

 private:
  tensor_view copy_counted(tensor_view rows, reusable_buffer& memory) const;

  tensor_view outputs_{}, targets_{};
  reusable_buffer output_memory_{}, target_memory_{};
  std::vector<std::uint8_t> mask_memory_{}, counts_{};
};

inline bool has_weight_zero(std::span<float const> weights) {
  return std::find(weights.begin(), weights.end(), 0.0F) != weights.end();
}

/// Returns the index of the first row's example. Evaluators use this index in their errors. Returns nullopt
/// if rows are steps, or if rows may be omitted.
inline std::optional<std::int64_t> number_of_row(graph_view net, int loss, batch const& from,
                                                 std::int64_t first) {
  bool const omits = net.target(loss).ignores() || has_weight_zero(from.weights);
  if (net[loss].output.rank == 2 || omits) return std::nullopt;
  return from.first_index + first;
}

}  // namespace cohort::detail
