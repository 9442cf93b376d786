// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/detail/bound_context.hpp>
#include <cohort/plan/detail/compiler.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/plan/plan_text.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

template <tensor_backend B>
class backend_plan final : public plan {
 public:
  backend_plan(std::shared_ptr<parameter_store<B>> store, graph_view net, plan_settings const& settings) {
    auto made = std::make_shared<compiled<B>>();
    compiler<B> compile(net, *store, settings);
    made->store = std::move(store);
    made->code = compile.release_program();
    made->rows = compile.release_rows();
    for (int v : compile.lowered().batch_values)
      made->inputs.push_back(compile.lowered().values[static_cast<std::size_t>(v)].dims);
    for (int v : compile.output_values())
      made->outputs.push_back(compile.lowered().values[static_cast<std::size_t>(v)].dims);
    made->batch = settings.batch;
    made->training = settings.training;
    made_ = std::move(made);
  }

  int batch() const override { return made_->batch; }
  bool training() const override { return made_->training; }
  plan_sums const& sums() const override { return made_->code.sums; }
  recomputation_cost recomputed() const override {
    recomputation_cost cost{.bytes_saved = made_->code.bytes_saved};
    double all = 0;
    for (plan_row const& row : made_->rows) {
      all += row.bytes;
      if (!row.recomputed) continue;
      cost.bytes_moved += row.bytes;
      cost.flops += row.flops;
      ++cost.kernels;
    }
    if (all > 0) cost.share_of_bytes = cost.bytes_moved / all;
    return cost;
  }
  std::vector<plan_row> rows() const override { return made_->rows; }
  std::span<shape const> inputs() const override { return made_->inputs; }
  std::span<shape const> outputs() const override { return made_->outputs; }
  plan_memory memory() const override {
    return {.parameters = made_->store->arena_bytes(),
            .gradients = made_->training ? made_->store->arena_bytes() : 0,
            .working_copies = made_->store->copy_bytes(),
            .activations = made_->code.arena_bytes,
            .accumulation = made_->code.saved_gradient_bytes};
  }
  std::unique_ptr<plan_context> make_context(std::byte* gradients, context_memory* memory) const override {
    return std::make_unique<bound_context<B>>(made_, gradients, memory);
  }

 private:
  std::shared_ptr<compiled<B> const> made_;
};

inline std::size_t bytes_needed(plan_memory const& m, plan_settings const& settings) {
  return m.parameters + settings.state_bytes + m.working_copies
         + (m.gradients + m.activations + (settings.accumulates ? m.accumulation : 0))
               * static_cast<std::size_t>(settings.contexts);
}

/// Returns the largest batch whose plan needs at most `limit` bytes, or 0 if none does. The plans use a
/// separate store that allocates nothing.
template <tensor_backend B>
int largest_batch(parameter_store<B> const& like, graph_view net, plan_settings const& settings,
                  std::size_t limit) {
  plan_settings smaller = settings;
  smaller.tune = nullptr;
  auto const needs = [&](int batch) {
    smaller.batch = batch;
    auto store = std::make_shared<parameter_store<B>>(like.backend(), net, true);
    store->freeze([&](std::size_t p) { return like.table()[p].frozen; });
    return bytes_needed(backend_plan<B>(std::move(store), net, smaller).memory(), settings);
  };
  int fits = 0, too_large = settings.batch;
  while (too_large - fits > 1) {
    int const middle = fits + (too_large - fits) / 2;
    (needs(middle) <= limit ? fits : too_large) = middle;
  }
  return fits;
}

template <class B>
struct plan_templates {};

template <tensor_backend B>
std::shared_ptr<plan const> compile_plan(std::shared_ptr<parameter_store<B>> store, graph_view net,
                                         plan_settings const& settings) {
  if (settings.batch < 1)
    throw setting_error({.what = "the batch of a plan is too small",
                         .expected = "at least one example",
                         .got = {settings.batch}});
  for (int id : settings.outputs)
    if (id < 0 || id >= net.size() || net.kind(id).role == layer_role::input)
      throw setting_error({.what = "a requested output of a plan is not a layer",
                           .expected = {"the id of a layer, below ", net.size()},
                           .got = {id}});
  auto made = std::make_shared<backend_plan<B>>(store, net, settings);
  std::size_t const needed = bytes_needed(made->memory(), settings);
  auto const device = settings.max_bytes > 0 ? nullptr : store->passes().space();
  std::size_t const limit = device ? device->available_bytes() : settings.max_bytes;
  if (limit > 0 && needed > limit) {
    int const fits = largest_batch(*store, net, settings, limit);
    std::string rows = text_of(*made);
    rows.pop_back();  // the last end of line
    throw memory_error(
        {.what = {"the plan needs more memory than ", device ? "is free on the device" : "allowed"},
         .where = {"batch ", settings.batch},
         .expected = {"at most ", limit, " bytes"},
         .got = {needed, " bytes; ",
                 (fits > 0 ? "the largest batch that fits is " + std::to_string(fits) : "no batch fits"),
                 '\n', rows}});
  }
  return made;
}

}  // namespace detail

}  // namespace cohort
