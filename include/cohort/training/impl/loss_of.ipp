// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/loss_meter.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/training.hpp>

namespace cohort {

double training::loss_of(batch_view const& given) {
  using namespace detail;
  training_state& run = *state_;
  batch_view data = given;
  check_common_steps(run, "loss_of");
  activity_scope const evaluating(run, rank_progress::activity::evaluating);
  loss_meter meter(run.net, run.element());
  all_or_none(*run.world, "loss_of", "cannot compute the loss",
              [&] { check_batch_view(run.net, losses_of(run.net), run.element(), data); });
  run.rescale(data);
  scoped_consensus const consensus(*run.exchange_strategy, run.current_replica(), 1, true);
  all_or_none(*run.world, "loss_of", "cannot compute the loss", [&] {
    if (data.count == 0) return;
    run.run_workers(nullptr, [&] {
      run.workers->infer(data, meter.layers(),
                         [&](std::int64_t first, plan_context const& done) { meter.add(data, first, done); });
    });
  });
  return meter.mean(*run.world);
}

}  // namespace cohort
