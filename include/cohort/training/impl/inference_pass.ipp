// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/inference_pass.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <memory>

namespace cohort::detail {

void run_inference(training_state& run, dataset const& data, evaluation_settings const& how,
                   std::span<int const> layers, output_consumer const& consume) {
  communicator& world = *run.world;
  check_sharding(world, data, how.sharding, run.position.epoch, "evaluate", &run);
  scoped_consensus const consensus(*run.exchange_strategy, run.current_replica(), 1, true);
  auto const batches =
      std::make_shared<loader>(normalised(data, run.preparation.rescaling),
                               loader_settings{.batch = how.batch,
                                               .rank = world.rank(),
                                               .ranks = world.size(),
                                               .shuffle = false,
                                               .readers = how.readers,
                                               .deadline = run.settings.deadline,
                                               .local_sizes = local_sizes(world, data, how.sharding)});
  all_or_none(world, "evaluate", "cannot evaluate", [&] {
    batches->start(0);
    while (batch const* const next = batches->next()) {
      run.run_workers(batches, [&] {
        run.workers->infer(*next, layers, [&](std::int64_t first, plan_context const& done) {
          consume(*next, first, done);
        });
      });
    }
  });
}

}  // namespace cohort::detail
