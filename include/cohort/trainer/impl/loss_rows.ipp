// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/trainer/detail/loss_rows.hpp>
#include <cstddef>
#include <cstring>

namespace cohort::detail {

COHORT_CORE_INLINE shape loss_rows::of_output(shape const& output) {
  return output.rank == 2 ? shape{output[1]} : output;
}

COHORT_CORE_INLINE tensor_description loss_rows::of_target(shape const& output, tensor_description target) {
  if (output.rank == 2) target.example = target.example.rank == 2 ? target.example.example() : shape();
  return target;
}

COHORT_CORE_INLINE void loss_rows::select(graph_view net, int loss, tensor_view outputs, tensor_view targets,
                                          batch_view const& from) {
  outputs_ = outputs;
  targets_ = targets;
  if (net[loss].output.rank == 2) {
    for (tensor_view* const one : {&outputs_, &targets_})
      one->dims = one->dims.example().example().batched(one->dims[0] * one->dims[1]);
    if (net.input_mask(loss) >= 0)
      keep(mask_of(net, net.input_mask(loss), from.inputs, from.masks, mask_memory_));
  }
  target_spec const wanted = net.target(loss);
  if (!wanted.ignores() || targets_.type != element_type::i32) return;
  label_memory_.clear();
  for (std::int32_t const label : targets_.as<std::int32_t>())
    label_memory_.push_back(wanted.is_ignored(label) ? 0 : 1);
  keep({label_memory_.data(), shape(targets_.dims[0])});
}

/// Keeps the rows whose element of `mask` is not 0; all rows if the mask has no data.
COHORT_CORE_INLINE void loss_rows::keep(tensor_view mask) {
  if (!mask.data) return;
  outputs_ = existing(outputs_, mask, output_memory_);
  targets_ = existing(targets_, mask, target_memory_);
}

/// Copies the unmasked rows to `memory`, which may already hold the rows.
COHORT_CORE_INLINE tensor_view loss_rows::existing(tensor_view rows, tensor_view mask,
                                                   reusable_buffer& memory) const {
  std::size_t const width = static_cast<std::size_t>(rows.dims.example().elements()) * bytes_of(rows.type);
  if (rows.data != memory.data()) memory.resize(rows.bytes());
  std::byte* to = memory.data();
  int count = 0;
  for (std::uint8_t const exists : mask.as<std::uint8_t>()) {
    if (exists != 0) {
      std::memmove(to, rows.data, width);
      to += width;
      ++count;
    }
    rows.data += width;
  }
  return {memory.data(), rows.type, rows.dims.example().batched(count)};
}

}  // namespace cohort::detail
