// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/training/detail/loss_rows.hpp>
#include <cstddef>
#include <cstring>

namespace cohort::detail {

shape loss_rows::of_output(shape const& output) { return output.rank == 2 ? shape{output[1]} : output; }

tensor_description loss_rows::of_target(shape const& output, tensor_description target) {
  if (output.rank == 2) target.example = target.example.rank == 2 ? target.example.example() : shape();
  return target;
}

void loss_rows::select(graph_view net, int loss, tensor_view outputs, tensor_view targets,
                       batch_view const& from) {
  outputs_ = outputs;
  targets_ = targets;
  tensor_view mask{};
  if (net[loss].output.rank == 2) {
    for (tensor_view* const one : {&outputs_, &targets_})
      one->dims = one->dims.example().example().batched(one->dims[0] * one->dims[1]);
    if (net.input_mask(loss) >= 0)
      mask = mask_of(net, net.input_mask(loss), from.inputs, from.masks, mask_memory_);
  }
  target_spec const wanted = net.target(loss);
  bool const ignores = wanted.ignores() && targets_.type == element_type::i32;
  if (!mask.data && !ignores && !has_weight_zero(from.weights)) return;
  auto const rows = static_cast<std::size_t>(outputs_.dims[0]);
  counts_.assign(rows, 1);
  if (mask.data) std::ranges::copy(mask.as<std::uint8_t>(), counts_.begin());
  if (ignores)
    for (std::size_t row = 0; row < rows; ++row)
      if (wanted.is_ignored(targets_.as<std::int32_t>()[row])) counts_[row] = 0;
  std::size_t const steps = from.weights.empty() ? 0 : rows / from.weights.size();
  for (std::size_t n = 0; n < from.weights.size(); ++n)
    if (from.weights[n] == 0) std::fill_n(counts_.begin() + static_cast<std::ptrdiff_t>(n * steps), steps, 0);
  outputs_ = copy_counted(outputs_, output_memory_);
  targets_ = copy_counted(targets_, target_memory_);
}

/// Copies all rows that are not omitted to `memory`.
tensor_view loss_rows::copy_counted(tensor_view rows, reusable_buffer& memory) const {
  std::size_t const width = static_cast<std::size_t>(rows.dims.example().elements()) * bytes_of(rows.type);
  memory.resize(rows.bytes());
  std::byte* to = memory.data();
  int count = 0;
  for (std::uint8_t const counts : counts_) {
    if (counts != 0) {
      std::memcpy(to, rows.data, width);
      to += width;
      ++count;
    }
    rows.data += width;
  }
  return {memory.data(), rows.type, rows.dims.example().batched(count)};
}

}  // namespace cohort::detail
