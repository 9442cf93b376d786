// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/batch_view.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <utility>

namespace cohort {

batch_view::batch_view(tensor_view input, tensor_view target, std::span<float const> weights)
    : batch_view(std::vector{input}, std::vector{target}, weights) {}

batch_view::batch_view(std::vector<tensor_view> all_inputs, std::vector<tensor_view> all_targets,
                       std::span<float const> all_weights)
    : inputs(std::move(all_inputs)), targets(std::move(all_targets)), weights(all_weights) {
  if (!inputs.empty() && inputs[0].dims.rank > 0) count = inputs[0].dims[0];
}

void batch_view::refer_to(batch const& from) {
  inputs.clear();
  targets.clear();
  masks.clear();
  for (named_tensor const& one : from.inputs) inputs.push_back(one.view(from.count));
  for (named_tensor const& one : from.targets) targets.push_back(one.view(from.count));
  for (named_tensor const& one : from.masks) masks.push_back(one.view(from.count));
  weights = from.weights;
  indices = from.indices;
  count = from.count;
  global_count = from.global_count;
  ranks = from.ranks;
  even = from.even;
}

void batch_view::refer_to(batch_view const& from, int first, int rows) {
  auto const refer = [&](std::vector<tensor_view>& to, std::vector<tensor_view> const& all) {
    to.clear();
    for (tensor_view const& one : all) to.push_back(one.rows(first, rows));
  };
  auto const part = [&](auto all) {
    return all.empty() ? all : all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
  };
  refer(inputs, from.inputs);
  refer(targets, from.targets);
  refer(masks, from.masks);
  weights = part(from.weights);
  indices = part(from.indices);
  count = rows;
  global_count = ranks = 0;
  even = false;
}

double batch_view::weight() const { return detail::total_weight(weights, count); }

batch_view batch_view::rows(int first, int rows) const {
  if (first < 0 || rows < 0 || rows > count - first)
    throw setting_error({.what = "the batch does not have these rows",
                         .where = "batch_view::rows",
                         .expected = {"rows of the batch's ", count, " examples"},
                         .got = {rows, " rows from row ", first, " on"}});
  batch_view part;
  part.refer_to(*this, first, rows);
  return part;
}

}  // namespace cohort
