// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/predictor.hpp>

namespace cohort::detail {

portion portion::of(int count, int largest) {
  int const part = std::max(std::min(count, largest), 1);
  int const batch = static_cast<int>(std::bit_ceil(static_cast<unsigned>(part)));
  if (batch <= largest && (batch - part) * 8 <= batch) return {std::min(count, part), batch};
  int const full = static_cast<int>(std::bit_floor(static_cast<unsigned>(part)));
  return {full, full};
}

std::vector<predictions> predictor::predict(std::span<int const> layers, std::size_t outputs,
                                            std::span<tensor_view const> inputs,
                                            std::span<tensor_view const> masks) {
  int const count = inputs.empty() || inputs[0].dims.rank == 0 ? 0 : inputs[0].dims[0];
  for (tensor_view const& input : inputs)
    if (input.dims.rank == 0 || input.dims[0] != count)
      throw shape_error({.what = "the inputs have different numbers of examples",
                         .expected = {count},
                         .got = to_string(input.dims)});
  std::vector<predictions> made(outputs);
  std::vector<tensor_view> rows(inputs.begin(), inputs.end()), mask_rows(masks.begin(), masks.end());
  threads_scope const threads(backend_, threads_);
  refresh();
  lane_scope const on(*this);
  int first = 0;
  do {
    portion const next = portion::of(count - first, largest_batch);
    std::shared_ptr<plan const> const with = plan_for(next.batch, layers);
    plan_context& run = on.reserved->context_of(*with);
    for (std::size_t i = 0; i < inputs.size(); ++i) rows[i] = inputs[i].rows(first, next.examples);
    for (std::size_t i = 0; i < masks.size(); ++i) mask_rows[i] = masks[i].rows(first, next.examples);
    run.forward({.inputs = rows, .masks = mask_rows});
    for (std::size_t which = 0; which < outputs; ++which) {
      made[which].example = with->outputs()[which];
      auto const size = static_cast<std::size_t>(made[which].example.elements());
      made[which].values.reserve(static_cast<std::size_t>(count) * size);
      append(run.output(static_cast<int>(which)), made[which].values);
    }
    first += next.examples;
  } while (first < count);
  return made;
}

plan_context& predictor::lane::context_of(plan const& with) {
  for (auto const& [of, made] : contexts)
    if (of == &with) return *made;
  return *contexts.emplace_back(&with, with.make_context(nullptr, &memory)).second;
}

predictor::lane_scope::lane_scope(predictor& from) : owner(from) {
  std::lock_guard const lock(owner.mutex_);
  if (!owner.idle_.empty()) {
    reserved = std::move(owner.idle_.back());
    owner.idle_.pop_back();
  } else {
    reserved = std::make_unique<lane>();
  }
}

predictor::lane_scope::~lane_scope() {
  std::lock_guard const lock(owner.mutex_);
  owner.idle_.push_back(std::move(reserved));
}

void predictor::refresh() {
  if (fresh_version_.load() == backend_.parameters->version()) return;
  std::lock_guard const one_at_a_time(making_);
  if (fresh_version_.load() == backend_.parameters->version()) return;
  backend_.parameters->refresh_stale();
  fresh_version_.store(backend_.parameters->version());
}

std::shared_ptr<plan const> predictor::find(int batch, std::span<int const> layers) {
  std::lock_guard const lock(mutex_);
  for (cached_plan const& one : plans_)
    if (one.batch == batch && std::equal(one.layers.begin(), one.layers.end(), layers.begin(), layers.end()))
      return one.made;
  return {};
}

std::shared_ptr<plan const> predictor::plan_for(int batch, std::span<int const> layers) {
  if (auto found = find(batch, layers)) return found;
  std::lock_guard const one_at_a_time(making_);
  if (auto found = find(batch, layers)) return found;
  cached_plan one{batch, {layers.begin(), layers.end()}, {}};
  one.made =
      backend_.make_plan({.batch = batch, .training = false, .max_bytes = max_bytes_, .outputs = one.layers});
  backend_.parameters->refresh_stale();  // updates the working copies of the new plan
  std::lock_guard const lock(mutex_);
  return plans_.emplace_back(std::move(one)).made;
}

}  // namespace cohort::detail
