// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/batch.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort {

double detail::total_weight(std::span<float const> weights, int count) {
  double sum = 0;
  for (float const one : weights) sum += static_cast<double>(one);
  return weights.empty() ? count : sum;
}

double batch::weight() const { return detail::total_weight(weights, count); }

named_tensor const& batch::tensor_at(std::vector<named_tensor> const& tensors, std::size_t which,
                                     char const* kind) {
  if (which >= tensors.size())
    throw shape_error({.what = {"the batch has no such ", kind},
                       .where = {kind, ' ', which},
                       .expected = {"at least ", which + 1, ' ', kind, 's'},
                       .got = {tensors.size()}});
  return tensors[which];
}

}  // namespace cohort
