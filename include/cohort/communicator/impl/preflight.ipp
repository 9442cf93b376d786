// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cohort/communicator/detail/preflight_facts.hpp>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/usable_processors.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cohort/version.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace cohort::detail {

/// Returns the free bytes of a path's file system that this user can use; 0 if the path does not exist.
std::uint64_t free_bytes(char const* path) {
  std::error_code failure;
  std::filesystem::space_info const found = std::filesystem::space(path, failure);
  return failure ? 0 : found.available;
}

/// Returns the number at the beginning of a line of the file, or after `key` at the beginning of a line;
/// nullopt if there is none.
std::optional<std::uint64_t> number_in_file(std::filesystem::path const& path, std::string const& key = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::uint64_t made = 0;
    auto const [end, failure] = std::from_chars(line.data() + key.size(), line.data() + line.size(), made);
    if (failure == std::errc{}) return made;
  }
  return std::nullopt;
}

std::uint64_t free_memory_of_group(std::string const& root, std::string_view group) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  group.remove_prefix(std::min(group.find_first_not_of('/'), group.size()));
  std::filesystem::path const top = root;
  for (std::filesystem::path at = group.empty() ? top : top / group;; at = at.parent_path()) {
    std::optional<std::uint64_t> const most = number_in_file(at / "memory.max");  // "max": no limit
    if (std::optional<std::uint64_t> const used = number_in_file(at / "memory.current"); most && used) {
      std::uint64_t const cache = number_in_file(at / "memory.stat", "inactive_file ").value_or(0);
      std::uint64_t const kept = *used - std::min(*used, cache);
      least = std::min(least, *most - std::min(*most, kept));
    }
    if (at == top || !at.has_relative_path()) return least;
  }
}

/// Free memory of the control group (version 2) of this process.
std::uint64_t free_memory_of_own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return free_memory_of_group("/sys/fs/cgroup", line.substr(3));
  return std::numeric_limits<std::uint64_t>::max();
}

/// Memory that /proc/meminfo reports as available to new programs, but at most the memory that the control
/// group of this process may use; 0 if unknown.
std::uint64_t available_memory() {
  std::FILE* const file = std::fopen("/proc/meminfo", "re");
  if (!file) return 0;
  unsigned long long kib = 0;
  for (char line[256]; std::fgets(line, sizeof line, file);)
    if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
  std::fclose(file);
  return std::min<std::uint64_t>(kib * 1024, free_memory_of_own_group());
}

/// A new file in a folder; the destructor removes it.
class preflight_file {
 public:
  /// Creates the file if there is a folder, and adds the file's name or the problem to the facts.
  preflight_file(std::string const& folder, rank_facts& facts) {
    if (folder.empty()) return;
    std::string path = folder + "/cohort-preflight-XXXXXX";
    int const file = ::mkstemp(path.data());
    if (file < 0) {
      facts.problem = std::strerror(errno);
      return;
    }
    ::close(file);
    facts.file = path.substr(folder.size() + 1);
    path_ = std::move(path);
  }
  preflight_file(preflight_file const&) = delete;
  preflight_file& operator=(preflight_file const&) = delete;
  ~preflight_file() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  std::string path_{};
};

/// Returns whether a folder has a file. Repeats the look-up, because a network file system may show a new
/// file late.
bool has_file(std::filesystem::path const& folder, std::string const& name,
              std::chrono::milliseconds at_most) {
  constexpr int attempts = 10;
  for (int k = 0; k < attempts; ++k) {
    if (k > 0) std::this_thread::sleep_for(at_most / attempts);
    std::error_code ignored;
    std::filesystem::directory_iterator const opened(folder, ignored);  // makes NFS query the server
    if (std::filesystem::exists(folder / name, ignored)) return true;
  }
  return false;
}

/// Returns whether all ranks have a folder.
bool have_folders(std::vector<rank_facts> const& all) {
  return std::ranges::none_of(all, &std::string::empty, &rank_facts::folder);
}

/// Finds the ranks whose folder does not have rank 0's file. Collective.
void compare_folders(communicator& world, std::vector<rank_facts>& all) {
  if (!have_folders(all) || all[0].file.empty()) return;
  rank_facts const& mine = all[static_cast<std::size_t>(world.rank())];
  auto const at_most = std::min(std::chrono::milliseconds(1000), world.settings().deadline / 4);
  bool const sees = !mine.problem.empty() || has_file(mine.folder, all[0].file, at_most);
  std::vector<std::string> const seen = texts_of_all(world, "preflight", sees ? "yes" : "no");
  for (std::size_t r = 0; r < all.size(); ++r) all[r].sees_first = seen[r] == "yes";
}

rank_facts rank_facts::found(preflight_settings const& what) {
  rank_facts made{.needed_memory = what.memory,
                  .needed_disk = what.disk,
                  .folder = what.folder,
                  .run = encoded_facts(what.run)};
  made.its.host = host_name();
  made.its.version = std::string(library_version);
  made.its.processors = usable_processors();
  made.its.memory = available_memory();
  made.its.shared_memory = free_bytes("/dev/shm");
  if (!what.folder.empty()) made.its.disk = free_bytes(what.folder.c_str());
  return made;
}

std::string rank_facts::encoded() const {
  std::string made;
  for (std::string const& one :
       {its.host, its.version, std::to_string(its.processors), std::to_string(its.memory),
        std::to_string(its.shared_memory), std::to_string(its.disk), std::to_string(needed_memory),
        std::to_string(needed_disk), folder, file, problem})
    made.append(one).append(1, '\0');
  return made + run;
}

rank_facts rank_facts::decoded(std::string_view text) {
  auto const next = [&] {
    std::size_t const end = std::min(text.find('\0'), text.size());
    std::string made(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return made;
  };
  auto const number = [&] { return std::strtoull(next().c_str(), nullptr, 10); };
  rank_facts made;
  made.its.host = next();
  made.its.version = next();
  made.its.processors = static_cast<int>(number());
  made.its.memory = number();
  made.its.shared_memory = number();
  made.its.disk = number();
  made.needed_memory = number();
  made.needed_disk = number();
  made.folder = next();
  made.file = next();
  made.problem = next();
  made.run = text;
  return made;
}

/// One rank's measurements with one other rank.
struct pair_times {
  double latency = 0, bandwidth = 0, clock = 0;  // units: s, bytes/s, s ahead of this rank's clock
};

/// Measures the pairs of one rank.
class pair_probe {
 public:
  pair_probe(communicator& over, std::size_t bytes) : over_(over), data_(bytes) {}

  /// Measures with another rank, which makes the same call.
  pair_times with(int other) {
    bool const begins = over_.rank() < other;
    pair_times made;
    for (int turn = 0; turn < 2; ++turn) (turn == 0) == begins ? asks(other, made) : answers(other);
    return made;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int small_messages = 5, tag = 0;

  static double system_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }
  /// Requests the time of the other rank by an empty message.
  double time_of(int other) {
    double there = 0;
    over_.send({}, other, tag);
    over_.receive(std::as_writable_bytes(std::span(&there, 1)), other, tag);
    return there;
  }

  void asks(int other, pair_times& made) {
    std::array<double, small_messages> trips{};
    time_of(other);  // opens the connections
    for (double& trip : trips) {
      auto const begin = clock::now();
      double const there = time_of(other);
      trip = seconds_since(begin);
      made.clock = there - (system_time() - trip / 2);
    }
    std::ranges::sort(trips);
    double const trip = trips[small_messages / 2];
    made.latency = trip / 2;
    auto const begin = clock::now();
    over_.send(data_, other, tag);
    over_.receive({}, other, tag);
    double const seconds = std::max(seconds_since(begin) - trip / 2, 1e-9);
    made.bandwidth = static_cast<double>(data_.size()) / seconds;
  }
  void answers(int other) {
    for (int k = 0; k < small_messages + 1; ++k) {
      over_.receive({}, other, tag);
      double const now = system_time();
      over_.send(std::as_bytes(std::span(&now, 1)), other, tag);
    }
    over_.receive(data_, other, tag);
    over_.send({}, other, tag);
  }

  communicator& over_;
  std::vector<std::byte> data_;
};

int partner_of(int rank, int round, int size) {
  int const ring = size % 2 == 0 ? size - 1 : size;  // if the size is even, the ring omits the last rank
  auto const opposite = [&](int one) { return ((2 * round - one) % ring + ring) % ring; };
  if (rank == ring) return round;
  int const other = opposite(rank);
  if (other != rank) return other;
  return size % 2 == 0 ? ring : -1;
}

/// Measures all pairs. Returns P × P measurements: for each rank, its measurements with each rank.
std::vector<pair_times> all_pairs(communicator& world, std::size_t bytes) {
  std::unique_ptr<communicator> const over = world.duplicate();
  auto const size = static_cast<std::size_t>(world.size());
  std::vector<pair_times> mine(size);
  pair_probe probe(*over, bytes);
  for (int round = 0; round < world.size() - 1 + world.size() % 2; ++round) {
    int const other = partner_of(world.rank(), round, world.size());
    if (other >= 0) mine[static_cast<std::size_t>(other)] = probe.with(other);
    over->barrier();
  }
  gathered const all = world.allgatherv(std::as_bytes(std::span(mine)));
  std::vector<pair_times> made(size * size);
  if (all.bytes.size() != made.size() * sizeof(pair_times))
    throw communicator_error({.what = "the ranks run different versions of the program",
                              .where = "preflight",
                              .expected = {made.size() * sizeof(pair_times), " bytes of measurements"},
                              .got = {all.bytes.size()}});
  std::memcpy(made.data(), all.bytes.data(), all.bytes.size());
  return made;
}

std::string megabytes(std::uint64_t bytes) { return text_of({(bytes + 500'000) / 1'000'000, " MB"}); }

/// Collects the facts of all ranks, and compares their folders. The file exists during this call only, so a
/// rank that is killed later leaves no file. Collective.
std::vector<rank_facts> facts_of_ranks(communicator& world, preflight_settings const& what) {
  rank_facts mine = rank_facts::found(what);
  preflight_file const file(what.folder, mine);
  std::vector<rank_facts> all;
  for (std::string const& text : texts_of_all(world, "preflight", mine.encoded()))
    all.push_back(rank_facts::decoded(text));
  compare_folders(world, all);
  return all;
}

/// Finds the problems and warnings of a report.
class preflight_rules {
 public:
  preflight_rules(preflight_report& of, preflight_settings const& what) : of_(of), what_(what) {}

  void check(std::vector<rank_facts> const& all, std::string_view communicator) {
    check_same(
        "versions of Cohort", "install one version on all hosts",
        [](rank_facts const& one) { return one.its.version; }, all);
    check_runs(all);
    for (std::size_t r = 0; r < all.size(); ++r) check_rank(all, r);
    for (std::size_t r = 0; r < all.size(); ++r)
      if (is_first_of_host(r)) check_host(all, r, communicator);
    check_folders(all);
    check_pairs();
  }

 private:
  std::string place(std::size_t rank) const {
    return text_of({"rank ", rank, " (", of_.ranks[rank].host, ")"});
  }
  bool is_first_of_host(std::size_t rank) const {
    return std::ranges::find(of_.ranks, of_.ranks[rank].host, &preflight_rank::host)
           == of_.ranks.begin() + static_cast<std::ptrdiff_t>(rank);
  }
  template <class Value>
  void check_same(char const* what, char const* remedy, Value value, std::vector<rank_facts> const& all) {
    std::vector<std::string> values;
    for (rank_facts const& one : all) values.push_back(value(one));
    if (are_equal(values)) return;
    of_.problems.push_back(text_of({"the ranks have different ", what, ": ", by_rank(values), "; ", remedy}));
  }
  void check_runs(std::vector<rank_facts> const& all) {
    std::vector<std::string> runs;
    for (rank_facts const& one : all) runs.push_back(one.run);
    for (auto const& [name, values] : differing_facts(runs))
      of_.problems.push_back(text_of({"the ranks of this run differ (", name, "): ", values,
                                      "; start all ranks with the same command and data"}));
  }
  void check_rank(std::vector<rank_facts> const& all, std::size_t rank) {
    rank_facts const& one = all[rank];
    if (!one.problem.empty())
      of_.problems.push_back(text_of({place(rank), ": cannot write in ", one.folder, " (", one.problem,
                                      "); make the folder on this host, or choose another one"}));
    if (!one.sees_first)
      of_.problems.push_back(text_of({place(rank), ": does not see in ", one.folder,
                                      " the files that rank 0 (", of_.ranks[0].host, ") makes in ",
                                      all[0].folder, "; choose a folder that all hosts share"}));
  }
  /// Checks that all ranks have a folder, or none, and that the folder's free space is enough for all ranks.
  /// The ranks share the folder, so rank 0's free bytes count.
  void check_folders(std::vector<rank_facts> const& all) {
    std::uint64_t needed = 0;
    for (rank_facts const& one : all) needed += one.needed_disk;
    if (!have_folders(all)) {
      std::vector<std::string> folders;
      for (rank_facts const& one : all) folders.push_back(one.folder);
      if (std::ranges::count(folders, "") < std::ssize(folders))
        of_.problems.push_back(text_of({"only some ranks have a folder: ", by_rank(folders),
                                        "; choose a folder that all hosts share for every rank, or none"}));
      else if (needed > 0)
        of_.problems.push_back(text_of({"the ranks need ", megabytes(needed),
                                        " of disk space, but no folder is set; choose one that all hosts "
                                        "share"}));
      return;
    }
    if (!all[0].problem.empty()) return;  // check_rank reports the problem
    if (std::uint64_t const free = of_.ranks[0].disk; needed > free)
      of_.problems.push_back(text_of({place(0), ": ", all[0].folder, " has ", megabytes(free),
                                      " free, expected ", megabytes(needed), "; delete files there"}));
  }
  void check_host(std::vector<rank_facts> const& all, std::size_t rank, std::string_view communicator) {
    preflight_rank const& one = of_.ranks[rank];
    std::uint64_t ranks = 0, needed_memory = 0;  // values of this host
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (of_.ranks[r].host != one.host) continue;
      ++ranks;
      needed_memory += all[r].needed_memory;
    }
    if (std::abs(one.clock) * 1000 > what_.clock_difference)
      of_.problems.push_back(
          text_of({place(rank), ": its clock differs from rank 0's by ", one.clock, " s, expected at most ",
                   what_.clock_difference, " ms; synchronise the clocks, for example by chrony"}));
    if (one.memory > 0 && needed_memory > one.memory)
      of_.problems.push_back(
          text_of({place(rank), ": ", ranks, ranks == 1 ? " rank needs " : " ranks need ",
                   megabytes(needed_memory), " of memory, and ", megabytes(one.memory),
                   " are available; start fewer ranks on this host, or reduce the batch"}));
    constexpr std::uint64_t segment = std::uint64_t{16} << 20;  // estimate for a process of Open MPI or NCCL
    bool const uses_it = communicator == "mpi" || communicator == "nccl";
    if (uses_it && ranks > 1 && one.shared_memory < ranks * segment)
      of_.warnings.push_back(text_of({place(rank), ": /dev/shm has ", megabytes(one.shared_memory), " free, ",
                                      ranks, " ranks use about ", megabytes(ranks * segment),
                                      "; in a container, start it with --shm-size=1g"}));
  }
  /// Warns of the slowest pair of each kind (on one host, or on two) if its bandwidth is less than 1/8 of the
  /// kind's median.
  void check_pairs() {
    constexpr double much = 8;
    for (bool const on_one_host : {true, false}) {
      std::vector<preflight_pair const*> kind;
      for (preflight_pair const& one : of_.pairs)
        if ((host_of(one.from) == host_of(one.to)) == on_one_host) kind.push_back(&one);
      if (kind.size() < 3) continue;
      std::ranges::sort(kind, {}, [](preflight_pair const* one) { return one->bandwidth; });
      double const median = kind[kind.size() / 2]->bandwidth;
      if (kind[0]->bandwidth * much < median)
        of_.warnings.push_back(text_of(
            {place(static_cast<std::size_t>(kind[0]->from)), " sends ",
             megabytes(static_cast<std::uint64_t>(kind[0]->bandwidth)), "/s to ",
             place(static_cast<std::size_t>(kind[0]->to)), ", and the median is ",
             megabytes(static_cast<std::uint64_t>(median)),
             "/s; check the network of these hosts, or select another network with COHORT_INTERFACES"}));
    }
  }
  std::string const& host_of(int rank) const { return of_.ranks[static_cast<std::size_t>(rank)].host; }

  preflight_report& of_;
  preflight_settings const& what_;
};

void judge(preflight_report& of, std::vector<rank_facts> const& all, preflight_settings const& what,
           std::string_view communicator) {
  preflight_rules(of, what).check(all, communicator);
}

}  // namespace cohort::detail

namespace cohort {

preflight_report preflight(communicator& world, preflight_settings const& what) {
  std::vector<detail::rank_facts> const all = detail::facts_of_ranks(world, what);
  preflight_report made;
  for (detail::rank_facts const& one : all) made.ranks.push_back(one.its);
  std::size_t const size = all.size();
  std::vector<detail::pair_times> times;
  if (what.probe > 0) times = detail::all_pairs(world, what.probe);
  for (std::size_t from = 0; from < size && !times.empty(); ++from) {
    made.ranks[from].clock = times[from].clock;
    for (std::size_t to = 0; to < size; ++to)
      if (to != from)
        made.pairs.push_back({.from = static_cast<int>(from),
                              .to = static_cast<int>(to),
                              .latency = times[from * size + to].latency,
                              .bandwidth = times[from * size + to].bandwidth});
  }
  detail::judge(made, all, what, world.name());
  return made;
}

std::string preflight_report::text() const {
  constexpr std::size_t most_ranks = 16;
  std::size_t const shown = std::min(ranks.size(), most_ranks);
  constexpr detail::table_layout layout{.others = detail::columns::right, .indent = 0};
  detail::text_table facts(layout);
  facts.add({"rank", "host", "Cohort", "processors", "memory", "/dev/shm", "disk", "clock ms"});
  for (std::size_t r = 0; r < shown; ++r) {
    preflight_rank const& one = ranks[r];
    facts.add({std::to_string(r), one.host, one.version, std::to_string(one.processors),
               detail::megabytes(one.memory), detail::megabytes(one.shared_memory),
               one.disk > 0 ? detail::megabytes(one.disk) : "-",
               detail::decimal_text(std::abs(one.clock) < 5e-5 ? 0 : 1000 * one.clock, 1)});
  }
  std::string made = facts.text();
  auto const decimal_text = [](double value) { return detail::decimal_text(value, value < 10 ? 1 : 0); };
  auto const matrix = [&](char const* title, auto value) {
    detail::text_table table(layout);
    std::vector<std::string> head{"from \\ to"};
    for (std::size_t to = 0; to < shown; ++to) head.push_back(std::to_string(to));
    table.add(head);
    for (std::size_t from = 0; from < shown; ++from) {
      std::vector<std::string> row{std::to_string(from)};
      for (std::size_t to = 0; to < shown; ++to)
        row.push_back(from == to ? "-"
                                 : decimal_text(value(pairs[from * (ranks.size() - 1) + to - (to > from)])));
      table.add(row);
    }
    made += detail::text_of({"\n", title, "\n"}) + table.text();
  };
  if (!pairs.empty()) {
    matrix("latency, µs", [](preflight_pair const& one) { return 1e6 * one.latency; });
    matrix("bandwidth, MB/s", [](preflight_pair const& one) { return 1e-6 * one.bandwidth; });
  }
  if (shown < ranks.size()) made += detail::text_of({"… ", ranks.size() - shown, " more ranks\n"});
  for (std::string const& one : warnings) made += "warning: " + one + "\n";
  for (std::string const& one : problems) made += "problem: " + one + "\n";
  return made;
}

void preflight_report::require_none() const {
  if (problems.empty()) return;
  std::string got;
  for (std::string const& one : problems) got += (got.empty() ? "" : ". ") + one;
  throw setting_error({.what = "the job cannot run on these hosts",
                       .where = "preflight",
                       .expected = "no problem",
                       .got = got});
}

}  // namespace cohort
