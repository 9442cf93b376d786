// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/communicator/preflight.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/documents/checks.hpp>
#include <cohort/documents/outputs.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/training/preflight_fit.hpp>
#include <cohort/training/run_memory.hpp>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace cohort::documents {

namespace {

/// Returns an upper bound of the size of a rank's separate file in a checkpoint, without metadata and the
/// states of recurrent layers.
std::uint64_t rank_file_bytes(strategy_source const& strategy, run_memory const& memory) {
  std::uint64_t const array = memory.parameters, replica = array + memory.optimizer_state;
  // A message has at most 2 bits per element; top-k also sends values.
  auto const sharing_bytes = [&](sharing_settings const& settings, double density) {
    double const messages = settings.max_staleness == unbounded
                                ? 1  // received steps that are not applied yet
                                : settings.max_staleness * (2.0 / 32 + density);
    double const residual = 1;
    return replica + static_cast<std::uint64_t>((residual + messages) * static_cast<double>(array));
  };
  return std::visit(
      [&]<class T>(T const& chosen) -> std::uint64_t {
        if constexpr (std::is_same_v<T, allreduce>)
          return chosen.wire == element_type::bf16 ? array : 0;     // the rounding errors
        else if constexpr (std::is_same_v<T, parameter_averaging>)  // velocity, pending mean
          return replica + (chosen.outer.is_plain() ? 0 : 2 * array) + (chosen.overlap ? 2 * array : 0);
        else if constexpr (std::is_same_v<T, threshold_sharing>)
          return sharing_bytes(chosen.settings, 0);
        else if constexpr (std::is_same_v<T, top_k_sharing>)
          return sharing_bytes(chosen.settings, chosen.density);
        else
          return 0;
      },
      strategy);
}

/// Prints the problems and tables of preflight on rank 0.  Errors: setting_error if the job cannot run.
void print_preflight(communicator& world, char const* checked, preflight_report const& found,
                     sink const& log) {
  if (world.rank() == 0) {
    log(detail::text_of({"preflight: ", checked, world.size(), " ranks (", world.name(), ")"}));
    print_lines(found.text(), log);
  }
  world.barrier();  // a rank that throws ends the other ranks, even before rank 0 has printed
  found.require_none();
}

}  // namespace

void check_hosts(communicator& world, std::string const& checkpoints, sink const& log) {
  std::string const folder = checkpoints.empty() ? "" : writable_folder(checkpoints, true);
  print_preflight(world, "hosts of ", preflight(world, {.folder = folder}), log);
}

void check_run(training& trained, dataset const& train, fit_settings const& settings, run_document const& run,
               sink const& log) {
  std::string const& checkpoints = run.output.checkpoints;
  int const keep = run.output.keep;
  preflight_settings limits;
  if (!checkpoints.empty()) {
    limits.folder = writable_folder(checkpoints, true);
    // A new checkpoint is complete before the oldest one is removed. A resumed run starts with existing
    // checkpoints.
    run_memory const memory = trained.memory_of(train, settings);
    int const present = has_checkpoints(checkpoints) ? keep : 0;
    std::uint64_t bytes = rank_file_bytes(run.strategy, memory);
    if (trained.world().rank() == 0) bytes += memory.parameters + memory.optimizer_state;  // the shared file
    limits.disk = static_cast<std::uint64_t>(keep + 1 - present) * bytes;
  }
  print_preflight(trained.world(), "the run on ", preflight_fit(trained, train, settings, limits), log);
}

}  // namespace cohort::documents
