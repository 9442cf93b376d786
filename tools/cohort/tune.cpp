// SPDX-License-Identifier: Apache-2.0
// Searches the hyperparameters of a document: cohort tune --help
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "child_process.hpp"
#include "commands.hpp"
#include "document_call.hpp"
#include "search_journal.hpp"
#include "search_space.hpp"

extern char** environ;  // NOLINT: POSIX

namespace {

using cohort::run_document;
using cohort_program::document_call;
using cohort_program::run_outcome;
using cohort_program::run_place;
using cohort_program::run_result;
using cohort_program::search_point;
using cohort_program::search_rung;
using cohort_program::search_space;
using cohort_program::usage_error;
namespace files = std::filesystem;
using clock_type = std::chrono::steady_clock;

constexpr char const* help =
    R"(Searches hyperparameters: trains the network of a document with different values of its fields. Each run is a
process: cohort train with --set. The same command continues an interrupted search.

  cohort tune FILE --space SPACE --output DIR --maximise METRIC [flags]

  --space SPACE      the fields and their values (JSON): {"training.batch": [16, 32],
                     "optimizer.rule.adam.learning_rate": {"log_uniform": [1e-4, 1]}}; also uniform and integer
  --output DIR       folder of the journal, the runs, results.csv, results.json, best.json and best.safetensors
  --maximise METRIC  number of the run's report to maximise, such as accuracy
  --minimise METRIC  the same for a number to minimise, such as rmse, loss or "validation loss"
  --method METHOD    random; grid: all combinations, with "grid": N beside each interval; halving: successive
                     halving, which trains all runs for a few epochs and the best ones further (random)
  --runs N           number of runs of random and halving
  --factor N         halving: each rung trains 1/N of the runs for N times the epochs (3)
  --search-seed N    seed of the values of random and halving (0)
  --parallel N       number of runs at the same time; each gets an equal part of the processors (1)
  --deadline SECONDS limit of each run in each rung; a run beyond it is stopped and counted (0: none)
  --retry            repeats the runs that failed or exceeded the deadline
  --restart          discards the search in DIR

The runs write no other outputs, except TensorBoard's files if output.tensorboard is set: DIR/runs/N/tensorboard.
After SIGINT, SIGTERM and SIGHUP, the runs save checkpoints, and the exit status is 75. The status is 1 if no run
succeeded.

)";

constexpr int stopped_status = cohort::communicator_exit_status;
constexpr auto patience = std::chrono::seconds(10);       // between SIGTERM and SIGKILL
constexpr auto lock_patience = std::chrono::seconds(60);  // for the runs of a search that was killed

enum class search_method : std::uint8_t { grid, random, halving };

struct search_settings {
  std::string output;
  std::string metric;
  bool maximises = true;
  search_method method = search_method::random;
  int runs = 0;
  int factor = 3;
  std::uint64_t seed = 0;
  int parallel = 1;
  std::chrono::seconds deadline{0};
  bool retries = false;
  bool restarts = false;
};

template <class Number>
Number number_of(document_call const& call, std::string_view flag, Number least, Number most,
                 Number otherwise) {
  if (!call.has(flag)) return otherwise;
  std::string const text = call.value(flag);
  Number number{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw usage_error(std::string(flag) + ": expected a number from " + std::to_string(least) + " to "
                      + std::to_string(most) + ", got '" + text + "'");
  return number;
}

search_settings settings_of(document_call const& call) {
  search_settings settings;
  settings.output = call.required("--output", "a folder");
  settings.maximises = call.has("--maximise");
  if (settings.maximises == call.has("--minimise"))
    throw usage_error("expected either --maximise METRIC or --minimise METRIC, got "
                      + std::string(settings.maximises ? "both" : "none"));
  settings.metric = call.required(settings.maximises ? "--maximise" : "--minimise", "a number of the report");
  std::string const method = call.has("--method") ? call.value("--method") : "random";
  constexpr std::string_view names[]{"grid", "random", "halving"};
  auto const found = std::ranges::find(names, method);
  if (found == std::end(names))
    throw usage_error("--method: expected one of " + cohort::detail::names_and_nearest(method, names)
                      + ", got '" + method + "'");
  settings.method = static_cast<search_method>(found - std::begin(names));
  constexpr int most_runs = 100'000, most_parallel = 1024, most_seconds = 1'000'000'000;
  settings.runs = number_of(call, "--runs", 1, most_runs, 0);
  if (settings.method == search_method::grid && settings.runs > 0)
    throw usage_error("--runs: expected no number for --method grid, which runs all combinations");
  if (settings.method != search_method::grid && settings.runs == 0)
    throw usage_error("--runs: expected the number of runs, got none");
  settings.factor = number_of(call, "--factor", 2, most_runs, settings.factor);
  settings.seed = number_of<std::uint64_t>(call, "--search-seed", 0, ~std::uint64_t{0}, 0);
  settings.parallel = number_of(call, "--parallel", 1, most_parallel, 1);
  settings.deadline = std::chrono::seconds(number_of(call, "--deadline", 0, most_seconds, 0));
  settings.retries = call.has("--retry");
  settings.restarts = call.has("--restart");
  return settings;
}

/// Locks the folder of a search. The runs inherit the lock, so a search begins only after the runs of an
/// earlier one have ended, even if that one was killed.
class folder_lock {
 public:
  explicit folder_lock(std::string const& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY)) {
    if (descriptor_ < 0) cohort::detail::refuse_file("cannot open the folder of the search", folder, errno);
    auto const end = clock_type::now() + lock_patience;
    for (bool printed = false; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; printed = true) {
      if (clock_type::now() > end)
        throw cohort::file_error({.what = "another search uses the folder",
                                  .where = folder,
                                  .expected = "--output with another folder, or the end of that search",
                                  .got = "its runs have not ended"});
      if (!printed)
        std::fprintf(stderr, "cohort tune: waiting at most %d s for the runs of another search in %s\n",
                     static_cast<int>(lock_patience.count()), folder.c_str());
      constexpr int interval_us = 100'000;
      ::usleep(interval_us);
    }
  }
  folder_lock(folder_lock const&) = delete;
  folder_lock& operator=(folder_lock const&) = delete;
  ~folder_lock() { ::close(descriptor_); }

 private:
  int descriptor_;
};

/// Returns the number of a name in a report: a field, a metric of the restored parameters, or the last value
/// of a series in its history.
///
/// Errors    usage_error, with the names of the report, if it has no such number. Returns nullopt for an
///           undefined number.
std::optional<double> metric_of(std::string const& report, std::string const& metric, char const* flag) {
  auto const parsed = cohort::io::parse_json(cohort::io::read_text(report), report);
  auto const root = parsed.root();
  using kind = cohort::io::json_kind;
  auto const is_number = [](cohort::io::json_value value) {
    return value.kind() == kind::number || value.is_null();
  };
  auto const number_in = [](cohort::io::json_value value) {
    return value.is_null() ? std::nullopt : std::optional(value.number());
  };
  std::vector<std::string_view> names;
  for (auto const field : root.items()) {
    if (!is_number(field)) continue;
    if (field.key() == metric) return number_in(field);
    names.push_back(field.key());
  }
  if (auto const restored = root.find("restored"))
    for (auto const field : restored->items())
      if (field.key() == metric && metric != "epoch") return number_in(field);
  if (auto const history = root.find("history"))
    for (auto const series : history->items()) {
      if (series.size() == 0) continue;
      if (series.key() == metric) return number_in(series.at(series.size() - 1));
      if (std::ranges::find(names, series.key()) == names.end()) names.push_back(series.key());
    }
  throw usage_error(std::string(flag) + ": expected a number of the report, one of "
                    + cohort::detail::names_and_nearest(metric, names) + "; got '" + metric + "'");
}

/// Returns the last line of a log that is not empty.
std::string last_line(std::string const& path) {
  constexpr std::uint64_t longest = 4096;
  cohort::io::file_reader const file(path);
  std::string text(std::min(file.size(), longest), ' ');
  auto const opened = cohort::detail::open_regular_file(path, "a log");
  text.resize(cohort::detail::read_at(opened, path, file.size() - text.size(), text.data(), text.size()));
  std::size_t const end = text.find_last_not_of("\n ");
  if (end == text.npos) return "";
  std::size_t const begin = text.rfind('\n', end);
  return cohort::detail::make_printable(text.substr(begin == text.npos ? 0 : begin + 1, end - begin));
}

/// A search in a folder: the points, their results, and the processes that train them.
class search {
 public:
  search(run_document const& base, search_space const& space, search_settings const& settings)
      : base_(base), space_(space), settings_(settings) {
    points_ =
        settings.method == search_method::grid ? space.grid() : space.sample(settings.seed, settings.runs);
    if (settings.method != search_method::grid && std::cmp_less(points_.size(), settings.runs))
      std::fprintf(stderr, "cohort tune: the space has only %zu different points\n", points_.size());
    auto const count = static_cast<int>(points_.size());
    if (settings.method == search_method::halving)
      rungs_ = cohort_program::halving_rungs(count, base.fit.epochs, settings.factor);
    else
      rungs_ = {{count, 0}};
    check_points();
  }
  search(search const&) = delete;
  search& operator=(search const&) = delete;

  /// Trains all points that have no result. Returns the exit status.
  int run() {
    open();
    cohort_program::signal_source const signals;
    signals_ = &signals;
    if (rungs_.size() > 1)
      for (search_rung const& rung : rungs_)
        std::printf("rung: %d runs, %d epochs\n", rung.runs, rung.epochs);
    std::vector<int> candidates(points_.size());
    std::iota(candidates.begin(), candidates.end(), 0);
    for (std::size_t rung = 0; rung < rungs_.size(); ++rung) {
      candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(rungs_[rung].runs)));
      if (!train(candidates, static_cast<int>(rung))) {
        write_tables();
        std::fprintf(stderr, "cohort tune: stopped after %zu results; the same command continues\n",
                     results_.size());
        return stopped_status;
      }
      candidates = ranking(candidates, static_cast<int>(rung));
    }
    write_tables();
    remove_checkpoints();
    return print_summary();
  }

 private:
  struct job {
    run_place place;
    pid_t id = -1;
    int slot = 0;  ///< number of its part of the processors
    clock_type::time_point start{};
    bool late = false;
    bool killed = false;
  };

  // ---- files -------------------------------------------------------------------------------------------
  std::string file(std::string const& name) const { return settings_.output + '/' + name; }
  std::string folder_of(int run) const { return file("runs/" + std::to_string(run)); }
  std::string report_of(run_place place) const {
    return folder_of(place.first) + "/report-" + std::to_string(place.second) + ".json";
  }
  std::string model_of(run_place place) const {
    return folder_of(place.first) + "/model-" + std::to_string(place.second) + ".safetensors";
  }
  char const* metric_flag() const { return settings_.maximises ? "--maximise" : "--minimise"; }

  /// Returns the document of the runs: that of the user without outputs.
  run_document document() const {
    run_document run = base_;
    run.output = {.checkpoint_every = base_.output.checkpoint_every};
    return run;
  }

  /// The settings that determine the results, as JSON. Raising --runs extends a random search.
  std::string settings_text() const {
    cohort::io::json_writer out;
    constexpr char const* names[]{"grid", "random", "halving"};
    out.begin_object().field("document", std::to_string(cohort::detail::fnv1a(to_json(document()))));
    out.field("--space", space_.text()).field("--method", names[static_cast<int>(settings_.method)]);
    out.field(metric_flag(), settings_.metric);
    if (settings_.method != search_method::grid) out.field("--search-seed", std::to_string(settings_.seed));
    if (settings_.method == search_method::halving)
      out.field("--runs", std::to_string(settings_.runs)).field("--factor", std::to_string(settings_.factor));
    return out.end_object().text();
  }

  /// Throws if a point is not valid for the document. Sets epochs_.
  void check_points() {
    for (cohort_program::search_parameter const& parameter : space_.parameters()) {
      std::string_view const path = parameter.path;
      bool const is_rung = settings_.method == search_method::halving && path == "training.epochs";
      if (is_rung || path == "output" || path.starts_with("output."))
        throw usage_error("--space: " + parameter.path
                          + ": expected a field that the search does not set itself");
    }
    for (search_point const& point : points_) {
      run_document const run = with(point, base_);
      run.check();
      epochs_.push_back(run.fit.epochs);
    }
  }
  run_document with(search_point const& point, run_document run) const {
    for (std::size_t k = 0; k < point.size(); ++k) {
      std::string const& path = space_.parameters()[k].path;
      run.set(path, point[k], "--space, " + path + "=" + point[k]);
    }
    return run;
  }

  /// Opens the folder: reads the journal and the reports of an earlier call.
  void open() {
    cohort::io::make_folder(settings_.output);
    lock_.emplace(settings_.output);
    std::string const path = file("journal");
    if (!cohort::io::size_of_file(path)) {
      if (files::exists(file("runs")))
        throw cohort::file_error({.what = "the folder contains runs, but no journal of a search",
                                  .where = settings_.output,
                                  .expected = "a new folder, or the folder of an earlier search",
                                  .got = file("runs")});
    } else if (settings_.restarts) {
      files::remove_all(file("runs"));
    } else {
      read(path);
    }
    journal_ = std::make_unique<cohort_program::search_journal>(path, settings_text(), results_);
    cohort::io::write_file(file("document.json"), to_json(document()));
  }

  void read(std::string const& path) {
    auto content = cohort_program::read_journal(cohort::io::read_text(path));
    if (content.damaged > 0)
      std::fprintf(stderr,
                   "cohort tune: %s: %d damaged lines are ignored; runs without a report are repeated\n",
                   path.c_str(), content.damaged);
    require_same_settings(content.settings, !content.results.empty());
    results_ = std::move(content.results);
    // The models of the remaining runs may have been removed, because a run beyond them was better.
    if (int const most = results_.empty() ? 0 : results_.rbegin()->first.first + 1;
        std::cmp_greater(most, points_.size()))
      throw cohort::setting_error(
          {.what = "the folder contains results of more runs",
           .where = settings_.output,
           .expected = "--runs " + std::to_string(most) + " or more; use another --output, or --restart",
           .got = std::to_string(settings_.runs)});
    std::erase_if(results_, [&](auto const& entry) {
      auto const& [place, result] = entry;
      bool const is_repeated = settings_.retries && result.outcome != run_outcome::succeeded;
      if (is_repeated) cohort::io::remove_file(report_of(place));
      return is_repeated;
    });
  }

  /// Without results, the metric may differ: the runs and their reports do not depend on it.
  void require_same_settings(std::string const& before, bool has_results) const {
    std::string const end = "; use another --output, or --restart";
    if (before.empty())
      throw cohort::data_error({.what = "cannot read the journal of the search",
                                .where = file("journal"),
                                .expected = "the settings of the search in the first line" + end,
                                .got = "a damaged line"});
    auto const refuse = [&](std::string const& expected, std::string const& got) {
      throw cohort::setting_error({.what = "the folder contains another search",
                                   .where = settings_.output,
                                   .expected = expected + end,
                                   .got = got});
    };
    std::string const text = settings_text();
    if (before == text) return;
    auto const ours = cohort::io::parse_json(text, "settings");
    auto const others = cohort::io::parse_json(before, file("journal"));
    for (auto const field : ours.root().items()) {
      std::string const name(field.key());
      if (!has_results && name == metric_flag()) continue;
      auto const other = others.root().find(name);
      if (other && other->string() == field.string()) continue;
      if (name == "document") refuse("the document of that search", "another document");
      if (!other) refuse("a search without " + name, std::string(field.string()));
      refuse(name + ' ' + std::string(other->string()), std::string(field.string()));
    }
    if (ours.root().size() != others.root().size()) refuse("the flags of that search", "other flags");
  }

  /// Adds a result to the journal.
  void add(run_place place, run_result result) {
    journal_->add(place, result);
    print_result(place, result);
    results_[place] = std::move(result);
    write_tables();
  }

  // ---- processes -----------------------------------------------------------------------------------------
  /// Trains these runs up to a rung. Returns false if a signal stopped the search.
  bool train(std::vector<int> const& runs, int rung) {
    std::vector<run_place> waiting;
    for (int const run : runs)
      if (run_place const place(run, rung); !results_.contains(place) && !adopt(place))
        waiting.push_back(place);
    std::ranges::reverse(waiting);  // taken from the end
    std::vector<job> jobs;
    try {
      while (!jobs.empty() || (!waiting.empty() && !stopping_)) {
        while (!stopping_ && !waiting.empty() && std::cmp_less(jobs.size(), settings_.parallel)) {
          jobs.push_back(start(waiting.back(), free_slot(jobs)));
          waiting.pop_back();
        }
        constexpr std::chrono::milliseconds interval(20);
        bool const interrupted = signals_->interrupted_within(interval);
        if (interrupted && !stopping_) stopping_ = clock_type::now();
        end_jobs(jobs, interrupted);
        collect(jobs, waiting);
      }
    } catch (...) {
      for (job const& failed : jobs) ::kill(-failed.id, SIGKILL);
      throw;
    }
    return !stopping_;
  }

  int free_slot(std::vector<job> const& jobs) const {
    int slot = 0;
    while (std::ranges::find(jobs, slot, &job::slot) != jobs.end()) ++slot;
    return slot;
  }

  /// Takes the result of a run that has ended, but is not in the journal, from its report.
  bool adopt(run_place place) {
    std::string const report = report_of(place);
    if (!cohort::io::size_of_file(report)) return false;
    try {
      if (must_be_repeated(place)) return false;
      add(place, result_of(place, 0));
    } catch (cohort::data_error const&) {
      cohort::io::remove_file(report);  // damaged
      return false;
    }
    return true;
  }

  job start(run_place place, int slot) {
    std::string const folder = folder_of(place.first);
    cohort::io::make_folder(folder);
    std::vector<std::string> words{"cohort", "train", file("document.json")};
    auto const set = [&](std::string const& path, std::string const& value) {
      words.push_back("--set");
      words.push_back(path + "=" + value);
    };
    search_point const& point = points_[static_cast<std::size_t>(place.first)];
    for (std::size_t k = 0; k < point.size(); ++k) set(space_.parameters()[k].path, point[k]);
    if (int const epochs = rungs_[static_cast<std::size_t>(place.second)].epochs; epochs > 0)
      set("training.epochs", std::to_string(epochs));
    set("output.model", cohort_program::json_of(model_of(place)));
    set("output.checkpoints", cohort_program::json_of(folder + "/checkpoints"));
    set("output.resume", "true");
    set("output.report", cohort_program::json_of(report_of(place)));
    if (!base_.output.tensorboard.empty())
      set("output.tensorboard", cohort_program::json_of(folder + "/tensorboard"));
    job started{.place = place, .slot = slot, .start = clock_type::now()};
    std::string const log = folder + "/log";
    pid_t const parent = ::getpid();
    started.id = ::fork();
    if (started.id < 0)
      throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (started.id == 0) execute(words, log, parent, slot);
    ::setpgid(started.id,
              started.id);  // done in both processes: a signal may be sent before the child has run
    return started;
  }

  [[noreturn]] void execute(std::vector<std::string> const& words, std::string const& log, pid_t parent,
                            int slot) const {
    ::setpgid(0, 0);  // the terminal's signals reach only cohort tune, which forwards them
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);  // killed before prctl
    ::sigprocmask(SIG_SETMASK, &signals_->before(), nullptr);
    constexpr mode_t permissions = 0666;
    int const output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, permissions);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    // The document of the runs contains what the variables set.
    std::vector<std::string> variables{cohort::documents::max_bytes_variable};
    for (char** variable = environ; *variable; ++variable)
      if (std::string_view const entry = *variable; entry.starts_with("COHORT_SET_"))
        variables.emplace_back(entry.substr(0, entry.find('=')));
    for (std::string const& name : variables) ::unsetenv(name.c_str());
    if (settings_.parallel > 1) cohort_program::use_processors(slot, settings_.parallel, true);
    std::vector<char*> all;
    for (std::string const& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    ::execv("/proc/self/exe", all.data());
    std::fprintf(stderr, "cohort tune: cannot execute cohort train: %s\n", std::strerror(errno));
    ::_exit(1);
  }

  /// Ends runs beyond the deadline, and all runs after a signal.
  void end_jobs(std::vector<job>& jobs, bool interrupted) const {
    auto const time = clock_type::now();
    for (job& running : jobs) {
      bool const too_long = settings_.deadline.count() > 0 && time - running.start > settings_.deadline;
      if (too_long && !stopping_ && !running.late) {
        running.late = true;
        ::kill(-running.id, SIGTERM);
      }
      if (interrupted) ::kill(-running.id, SIGTERM);
      auto const since = stopping_ ? *stopping_ : running.start + settings_.deadline;
      if ((stopping_ || running.late) && time - since > patience && !std::exchange(running.killed, true))
        ::kill(-running.id, SIGKILL);
    }
  }

  /// Returns whether the report of a run lacks the metric because its process trained no steps: an earlier
  /// process was killed between its last checkpoint and its report. The run then begins anew: checkpoints and
  /// report are removed.
  bool must_be_repeated(run_place place) const {
    std::string const report = report_of(place);
    {
      auto const parsed = cohort::io::parse_json(cohort::io::read_text(report), report);
      auto const steps = parsed.root().find("steps");
      if (!steps || steps->number() > 0 || epochs_of(place) == 0) return false;
      auto const metric = parsed.root().find(settings_.metric);
      if (metric && !metric->is_null()) return false;
    }
    files::remove_all(folder_of(place.first) + "/checkpoints");
    cohort::io::remove_file(report);
    return true;
  }

  void collect(std::vector<job>& jobs, std::vector<run_place>& waiting) {
    for (std::size_t k = jobs.size(); k-- > 0;) {
      int status = 0;
      if (::waitpid(jobs[k].id, &status, WNOHANG) != jobs[k].id) continue;
      job const ended = jobs[k];
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(k));
      bool const has_succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (stopping_ && !has_succeeded) continue;  // continues in the next search
      double const seconds = std::chrono::duration<double>(clock_type::now() - ended.start).count();
      if (has_succeeded && must_be_repeated(ended.place))
        waiting.push_back(ended.place);
      else if (has_succeeded)
        add(ended.place, result_of(ended.place, seconds));
      else
        add_failure(ended, status, seconds);
    }
  }

  run_result result_of(run_place place, double seconds) const {
    auto const number = metric_of(report_of(place), settings_.metric, metric_flag());
    if (!number)
      return {
          .outcome = run_outcome::failed, .seconds = seconds, .reason = settings_.metric + " is undefined"};
    return {.metric = *number, .seconds = seconds};
  }

  void add_failure(job const& ended, int status, double seconds) {
    std::string const folder = folder_of(ended.place.first);
    run_result result{.outcome = ended.late ? run_outcome::late : run_outcome::failed, .seconds = seconds};
    if (ended.late)
      result.reason = "longer than " + std::to_string(settings_.deadline.count()) + " s";
    else if (WIFSIGNALED(status))
      result.reason = std::string("ended by the signal ") + ::strsignal(WTERMSIG(status));
    else
      result.reason = last_line(folder + "/log");
    files::remove_all(folder + "/checkpoints");
    add(ended.place, std::move(result));
  }

  // ---- results -------------------------------------------------------------------------------------------
  bool is_better(double a, double b) const { return settings_.maximises ? a > b : a < b; }

  /// Returns the runs that have succeeded in a rung, the best one first; equal ones by their numbers.
  std::vector<int> ranking(std::vector<int> runs, int rung) const {
    auto const result = [&](int run) {
      auto const found = results_.find({run, rung});
      bool const has_metric = found != results_.end() && found->second.outcome == run_outcome::succeeded;
      return has_metric ? &found->second : nullptr;
    };
    std::erase_if(runs, [&](int run) { return !result(run); });
    std::ranges::sort(runs);
    std::ranges::stable_sort(runs,
                             [&](int a, int b) { return is_better(result(a)->metric, result(b)->metric); });
    return runs;
  }
  /// Returns run and rung of the best result: of the last rung that has one.
  std::optional<run_place> best() const {
    std::vector<int> all(points_.size());
    std::iota(all.begin(), all.end(), 0);
    for (auto rung = static_cast<int>(rungs_.size()); rung-- > 0;)
      if (auto const ranked = ranking(all, rung); !ranked.empty()) return run_place(ranked.front(), rung);
    return std::nullopt;
  }

  int count(run_outcome outcome) const {
    return static_cast<int>(
        std::ranges::count_if(results_, [&](auto const& entry) { return entry.second.outcome == outcome; }));
  }
  int epochs_of(run_place place) const {
    int const epochs = rungs_[static_cast<std::size_t>(place.second)].epochs;
    return epochs > 0 ? epochs : epochs_[static_cast<std::size_t>(place.first)];
  }

  std::string values_text(int run) const {
    std::string text;
    search_point const& point = points_[static_cast<std::size_t>(run)];
    for (std::size_t k = 0; k < point.size(); ++k)
      text += (k == 0 ? "" : ", ") + space_.parameters()[k].path + "=" + point[k];
    return text;
  }

  std::string metric_text(run_result const& result) const {
    return settings_.metric + " " + cohort_program::json_of(result.metric);
  }

  void print_result(run_place place, run_result const& result) const {
    bool const succeeded = result.outcome == run_outcome::succeeded;
    std::string const text = succeeded ? metric_text(result) : "failed: " + result.reason;
    std::printf("run %d, %d epochs: %s (%s)\n", place.first, epochs_of(place), text.c_str(),
                values_text(place.first).c_str());
    std::fflush(stdout);
  }

  /// Writes the tables of the results, and the document and model of the best run. Other models are removed.
  void write_tables() {
    auto const found = best();
    cohort::io::write_file(file("results.json"), json_table(found));
    cohort::io::write_file(file("results.csv"), csv_table());
    if (!found) return;
    run_document document = with(points_[static_cast<std::size_t>(found->first)], base_);
    document.fit.epochs = epochs_of(*found);
    cohort::io::write_file(file("best.json"), to_json(document));
    for (auto const& [place, result] : results_)
      if (place != *found) cohort::io::remove_file(model_of(place));
  }

  std::string json_table(std::optional<run_place> const& found) const {
    cohort::io::json_writer out(2);
    out.begin_object()
        .field("metric", settings_.metric)
        .field("goal", settings_.maximises ? "maximise" : "minimise");
    for (std::size_t k = 0; k < cohort_program::outcome_names.size(); ++k)
      out.field(cohort_program::outcome_names[k], count(static_cast<run_outcome>(k)));
    out.key("best");
    found ? out.value(found->first) : out.value(nullptr);
    out.key("results").begin_array();
    for (auto const& [place, result] : results_) {
      out.begin_object(cohort::io::json_lines::one)
          .field("run", place.first)
          .field("epochs", epochs_of(place));
      out.field("outcome", cohort_program::outcome_names[static_cast<std::size_t>(result.outcome)])
          .key("metric");
      result.outcome == run_outcome::succeeded ? out.value(result.metric) : out.value(nullptr);
      out.field("seconds", result.seconds)
          .field("reason", result.reason)
          .key("values")
          .begin_object(cohort::io::json_lines::one);
      for (std::size_t k = 0; k < space_.parameters().size(); ++k) {
        auto const value = cohort::io::parse_json(points_[static_cast<std::size_t>(place.first)][k]);
        cohort_program::write_value(out.key(space_.parameters()[k].path), value.root());
      }
      out.end_object().end_object();
    }
    return out.end_array().end_object().text();
  }

  std::string csv_table() const {
    auto const field = [](std::string& text, std::string_view value) {
      if (!text.empty() && text.back() != '\n') text += ',';
      cohort::detail::append_csv_field(text, value);
    };
    std::string text;
    for (char const* name : {"run", "epochs", "outcome"}) field(text, name);
    field(text, settings_.metric);
    for (char const* name : {"seconds", "reason"}) field(text, name);
    for (cohort_program::search_parameter const& parameter : space_.parameters()) field(text, parameter.path);
    text += '\n';
    for (auto const& [place, result] : results_) {
      bool const succeeded = result.outcome == run_outcome::succeeded;
      field(text, std::to_string(place.first));
      field(text, std::to_string(epochs_of(place)));
      field(text, cohort_program::outcome_names[static_cast<std::size_t>(result.outcome)]);
      field(text, succeeded ? cohort_program::json_of(result.metric) : "");
      field(text, cohort_program::json_of(result.seconds));
      field(text, result.reason);
      for (std::string const& value : points_[static_cast<std::size_t>(place.first)]) field(text, value);
      text += '\n';
    }
    return text;
  }

  void remove_checkpoints() const {
    for (std::size_t run = 0; run < points_.size(); ++run)
      files::remove_all(folder_of(static_cast<int>(run)) + "/checkpoints");
  }

  int print_summary() const {
    std::printf("\n%d results succeeded, %d failed, %d exceeded the deadline\n",
                count(run_outcome::succeeded), count(run_outcome::failed), count(run_outcome::late));
    auto const found = best();
    if (!found) {
      std::fprintf(stderr, "cohort tune: expected a run that succeeds, got none; %s lists the reasons\n",
                   file("results.csv").c_str());
      return 1;
    }
    files::copy_file(model_of(*found), file("best.safetensors"), files::copy_options::overwrite_existing);
    std::printf("best: run %d, %s (%s)\ndocument %s, model %s\n", found->first,
                metric_text(results_.at(*found)).c_str(), values_text(found->first).c_str(),
                file("best.json").c_str(), file("best.safetensors").c_str());
    return 0;
  }

  run_document const& base_;
  search_space const& space_;
  search_settings const& settings_;
  std::vector<search_point> points_;
  std::vector<int> epochs_;  ///< of the points' documents
  std::vector<search_rung> rungs_;
  cohort_program::run_results results_;
  std::optional<folder_lock> lock_;
  std::unique_ptr<cohort_program::search_journal> journal_;
  cohort_program::signal_source const* signals_ = nullptr;
  std::optional<clock_type::time_point> stopping_;  ///< when a signal stopped the search
};

int tune(document_call const& call, run_document const& run) {
  search_settings const settings = settings_of(call);
  std::string const path = call.required("--space", "a file in JSON");
  std::optional<search_space> space;
  std::optional<search> prepared;
  try {
    auto const parsed = cohort::io::parse_json(cohort::io::read_text(path), path);
    space.emplace(parsed.root());
    prepared.emplace(run, *space, settings);
  } catch (cohort::error const& problem) {
    throw usage_error(problem.what());
  }
  return prepared->run();
}

}  // namespace

int cohort_program::tune_command(int count, char** words) {
  return run_document_command(count, words,
                              {.help = help,
                               .flags = {{"--space"},
                                         {"--output"},
                                         {"--maximise"},
                                         {"--minimise"},
                                         {"--method"},
                                         {"--runs"},
                                         {"--factor"},
                                         {"--search-seed"},
                                         {"--parallel"},
                                         {"--deadline"},
                                         {"--retry", false},
                                         {"--restart", false}},
                               .work = tune});
}
