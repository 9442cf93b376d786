// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/cohort.hpp>
#include <cohort/communicator/preflight.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/execution/usable_processors.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/monitoring/forecast.hpp>
#include <cohort/monitoring/timeline.hpp>
#include <cohort/onednn.hpp>
#include <cohort/plan/machine_peaks.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/exchange_text.hpp>
#include <cohort/training/preflight_fit.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/training/tune.hpp>
#if HAS_CUDNN
#include <cohort/cudnn.hpp>
#endif
#if HAS_MPI
#include <cohort/mpi.hpp>
#endif
#if HAS_NCCL
#include <cohort/nccl.hpp>
#endif
#if HAS_TCP
#include <cohort/tcp.hpp>
#endif
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include "monitors.hpp"

namespace reference_program {

namespace {

/// Evaluates after every epoch and after every `every` steps, and sums the seconds of training without
/// evaluation. `shown`: receives the accuracies; may be null.
struct evaluations final : cohort::listener {
  struct point {
    std::int64_t step;
    double seconds;
    double accuracy;
  };

  cohort::dataset test;
  cohort::evaluation_settings how;
  std::int64_t every;  // steps; 0: only after epochs
  std::optional<cohort::classification_report> last{};
  std::vector<point> curve{};
  double seconds = 0;  // of completed epochs
  monitors const* shown = nullptr;

  evaluations(cohort::dataset images, cohort::evaluation_settings settings, std::int64_t every_steps)
      : test(std::move(images)), how(settings), every(every_steps) {}
  void on_step(cohort::training& training, cohort::step_report const& done) override {
    in_epoch_ += done.wait_seconds + done.step_seconds;
    bool const ends_epoch = done.step_in_epoch + 1 == done.steps_in_epoch;
    if (every == 0 || (done.step + 1) % every != 0 || ends_epoch) return;
    auto const begun = std::chrono::steady_clock::now();
    evaluate(training, seconds + in_epoch_, "step", done.step + 1);
    evaluating_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
  void on_epoch(cohort::training& training, cohort::epoch_report const& done) override {
    seconds += done.seconds - evaluating_;
    in_epoch_ = evaluating_ = 0;
    evaluate(training, seconds, "epoch", done.epoch + 1);
  }
  /// fit compares this name between ranks.
  std::string name() const override {
    return "evaluation of " + std::to_string(test.size()) + " examples after each epoch"
           + (every > 0 ? " and every " + std::to_string(every) + " steps" : "");
  }

 private:
  void evaluate(cohort::training& training, double after, char const* what, std::int64_t number) {
    last = training.evaluate(test, how);
    curve.push_back({training.step(), after, last->accuracy().value_or(0)});
    if (shown) shown->show("validation/accuracy", training.step(), curve.back().accuracy);
    if (shown && how.top > 1)
      shown->show("validation/top_accuracy", training.step(), last->top_accuracy().value_or(0));
    if (training.world().rank() != 0) return;
    std::printf("%s %lld: accuracy %.2f %%", what, static_cast<long long>(number),
                100 * curve.back().accuracy);
    if (how.top > 1) std::printf(", top-%d %.2f %%", how.top, 100 * last->top_accuracy().value_or(0));
    std::puts("");
    std::fflush(stdout);
  }

  double in_epoch_ = 0;    // seconds of training in the current epoch
  double evaluating_ = 0;  // seconds of evaluation in the current epoch
};

std::string json_report(options const& chosen, cohort::training& training, cohort::fit_report const& fitted,
                        evaluations const& results, std::string const& kind, run_totals const& totals) {
  cohort::io::json_writer out(2);
  out.begin_object();
  auto const add = [&](char const* name, std::optional<double> const& value) {
    out.key(name);
    value ? out.value(*value) : out.value(nullptr);
  };
  add("accuracy", results.last->accuracy());
  if (results.how.top > 1) add("top_accuracy", results.last->top_accuracy());
  write_totals(out, training, fitted, totals, chosen.run.strategy);
  cohort::training_settings const& settings = training.settings();
  out.field("workers", settings.workers).field("threads", settings.threads);
  out.field("epochs", chosen.run.fit.epochs).field("batch", chosen.run.fit.batch);
  out.field("learning_rate", chosen.learning_rate()).field("seed", settings.seed).field("data", kind);
  if (auto const measured = training.exchange_report(); !measured.empty()) {
    out.key("exchange").begin_object();
    for (cohort::measurement const& one : measured) out.field(one.name, one.value);
    out.end_object();
  }
  out.key("curve").begin_array();
  for (evaluations::point const& one : results.curve)
    out.begin_object(cohort::io::json_lines::one)
        .field("step", one.step)
        .field("seconds", one.seconds)
        .field("accuracy", one.accuracy)
        .end_object();
  return out.end_array().end_object().text();
}

/// Forecasts the speed of 1, 2, 4, … ranks, up to at least 32. Collective; returns the same text on every
/// rank.
std::string forecast_of(options const& chosen, cohort::training& training, cohort::fit_report const& fitted,
                        double seconds) {
  cohort::communicator& world = training.world();
  auto const steps = static_cast<double>(fitted.steps);
  double compute = (seconds - fitted.wait_seconds - fitted.exchange_seconds) / steps;
  world.allreduce(std::span<double>(&compute, 1), cohort::reduction::maximum);
  std::vector<int> ranks;
  for (int count = 1; count <= std::max(32, 2 * world.size()); count *= 2) ranks.push_back(count);
  if (std::find(ranks.begin(), ranks.end(), world.size()) == ranks.end()) ranks.push_back(world.size());
  std::sort(ranks.begin(), ranks.end());
  auto const measured = training.exchange_report();
  return cohort::forecast(
      cohort::costs_of(measured, fitted.steps, world.size(), compute, cohort::measure_link(world)),
      chosen.run.fit.batch, ranks);
}

/// Reads the initial parameters from a file of another library.
void read_weights(cohort::training& training, options const& chosen) {
  cohort::safetensors const file = cohort::safetensors::load(chosen.weights);
  auto const report = cohort::read_mapped(file.tensors(), file.name(), cohort::name_map::load(chosen.map),
                                          training.network(), training.parameters());
  if (training.world().rank() == 0)
    std::printf("%zu parameters from %s, %zu kept, %zu tensors ignored\n", report.loaded.size(),
                chosen.weights.c_str(), report.kept.size(), report.ignored.size());
}

/// Runs one rank. Returns its exit status.
int run_rank(program const& what, options const& chosen, cohort::communicator& world, sets const& images) {
  bool const prints = world.rank() == 0;
  cohort::run_document run = chosen.run;
  cohort::output_settings const& output = run.output;
  require_same_calls(world, {{"--resume", output.resume},
                             {"--trace", !chosen.trace.empty()},
                             {"--performance", chosen.performance > 0},
                             {"--features", !chosen.features.empty()},
                             {"--save", !output.model.empty()}});
  if (prints) print_data(images.notice, images.where, images.train, &images.test, "images");
  if (what.adjust) what.adjust(chosen, run.training.optimizer);
  cohort::training training = make_training(run, what.network(chosen, images), world);
  if (what.normalises) training.normalise(images.train);
  if (!chosen.weights.empty()) read_weights(training, chosen);
  if (!chosen.load.empty()) training.load(chosen.load);
  std::int64_t const last_epoch = training.epoch() + run.fit.epochs;
  if (output.resume) resume_newest(training, output.checkpoints);
  training.profile(chosen.profile);

  run.evaluation.top = std::min(run.evaluation.top, images.test.describe().targets[0].classes);
  evaluations results(images.test, run.evaluation, chosen.evaluate_every);
  cohort::progress_listener progress;
  std::optional<cohort::performance_listener> performance;
  std::optional<cohort::checkpoint_listener> saving;
  std::optional<cohort::stop_on_signal> stopping;
  std::optional<cohort::timeline> times;
  std::vector<cohort::listener*> listeners{&results};
  if (prints) listeners.insert(listeners.begin(), &progress);
  if (prints && chosen.performance > 0) listeners.push_back(&performance.emplace(chosen.performance));
  if (!output.checkpoints.empty()) {
    listeners.push_back(&saving.emplace(output.checkpoints, output.checkpoint_every, output.keep));
    listeners.push_back(&stopping.emplace());
  }
  if (!chosen.trace.empty()) listeners.push_back(&times.emplace(world));
  cohort::fit_settings how = run.fit;
  how.epochs = static_cast<int>(std::max<std::int64_t>(last_epoch - training.epoch(), 0));
  monitors const shown(output, what.text.name, training, images.train, &images.test, results.how, how);
  shown.add_to(listeners);
  results.shown = &shown;
  how.listeners = std::move(listeners);
  if (chosen.preflight) check_run(training, images.train, how, run);
  cohort::fit_report const fitted = training.fit(images.train, how);
  std::string const trace = times ? times->trace() : "";
  if (fitted.stopped) {
    if (!trace.empty()) cohort::io::write_file(chosen.trace, trace);
    return report_stop(training, saving ? &*saving : nullptr);
  }
  if (!results.last) results.last = training.evaluate(images.test, results.how);
  run_totals const totals{
      .seconds = results.seconds, .wait_seconds = longest_wait(fitted, world), .bytes = bytes_sent(world)};
  std::string const forecast = chosen.performance > 0 && world.size() > 1 && fitted.steps > 0
                                   ? forecast_of(chosen, training, fitted, results.seconds)
                                   : "";
  if (what.afterwards) what.afterwards(training, chosen, images);

  if (prints && chosen.profile && training.backend().starts_with("cudnn")) {
    std::printf("\n%s", cohort::text_of(training.profile_rows(run.fit.batch)).c_str());
  } else if (prints && chosen.profile) {
    int const workers = training.settings().workers, threads = workers * training.settings().threads;
    cohort::machine_peaks const peaks = cohort::measure_peaks(threads);
    std::printf("\n%speak of %d threads: %.0f GFLOP/s in f32, %.0f GB/s\n",
                cohort::text_of(training.profile_rows(run.fit.batch), peaks.of_one(workers)).c_str(), threads,
                peaks.flops / 1e9, peaks.bytes_per_second / 1e9);
  }
  if (prints) {
    std::printf("\n%s\n", results.last->stats().c_str());
    print_totals(training, fitted, totals, run.strategy);
    std::fputs(forecast.c_str(), stdout);
    std::fflush(stdout);
  }
  if (!output.model.empty())
    save(training, output.model);  // last, so that a failure does not prevent the printing of results
  if (prints && !trace.empty()) cohort::io::write_file(chosen.trace, trace);
  if (prints && !output.report.empty())
    cohort::io::write_file(output.report,
                           json_report(chosen, training, fitted, results, images.kind, totals));
  return report_failed_saves(training, saving ? &*saving : nullptr);
}

#if HAS_CUDNN
using automatic_backend = cohort::priority<cohort::cudnn, cohort::onednn, cohort::reference<float>>;
using tunable_backends = cohort::priority<cohort::onednn, cohort::onednn_bf16, cohort::cudnn,
                                          cohort::cudnn_tf32, cohort::cudnn_bf16>;
#else
using automatic_backend = cohort::priority<cohort::onednn, cohort::reference<float>>;
using tunable_backends = cohort::priority<cohort::onednn, cohort::onednn_bf16>;
#endif

template <class Backend>
cohort::training train_on(cohort::graph net, cohort::communicator& world,
                          std::unique_ptr<cohort::strategy> how, cohort::training_settings const& settings) {
  return cohort::trainer<Backend>(std::move(net), world, std::move(how), settings);
}

using training_factory = decltype(&train_on<automatic_backend>);

/// Returns the function that makes a training on a backend.
///
/// Errors    usage_error if this program was built without that backend.
training_factory factory_for(std::string_view backend, setting_names const& named = {}) {
  using namespace cohort;
  if (backend == "auto") return train_on<automatic_backend>;
  if (backend == "onednn") return train_on<required_backend<onednn>>;
  if (backend == "onednn_bf16") return train_on<required_backend<onednn_bf16>>;
  if (backend == "reference") return train_on<required_backend<reference<float>>>;
#if HAS_CUDNN
  if (backend == "cudnn") return train_on<required_backend<cudnn>>;
  if (backend == "cudnn_tf32") return train_on<required_backend<cudnn_tf32>>;
  if (backend == "cudnn_bf16") return train_on<required_backend<cudnn_bf16>>;
#endif
  throw usage_error{std::string(named.backend) + ": this program was built without the component cudnn"};
}

/// Makes the strategy of this rank. Collective.
std::unique_ptr<cohort::strategy> make_strategy(cohort::strategy_source const& from,
                                                cohort::communicator& world, setting_names const& named) {
  return std::visit(
      [&]<class T>(T const& how) -> std::unique_ptr<cohort::strategy> {
        if constexpr (requires { how.on(world); }) {
          return how.on(world);
        } else {
          if (world.size() == 1) return cohort::no_exchange{}.on(world);
          if constexpr (std::is_same_v<T, cohort::automatic_strategy>) return cohort::allreduce{}.on(world);
          throw usage_error{
              std::string(named.strategy)
              + ": expected allreduce, averaging, sharing or top_k with several ranks, got 'none'"};
        }
      },
      from);
}

/// Returns the autotuner of this program's backends, for `batch` examples per rank.
std::shared_ptr<cohort::run_autotuner> make_tuner(int batch, cohort::communicator const& world) {
  int const ranks_here = world.name() == "threads" ? world.size() : 1;
  int const processors = std::max(1, cohort::usable_processors() / ranks_here);
  return cohort::tune<tunable_backends>({.batch = batch, .processors = processors});
}

}  // namespace

std::string_view strategy_name(cohort::strategy_source const& how, cohort::communicator const& world) {
  if (!std::holds_alternative<cohort::automatic_strategy>(how)) return name_of(how);
  return world.size() > 1 ? "allreduce" : "none";
}

cohort::training make_training(cohort::run_document const& run, cohort::graph net,
                               cohort::communicator& world, setting_names const& named) {
  cohort::training_settings settings = run.training;
  settings.log = cohort::stderr_sink();
  if (run.tune) settings.tune = make_tuner(run.fit.batch, world);
  return factory_for(run.backend, named)(std::move(net), world, make_strategy(run.strategy, world, named),
                                         settings);
}

void require_backend(std::string_view backend, setting_names const& named) { factory_for(backend, named); }

namespace {

/// Returns whether this process has rank 0, or all ranks. Before the ranks are connected, only launchers'
/// environment variables contain the rank. Without these variables, returns false if the rendezvous of tcp
/// assigns the ranks.
bool has_rank_0() {
  for (char const* const name : {"COHORT_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"})
    if (char const* const rank = std::getenv(name)) return std::string_view(rank) == "0";
  return std::getenv("COHORT_JOIN") == nullptr;
}

/// Returns whether an address of this host name belongs to this machine: only then can the address be bound.
bool is_this_machine(std::string const& host) {
  addrinfo how{};
  how.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &how, &found) != 0) return false;
  bool is_here = false;
  for (addrinfo const* one = found; one && !is_here; one = one->ai_next) {
    int const socket = ::socket(one->ai_family, one->ai_socktype, one->ai_protocol);
    if (socket < 0) continue;
    is_here = ::bind(socket, one->ai_addr, one->ai_addrlen) == 0;
    ::close(socket);
  }
  ::freeaddrinfo(found);
  return is_here;
}

/// Throws usage_error unless mpirun starts the ranks and `host`, the value of --masterIP, is rank 0's host.
/// An empty name is not checked.
void check_master(std::string const& host) {
  if (host.empty()) return;
#if HAS_MPI
  bool const under_mpirun = cohort::mpi_started();
#else
  bool const under_mpirun = false;
#endif
  if (!under_mpirun)
    throw usage_error{
        "--masterIP: expected ranks that mpirun starts, got none; there is no master process: name the hosts "
        "in "
        "mpirun's list instead, as in mpirun -n 2 --host HOST:1,HOST:1 PROGRAM, or use --ranks on one host"};
  if (has_rank_0() && !is_this_machine(host))
    throw usage_error{
        "--masterIP: expected an address of rank 0's host, the first one in mpirun's list of "
        "hosts, got '"
        + host + "'"};
}

/// Prints the problems and tables of preflight on rank 0.  Errors: setting_error if the job cannot run.
void print_preflight(cohort::communicator& world, char const* what, cohort::preflight_report const& found) {
  if (world.rank() == 0)
    std::fprintf(stderr, "preflight: %s%d ranks (%s)\n%s", what, world.size(),
                 std::string(world.name()).c_str(), found.text().c_str());
  world.barrier();  // a rank that throws ends the other ranks, even before rank 0 has printed
  found.require_none();
}

/// Returns the folder that must be writable so that the path can be written.
std::filesystem::path writable_folder(std::filesystem::path const& path, bool is_folder) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path const absolute = fs::absolute(path).lexically_normal();
  if (!is_folder) return absolute.parent_path();
  fs::path folder = absolute;   // the program creates it with its parents
  auto const is_absent = [&] {  // true also below a file; false for a dangling link
    return !fs::exists(folder, unknown) && !fs::is_symlink(folder, unknown);
  };
  while (is_absent() && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

/// Checks hosts and network.  Errors: setting_error if the job cannot run.
void check_hosts(cohort::communicator& world, std::string const& checkpoints) {
  std::string const folder = checkpoints.empty() ? "" : writable_folder(checkpoints, true).string();
  print_preflight(world, "hosts of ", cohort::preflight(world, {.folder = folder}));
}

/// Returns the error number if a file cannot be created in a folder; otherwise 0.
int failure_to_write(std::string const& folder) {
  std::string name = folder + "/cohort-XXXXXX";
  int const file = ::mkstemp(name.data());
  if (file < 0) return errno;
  ::close(file);
  ::unlink(name.c_str());
  return 0;
}

/// Checks on rank 0 that the files and folders that the flags name can be written.
void require_outputs(options const& chosen, cohort::communicator const& world) {
  if (world.rank() != 0) return;
  cohort::output_settings const& output = chosen.run.output;
  output_place const checkpoints{output.checkpoints, "--checkpoints", true};
  require_writable({{output.model, "--save"},
                    {output.report, "--json"},
                    {chosen.trace, "--trace"},
                    {output.tensorboard, "--tensorboard", true},
                    {output.html_report, "--html-report"},
                    {chosen.features, "--features"},
                    checkpoints});
  require_no_checkpoints(checkpoints, output.resume);
}

}  // namespace

void require_writable(std::initializer_list<output_place> places) {
  for (output_place const& one : places) {
    if (one.path.empty()) continue;
    std::error_code unknown;
    std::string const setting = one.setting;
    if (!one.is_folder && (one.path.back() == '/' || std::filesystem::is_directory(one.path, unknown)))
      throw usage_error{setting + ": expected a file, got the folder '" + one.path + "'"};
    std::string const folder = writable_folder(one.path, one.is_folder).string();
    int const why = std::filesystem::is_directory(folder, unknown) ? failure_to_write(folder)
                    : std::filesystem::exists(folder, unknown)     ? ENOTDIR
                                                                   : ENOENT;
    if (why != 0)
      throw usage_error{setting + ": expected a folder that can be written, got '" + folder
                        + "': " + std::strerror(why)};
  }
}

void require_no_checkpoints(output_place const& checkpoints, bool resumes) {
  if (!resumes && !checkpoints.path.empty() && cohort::has_checkpoints(checkpoints.path))
    throw usage_error{std::string(checkpoints.setting) + ": " + checkpoints.path
                      + " contains a checkpoint: expected --resume to continue from it, or another folder"};
}

void require_same_calls(cohort::communicator& world,
                        std::initializer_list<std::pair<char const*, bool>> settings) {
  std::vector<cohort::shared_fact> facts;
  for (auto const& [name, is_set] : settings) facts.push_back({name, is_set ? "set" : "not set"});
  cohort::require_same(world, facts);
}

int launch(cohort::run_document const& run, bool preflight, int argc, char** argv,
           std::function<int(cohort::communicator&)> const& body_of_rank, setting_names const& named) {
  std::string const one_rank = std::string(named.ranks) + ": expected 1 with " + named.communicator + ' ';
  std::string const not_built = std::string(named.communicator) + ": this program was built without ";
#if !HAS_NCCL
  if (run.ranks.communicator == "nccl") throw usage_error{not_built + "the component nccl"};
#endif
  cohort::communicator_settings const how{
      .deadline = run.ranks.deadline, .heartbeat = run.ranks.heartbeat, .log = cohort::stderr_sink()};
  int status = 0;
  std::string communicator = run.ranks.communicator;
  auto const body = [&](cohort::communicator& world) {
    std::unique_ptr<cohort::communicator> between_gpus;
#if HAS_NCCL
    if (communicator == "nccl") between_gpus = std::make_unique<cohort::nccl>(world);
#endif
    try {
      if (preflight) check_hosts(between_gpus ? *between_gpus : world, run.output.checkpoints);
      int const rank_status = body_of_rank(between_gpus ? *between_gpus : world);
      if (world.rank() == 0 || world.name() == "mpi" || world.name() == "tcp") status = rank_status;
    } catch (usage_error const& mistake) {
      world.abort(mistake.what(), usage_status);
      throw;
    }
  };
#if HAS_TCP
  // Cohort's variables precede launchers' variables, because `cohort run` may have been started by srun.
  if (communicator == "auto" && std::getenv("COHORT_JOIN")) communicator = "tcp";
#endif
#if HAS_MPI
  if (communicator == "auto" && cohort::mpi_started()) communicator = "mpi";
  if (communicator == "mpi" || communicator == "nccl") {
    if (run.ranks.count > 1 && !cohort::mpi_started())
      throw usage_error{one_rank + communicator + "; mpirun starts the ranks"};
    int const failed = cohort::launch<cohort::mpi>(argc, argv, how, body);
    return failed != 0 ? failed : status;
  }
#else
  if (communicator == "mpi" || communicator == "nccl") throw usage_error{not_built + "MPI"};
#endif
#if HAS_TCP
  if (communicator == "auto" && cohort::tcp_started()) communicator = "tcp";
  if (communicator == "tcp") {
    if (run.ranks.count > 1) throw usage_error{one_rank + communicator + "; each process is a rank"};
    int const failed = cohort::launch<cohort::tcp>(how, body);
    return failed != 0 ? failed : status;
  }
#else
  if (communicator == "tcp") throw usage_error{not_built + "the component tcp"};
#endif
  if (communicator == "auto") communicator = run.ranks.count > 1 ? "threads" : "self";
  if (communicator == "self" && run.ranks.count > 1) throw usage_error{one_rank + "self"};
  if (communicator == "self")
    cohort::launch<cohort::self>(how, body);
  else
    cohort::launch<cohort::threads>(run.ranks.count, how, body);
  return status;
}

std::uint64_t bytes_sent(cohort::communicator& world) {
  std::uint64_t sum = world.sent().bytes_sent;
  world.allreduce(std::span<std::uint64_t>(&sum, 1));
  return sum;
}

double longest_wait(cohort::fit_report const& fitted, cohort::communicator& world) {
  double longest = fitted.wait_seconds;
  world.allreduce(std::span<double>(&longest, 1), cohort::reduction::maximum);
  return longest;
}

void print_data(std::string const& notice, std::string const& where, cohort::dataset const& train,
                cohort::dataset const* test, char const* examples) {
  if (!notice.empty()) std::puts(notice.c_str());
  std::printf("data: %s, %lld training ", where.c_str(), static_cast<long long>(train.size()));
  if (test) std::printf("and %lld test ", static_cast<long long>(test->size()));
  std::printf("%s\n", examples);
  std::fflush(stdout);
}

void resume_newest(cohort::training& training, std::string const& checkpoints) {
  auto const from = cohort::resume(training, checkpoints);
  if (training.world().rank() != 0) return;
  if (from)
    std::printf("resumed from %s, after %lld steps\n", from->c_str(),
                static_cast<long long>(training.step()));
  else
    std::printf("no checkpoint in %s: starting from scratch\n", checkpoints.c_str());
  std::fflush(stdout);
}

void print_totals(cohort::training& training, cohort::fit_report const& fitted, run_totals const& totals,
                  cohort::strategy_source const& strategy) {
  cohort::communicator const& world = training.world();
  auto const per_second = [&](double count) { return totals.seconds > 0 ? count / totals.seconds : 0; };
  if (fitted.steps > 0)
    std::printf("%lld steps in %.2f s, %.0f samples/s, %.0f %% waiting for data, ",
                static_cast<long long>(fitted.steps), totals.seconds,
                per_second(static_cast<double>(fitted.examples)), 100 * per_second(totals.wait_seconds));
  if (world.size() > 1)
    std::printf("%d ranks over %s by %s, %.1f MB sent, ", world.size(), std::string(world.name()).c_str(),
                std::string(strategy_name(strategy, world)).c_str(), static_cast<double>(totals.bytes) / 1e6);
  std::printf("checksum %s\n", training.checksum().c_str());
  if (std::string const text = cohort::exchange_text(training.exchange_report(), {}, fitted.steps);
      !text.empty() && fitted.steps > 0)
    std::printf("exchange by rank 0: %s\n", text.c_str());
}

void write_totals(cohort::io::json_writer& out, cohort::training& training, cohort::fit_report const& fitted,
                  run_totals const& totals, cohort::strategy_source const& strategy) {
  cohort::communicator const& world = training.world();
  double const examples = static_cast<double>(fitted.examples);
  out.field("seconds", totals.seconds);
  out.field("samples_per_second", totals.seconds > 0 ? examples / totals.seconds : 0);
  out.field("wait_seconds", totals.wait_seconds).field("ranks", world.size());
  out.field("communicator", world.name()).field("strategy", strategy_name(strategy, world));
  out.field("bytes_sent", totals.bytes).field("exchange_seconds", fitted.exchange_seconds);
  out.field("backend", training.backend()).field("steps", fitted.steps).key("loss");
  fitted.loss == fitted.loss ? out.value(fitted.loss) : out.value(nullptr);  // NaN: no loss
  out.field("checksum", training.checksum());
}

int report_failed_saves(cohort::training const& training, cohort::checkpoint_listener const* saving) {
  if (!saving || saving->failures() == 0) return 0;
  if (training.world().rank() == 0)
    std::fprintf(stderr, "%lld checkpoints could not be saved (%s); %s%s\n",
                 static_cast<long long>(saving->failures()),
                 saving->last_error().empty() ? "the last one was" : saving->last_error().c_str(),
                 saving->newest().empty() ? "this run has saved none" : "the newest one is ",
                 saving->newest().c_str());
  return saving->last_error().empty() ? 0 : 1;
}

namespace {

/// Returns an upper bound of the size of a rank's separate file in a checkpoint, without metadata and the
/// states of recurrent layers.
std::uint64_t rank_file_bytes(cohort::strategy_source const& strategy, cohort::run_memory const& memory) {
  std::uint64_t const array = memory.parameters, replica = array + memory.optimizer_state;
  // A message has at most 2 bits per element; top-k also sends values.
  auto const sharing_bytes = [&](cohort::sharing_settings const& settings, double density) {
    double const messages = settings.max_staleness == cohort::unbounded
                                ? 1  // received steps that are not applied yet
                                : settings.max_staleness * (2.0 / 32 + density);
    double const residual = 1;
    return replica + static_cast<std::uint64_t>((residual + messages) * static_cast<double>(array));
  };
  return std::visit(
      [&]<class T>(T const& how) -> std::uint64_t {
        if constexpr (std::is_same_v<T, cohort::allreduce>)
          return how.wire == cohort::element_type::bf16 ? array : 0;        // the rounding errors
        else if constexpr (std::is_same_v<T, cohort::parameter_averaging>)  // velocity, pending mean
          return replica + (how.outer.is_plain() ? 0 : 2 * array) + (how.overlap ? 2 * array : 0);
        else if constexpr (std::is_same_v<T, cohort::threshold_sharing>)
          return sharing_bytes(how.settings, 0);
        else if constexpr (std::is_same_v<T, cohort::top_k_sharing>)
          return sharing_bytes(how.settings, how.density);
        else
          return 0;
      },
      strategy);
}

}  // namespace

void check_run(cohort::training& training, cohort::dataset const& train, cohort::fit_settings const& how,
               cohort::run_document const& run) {
  std::string const& checkpoints = run.output.checkpoints;
  int const keep = run.output.keep;
  cohort::preflight_settings what;
  if (!checkpoints.empty()) {
    what.folder = writable_folder(checkpoints, true).string();
    // A new checkpoint is complete before the oldest one is removed. A resumed run starts with existing
    // checkpoints.
    cohort::run_memory const memory = training.memory_of(train, how);
    auto const present = cohort::has_checkpoints(checkpoints) ? keep : 0;
    std::uint64_t bytes = rank_file_bytes(run.strategy, memory);
    if (training.world().rank() == 0) bytes += memory.parameters + memory.optimizer_state;  // the shared file
    what.disk = static_cast<std::uint64_t>(keep + 1 - present) * bytes;
  }
  print_preflight(training.world(), "the run on ", preflight_fit(training, train, how, what));
}

int report_stop(cohort::training const& training, cohort::checkpoint_listener const* saving) {
  auto const step = static_cast<long long>(training.step());
  bool const prints = training.world().rank() == 0;
  if (saving && saving->newest_step() == training.step()) {
    if (prints) std::printf("stopped after %lld steps: saved in %s\n", step, saving->newest().c_str());
    return cohort::communicator_exit_status;
  }
  if (!prints) return 1;
  std::string const reason = saving ? saving->last_error() : "--checkpoints is not set";
  std::string const older = !saving || saving->newest().empty()
                                ? "no checkpoint was saved"
                                : "the newest checkpoint, " + saving->newest() + ", is "
                                      + std::to_string(step - saving->newest_step()) + " steps older";
  std::fprintf(stderr, "stopped after %lld steps, state not saved: %s; %s\n", step, reason.c_str(),
               older.c_str());
  return 1;
}

void save(cohort::training& trained, std::string const& path) { trained.save(path, true); }

namespace {

/// Parses the flags and calls `work` with them; handles --help and errors.
int guarded(program_text const& text, options const& defaults, cohort::training_settings const& original,
            int argc, char** argv, std::function<int(options const&)> const& work) {
  auto const print_error = [&](std::exception const& problem) {
    std::fprintf(stderr, "%s: %s\n", text.name, problem.what());
  };
  try {
    options const chosen = parse(text, defaults, original, argc, argv);
    if (chosen.help) {
      std::fputs(help_of(text, defaults).c_str(), stdout);
      return 0;
    }
    check_master(chosen.master);
    return work(chosen);
  } catch (usage_error const& mistake) {
    print_error(mistake);
    return usage_status;
  } catch (cohort::communicator_error const& problem) {
    print_error(problem);
    return problem.exit_status();
  } catch (std::exception const& problem) {
    print_error(problem);
    return 1;
  }
}

}  // namespace

int run_ranks(program_text const& text, options const& defaults, int argc, char** argv,
              std::function<int(options const&, cohort::communicator&)> const& body) {
  return guarded(text, defaults, {}, argc, argv, [&](options const& chosen) {
    return launch(chosen.run, chosen.preflight, argc, argv, [&](cohort::communicator& world) {
      require_outputs(chosen, world);
      return body(chosen, world);
    });
  });
}

int run(program const& what, int argc, char** argv) {
  return guarded(what.text, what.defaults, what.original, argc, argv, [&](options const& chosen) {
    factory_for(chosen.run.backend);  // throws before any work starts
    // The data is loaded after the ranks have joined: if a host has no data, all ranks then end at once, with
    // the same exit status. Ranks that are threads share the data.
    std::optional<sets> data;
    std::once_flag is_loaded;
    return launch(chosen.run, chosen.preflight, argc, argv, [&](cohort::communicator& world) {
      require_outputs(chosen, world);
      std::call_once(is_loaded, [&] { data.emplace(what.data(chosen)); });
      return run_rank(what, chosen, world, *data);
    });
  });
}

}  // namespace reference_program
