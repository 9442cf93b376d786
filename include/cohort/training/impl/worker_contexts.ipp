// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/worker_contexts.hpp>
#include <utility>

namespace cohort::detail {

worker_contexts::worker_contexts(backend_handle const& backend, team& threads, std::size_t max_bytes)
    : backend_(backend),
      team_(threads),
      max_bytes_(max_bytes),
      memory_(static_cast<std::size_t>(threads.size())),
      contexts_(static_cast<std::size_t>(threads.size())) {}

std::shared_ptr<plan const> worker_contexts::plan_for(work_kind const& what) {
  auto& made = entry(plans_, what);
  plan_settings const wanted{.batch = what.examples,
                             .training = what.training,
                             .max_bytes = max_bytes_,
                             .contexts = team_.size(),
                             .state_bytes = what.training ? backend_.state_bytes : 0,
                             .accumulates = what.accumulates,
                             .outputs = what.layers,
                             .output_gradients = what.output_gradients,
                             .input_gradients = what.input_gradients};
  if (!made)
    team_.run([&](int w) {
      if (w == 0) made = backend_.make_plan(wanted);
    });
  return made;
}

void worker_contexts::make(int worker, work_kind const& what, std::byte* gradients) {
  std::unique_ptr<plan_context>& found = entry(contexts_[static_cast<std::size_t>(worker)], what);
  if (found) return;
  auto const of = plan_for(what);
  team_.run([&](int w) {
    if (w == worker) found = of->make_context(gradients, &memory_[static_cast<std::size_t>(w)]);
  });
  found->profile(profiling_);
}

plan_context& worker_contexts::find(int worker, work_kind const& what) {
  return *entry(contexts_[static_cast<std::size_t>(worker)], what);
}

void worker_contexts::profile(bool on) {
  profiling_ = on;
  for (auto& of_worker : contexts_)
    for (auto& one : of_worker)
      if (one.made) one.made->profile(on);
}

void worker_contexts::add_profile(int worker, int examples, std::vector<plan_row>& rows) const {
  for (auto const& one : contexts_[static_cast<std::size_t>(worker)]) {
    if (!one.made || !one.what.training || one.what.examples != examples) continue;
    std::vector<plan_row> more = one.made->profile();
    if (rows.empty()) {
      rows = std::move(more);
      continue;
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].seconds += more[r].seconds;
      rows[r].calls += more[r].calls;
    }
  }
}

}  // namespace cohort::detail
