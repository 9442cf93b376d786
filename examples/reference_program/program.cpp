// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cohort/cohort.hpp>
#include <cohort/documents.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/monitoring/forecast.hpp>
#include <cohort/monitoring/timeline.hpp>
#include <cohort/plan/machine_peaks.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#if COHORT_WITH_MPI
#include <cohort/mpi.hpp>
#endif
#if COHORT_WITH_TCP
#include <cohort/tcp.hpp>
#endif
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reference_program {

using namespace cohort::documents;

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
    if (shown) shown->show("accuracy", training.step(), curve.back().accuracy);
    if (shown && how.top > 1) shown->show("top_accuracy", training.step(), last->top_accuracy().value_or(0));
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
  cohort::sink const lines = stdout_sink(), log = cohort::stderr_sink();
  if (prints) print_data(images.notice, images.where, images.train, &images.test, "images", lines);
  if (what.adjust) what.adjust(chosen, run.training.optimizer);
  cohort::training training = make_training(run, what.network(chosen, images), world, flag_names);
  if (what.normalises) training.normalise(images.train);
  if (!chosen.weights.empty()) read_weights(training, chosen);
  if (!chosen.load.empty()) training.load(chosen.load);
  std::int64_t const last_epoch = training.epoch() + run.fit.epochs;
  if (output.resume) resume_newest(training, output.checkpoints, lines);
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
    listeners.push_back(&saving.emplace(output.checkpoints, output.checkpoint_every, output.keep,
                                        cohort::stderr_sink(), std::chrono::seconds(output.max_age)));
    listeners.push_back(&stopping.emplace());
  }
  if (!chosen.trace.empty()) listeners.push_back(&times.emplace(world));
  cohort::fit_settings how = run.fit;
  how.epochs = static_cast<int>(std::max<std::int64_t>(last_epoch - training.epoch(), 0));
  monitors const shown(output, what.text.name, training, images.train, &images.test, results.how, how);
  shown.add_to(listeners);
  results.shown = &shown;
  how.listeners = std::move(listeners);
  if (chosen.preflight) check_run(training, images.train, how, run, log);
  cohort::fit_report const fitted = training.fit(images.train, how);
  std::string const trace = times ? times->trace() : "";
  if (fitted.stopped) {
    if (!trace.empty()) cohort::io::write_file(chosen.trace, trace);
    return report_stop(training, saving ? &*saving : nullptr, lines, log);
  }
  if (!results.last) results.last = training.evaluate(images.test, results.how);
  run_totals const totals = totals_of(fitted, results.seconds, world);
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
    print_totals(training, fitted, totals, run.strategy, lines);
    std::fputs(forecast.c_str(), stdout);
    std::fflush(stdout);
  }
  if (!output.model.empty())
    save(training, output.model);  // last, so that a failure does not prevent the printing of results
  if (prints && !trace.empty()) cohort::io::write_file(chosen.trace, trace);
  if (prints && !output.report.empty())
    cohort::io::write_file(output.report,
                           json_report(chosen, training, fitted, results, images.kind, totals));
  return report_failed_saves(training, saving ? &*saving : nullptr, log);
}

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

/// Sets a variable of the environment, unless it is set, from a flag that is not empty.
void set_variable(char const* name, std::string const& value) {
  if (constexpr int keep = 0; !value.empty()) ::setenv(name, value.c_str(), keep);
}

/// Applies Deeplearning4j's flags of a cluster. With a launcher, checks that --masterIP is rank 0's host.
/// Without one, the processes meet at this host over TCP.
///
/// Errors    usage_error.
void apply_cluster_flags(options const& chosen) {
#if COHORT_WITH_MPI
  bool const under_mpirun = !std::getenv("COHORT_JOIN") && cohort::mpi_started();
#else
  bool const under_mpirun = false;
#endif
  if (under_mpirun && (!chosen.network_mask.empty() || chosen.nodes > 0))
    throw usage_error{std::string(chosen.nodes > 0 ? "--numNodes" : "--networkMask")
                      + ": expected no such flag under mpirun, whose options set hosts and networks"};
  set_variable("COHORT_INTERFACES", chosen.network_mask);
  set_variable("COHORT_RANKS", chosen.nodes > 0 ? std::to_string(chosen.nodes) : "");
  std::string const& host = chosen.master;
  if (host.empty()) {
    if (chosen.nodes > 0 && !std::getenv("COHORT_JOIN"))
      throw usage_error{"--numNodes: expected --masterIP HOST as well, got none"};
    return;
  }
#if COHORT_WITH_TCP
  bool const has_launcher = under_mpirun || cohort::tcp_started();
#else
  bool const has_launcher = under_mpirun;
  if (!has_launcher)
    throw usage_error{
        "--masterIP: expected ranks that mpirun starts, or a program that was built with the component tcp"};
#endif
  if (has_launcher) {
    if (has_rank_0() && !is_this_machine(host))
      throw usage_error{
          "--masterIP: expected an address of rank 0's host, the first one in the launcher's list of hosts, "
          "got '"
          + host + "'"};
    return;
  }
  if (!std::getenv("COHORT_RANKS"))
    throw usage_error{
        "--masterIP: expected --numNodes N as well, the number of processes, got none; start the program "
        "once on "
        "each host, or use a launcher"};
  bool const is_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  set_variable("COHORT_JOIN", (is_ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(chosen.master_port));
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
    apply_cluster_flags(chosen);
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
    auto const run_rank = [&](cohort::communicator& world) {
      require_outputs(chosen, world);
      return body(chosen, world);
    };
    return launch(chosen.run, chosen.preflight, run_rank, flag_names);
  });
}

int run(program const& what, int argc, char** argv) {
  return guarded(what.text, what.defaults, what.original, argc, argv, [&](options const& chosen) {
    require_backend(chosen.run.backend, flag_names);  // throws before any work starts
    // The data is loaded after the ranks have joined: if a host has no data, all ranks then end at once, with
    // the same exit status. Ranks that are threads share the data.
    std::optional<sets> data;
    std::once_flag is_loaded;
    auto const body = [&](cohort::communicator& world) {
      require_outputs(chosen, world);
      std::call_once(is_loaded, [&] { data.emplace(what.data(chosen)); });
      return run_rank(what, chosen, world, *data);
    };
    return launch(chosen.run, chosen.preflight, body, flag_names);
  });
}

}  // namespace reference_program
