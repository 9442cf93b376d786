// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/preflight_fit.hpp>
#include <utility>
#include <vector>

namespace cohort {

preflight_report preflight_fit(training& run, dataset const& data, fit_settings const& how,
                               preflight_settings what) {
  communicator& world = run.world();
  if (world.size() > 1) {
    std::vector<shared_fact> facts = detail::facts_of_fit(run.state(), data, how);
    detail::add_differing_layer(run.state(), "preflight", facts);
    all_or_none(world, "preflight", "cannot read the data set", [&] {
      facts.push_back({"data set", detail::text_of_examples(data, how.sharding, run.epoch())});
      if (how.validation)
        facts.push_back(
            {"validation set", detail::text_of_examples(*how.validation, how.sharding, run.epoch())});
    });
    what.run.insert(what.run.end(), facts.begin(), facts.end());
  }
  run_memory const memory = run.memory_of(data, how);
  what.memory += memory.total() - memory.parameters - memory.optimizer_state;  // these are allocated already
  what.probe = 0;
  return preflight(world, what);
}

}  // namespace cohort
