// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/rescale.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/view.hpp>
#include <span>
#include <vector>

namespace cohort::detail {

/// Rescaled copies of those inputs or targets of a batch that have maps (channel_scaling). Parts without maps
/// are not copied.
///
/// Before    the object must outlive the copies.
class rescaled_parts {
 public:
  std::vector<tensor_view> of(std::span<tensor_view const> parts,
                              std::vector<std::vector<channel_scaling>> const& maps);
  /// Maps one part back to its original units.
  tensor_view back(tensor_view part, std::span<channel_scaling const> maps);
  /// Discards all copies and keeps their memory.
  void clear() { used_ = 0; }

 private:
  tensor_view copy(tensor_view part, std::span<channel_scaling const> maps, direction which);

  std::vector<reusable_buffer> memory_;
  std::size_t used_ = 0;
};

}  // namespace cohort::detail
