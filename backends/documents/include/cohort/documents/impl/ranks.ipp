// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/cohort.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/documents/checks.hpp>
#include <cohort/documents/detail/remote_paths.hpp>
#include <cohort/documents/ranks.hpp>
#include <cohort/execution/usable_processors.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/tune.hpp>
#if COHORT_WITH_CUDNN
#include <cohort/cudnn.hpp>
#endif
#if COHORT_WITH_MPI
#include <cohort/mpi.hpp>
#endif
#if COHORT_WITH_NCCL
#include <cohort/nccl.hpp>
#endif
#if COHORT_WITH_ONEDNN
#include <cohort/onednn.hpp>
#endif
#if COHORT_WITH_TCP
#include <cohort/tcp.hpp>
#endif
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

namespace cohort::documents {

namespace {

#if COHORT_WITH_CUDNN && COHORT_WITH_ONEDNN
using automatic_backend = priority<cudnn, onednn, reference<float>>;
using tunable_backends = priority<onednn, onednn_bf16, cudnn, cudnn_tf32, cudnn_bf16>;
#elif COHORT_WITH_CUDNN
using automatic_backend = priority<cudnn, reference<float>>;
using tunable_backends = priority<cudnn, cudnn_tf32, cudnn_bf16>;
#elif COHORT_WITH_ONEDNN
using automatic_backend = priority<onednn, reference<float>>;
using tunable_backends = priority<onednn, onednn_bf16>;
#else
using automatic_backend = reference<float>;
#endif

template <class Backend>
training train_on(graph net, communicator& world, std::unique_ptr<strategy> exchange,
                  training_settings const& settings) {
  return trainer<Backend>(std::move(net), world, std::move(exchange), settings);
}

using training_factory = decltype(&train_on<automatic_backend>);

/// Returns the function that makes a training on a backend.
///
/// Errors    usage_error if this program was built without that backend.
training_factory factory_for(std::string_view backend, setting_names const& named) {
  if (backend == "auto") return train_on<automatic_backend>;
  if (backend == "reference") return train_on<required_backend<reference<float>>>;
#if COHORT_WITH_ONEDNN
  if (backend == "onednn") return train_on<required_backend<onednn>>;
  if (backend == "onednn_bf16") return train_on<required_backend<onednn_bf16>>;
#endif
#if COHORT_WITH_CUDNN
  if (backend == "cudnn") return train_on<required_backend<cudnn>>;
  if (backend == "cudnn_tf32") return train_on<required_backend<cudnn_tf32>>;
  if (backend == "cudnn_bf16") return train_on<required_backend<cudnn_bf16>>;
#endif
  throw usage_error(std::string(named.backend) + ": this program was built without the component "
                    + (backend.starts_with("cudnn") ? "cudnn" : "onednn"));
}

/// Makes the strategy of this rank. Collective.
std::unique_ptr<strategy> make_strategy(strategy_source const& from, communicator& world,
                                        setting_names const& named) {
  return std::visit(
      [&]<class T>(T const& chosen) -> std::unique_ptr<strategy> {
        if constexpr (requires { chosen.on(world); }) {
          return chosen.on(world);
        } else {
          if (world.size() == 1) return no_exchange{}.on(world);
          if constexpr (std::is_same_v<T, automatic_strategy>) return allreduce{}.on(world);
          throw usage_error(
              std::string(named.strategy)
              + ": expected allreduce, averaging, sharing or top_k with several ranks, got 'none'");
        }
      },
      from);
}

/// Returns the autotuner of this program's backends, for `batch` examples per rank.
std::shared_ptr<run_autotuner> make_tuner(int batch, communicator const& world) {
#if COHORT_WITH_CUDNN || COHORT_WITH_ONEDNN
  int const ranks_of_process = world.name() == "threads" ? world.size() : 1;
  int const processors = std::max(1, usable_processors() / ranks_of_process);
  return tune<tunable_backends>({.batch = batch, .processors = processors});
#else
  static_cast<void>(batch);
  static_cast<void>(world);
  throw usage_error("training.tune: this program was built without the component onednn");
#endif
}

}  // namespace

std::string_view strategy_name(strategy_source const& strategy, communicator const& world) {
  if (!std::holds_alternative<automatic_strategy>(strategy)) return name_of(strategy);
  return world.size() > 1 ? "allreduce" : "none";
}

void require_backend(std::string_view backend, setting_names const& named) { factory_for(backend, named); }

training make_training(run_document const& run, graph net, communicator& world, setting_names const& named) {
  training_settings settings = run.training;
  settings.log = stderr_sink();
  if (run.tune) settings.tune = make_tuner(run.fit.batch, world);
  return factory_for(run.backend, named)(std::move(net), world, make_strategy(run.strategy, world, named),
                                         settings);
}

training load_model(run_document const& run, communicator& world) {
  run_document applied = run;
  applied.strategy = automatic_strategy{};
  applied.training.optimizer = {};  // not used; its settings may name layers of another network
  auto const file = model_file::open(run.network.model);
  training model = make_training(applied, file.network(), world);
  load_parameters(model, file);
  return model;
}

void require_same_calls(communicator& world, std::initializer_list<std::pair<char const*, bool>> settings) {
  std::vector<shared_fact> facts;
  for (auto const& [name, is_set] : settings) facts.push_back({name, is_set ? "set" : "not set"});
  require_same(world, facts);
}

int launch(run_document const& run, bool preflight, std::function<int(communicator&)> const& body,
           setting_names const& named) {
  std::string const one_rank = std::string(named.ranks) + ": expected 1 with " + named.communicator + ' ';
  std::string const not_built = std::string(named.communicator) + ": this program was built without ";
#if !COHORT_WITH_NCCL
  if (run.ranks.communicator == "nccl") throw usage_error(not_built + "the component nccl");
#endif
  communicator_settings const settings{
      .deadline = run.ranks.deadline, .heartbeat = run.ranks.heartbeat, .log = stderr_sink()};
  int status = 0;
  std::string kind = run.ranks.communicator;
  auto const run_rank = [&](communicator& world) {
    std::unique_ptr<communicator> between_gpus;
#if COHORT_WITH_NCCL
    if (kind == "nccl") between_gpus = std::make_unique<nccl>(world);
#endif
    try {
      if (preflight) check_hosts(between_gpus ? *between_gpus : world, run.output.checkpoints, stderr_sink());
      int const rank_status = body(between_gpus ? *between_gpus : world);
      if (world.rank() == 0 || world.name() == "mpi" || world.name() == "tcp") status = rank_status;
    } catch (usage_error const& mistake) {
      world.abort(mistake.what(), usage_status);
      throw;
    }
  };
#if COHORT_WITH_TCP
  // Cohort's variables precede launchers' variables, because `cohort run` may have been started by srun.
  if (kind == "auto" && std::getenv("COHORT_JOIN")) kind = "tcp";
#endif
#if COHORT_WITH_MPI
  if (kind == "auto" && mpi_started()) kind = "mpi";
  if (kind == "mpi" || kind == "nccl") {
    if (run.ranks.count > 1 && !mpi_started())
      throw usage_error(one_rank + kind + "; mpirun starts the ranks");
    int const failed = cohort::launch<mpi>(0, nullptr, settings, run_rank);
    return failed != 0 ? failed : status;
  }
#else
  if (kind == "mpi" || kind == "nccl") throw usage_error(not_built + "MPI");
#endif
#if COHORT_WITH_TCP
  if (kind == "auto" && tcp_started()) kind = "tcp";
  if (kind == "tcp") {
    if (run.ranks.count > 1) throw usage_error(one_rank + kind + "; each process is a rank");
    int const failed = cohort::launch<tcp>(settings, run_rank);
    return failed != 0 ? failed : status;
  }
#else
  if (kind == "tcp") throw usage_error(not_built + "the component tcp");
#endif
  if (kind == "auto") kind = run.ranks.count > 1 ? "threads" : "self";
  if (kind == "self" && run.ranks.count > 1) throw usage_error(one_rank + "self");
  if (kind == "self")
    cohort::launch<self>(settings, run_rank);
  else
    cohort::launch<threads>(run.ranks.count, settings, run_rank);
  return status;
}

namespace {

/// Warns on rank 0 if copies of remote files may last longer than the ranks of other processes wait.
void warn_of_deadlines(run_document const& run, communicator const& world) {
  if (world.size() == 1 || world.rank() != 0 || world.name() == "threads") return;
  if (run.ranks.deadline >= run.remote.deadline || !detail::reads_remote_files(run)) return;
  stderr_sink()("remote.deadline, " + std::to_string(run.remote.deadline.count())
                + " ms for each file, is more than ranks.deadline, "
                + std::to_string(run.ranks.deadline.count())
                + " ms: a rank that waits longer for the copies of another one ends the run; set ranks.deadline "
                  "to more than the time of all copies");
}

}  // namespace

int run_on_ranks(run_document const& run, rank_work const& work) {
  require_backend(run.backend);
  std::optional<data_sets> data;
  std::exception_ptr failure;  // of the loading; all ranks of the process throw it
  std::once_flag is_loaded;
  auto const body = [&](communicator& world) {
    if (work.begin) work.begin(world);
    std::call_once(is_loaded, [&] {
      try {
        warn_of_deadlines(run, world);
        data.emplace(work.load(world));
      } catch (...) {
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
    return work.run_rank(world, *data);
  };
  return launch(run, work.preflight, body);
}

}  // namespace cohort::documents
