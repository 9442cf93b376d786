// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a program on this host or, by ssh, on several: cohort run --help
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "child_process.hpp"
#include "commands.hpp"

namespace {

using cohort_program::signal_source;

constexpr char const* help = R"(cohort run -n RANKS [flags] PROGRAM [arguments]

Starts RANKS processes of a program that uses launch<tcp>, such as cohort train and the example programs. Each process
receives its number, the number of ranks and the address at which they meet as COHORT_RANK, COHORT_RANKS and
COHORT_JOIN, its number on its host as COHORT_LOCAL_RANK, and the number of its processors' share as
OMP_NUM_THREADS, unless it is set. Processes on other hosts also receive all variables COHORT_*.

  -n RANKS           number of processes
  --hosts LIST       hosts that ssh reaches without a password, such as a,b or a:2,b:2 (ranks per host); the program
                     and the folder must exist on all of them (this host)
  --join HOST:PORT   address at which the ranks meet; rank 0 must run on this host (the first host, port 29400; on one
                     host a free port)
  --secret FILE      secret of the job, readable by its owner only, on every host; without this flag, and without
                     COHORT_SECRET_FILE, certificates or COHORT_ENCRYPTION=off, each start uses a new secret
  --ssh COMMAND      command that takes a host and a shell command (ssh -o BatchMode=yes)
  --restarts N       number of starts after ranks were lost (exit status 75, or a signal): with --resume, the program
                     continues from its last checkpoint (0)
  --min N            the ranks may change: if ranks are lost or leave, the others continue while at least N are left;
                     with --restarts, a lost rank is started again, and joins; SIGTERM stops all ranks
  --max N            with --min, other processes may join with COHORT_JOIN up to this number of ranks (RANKS)
  --devices LIST     GPU of each rank of a host, in the order of their local numbers, such as 0,2: a rank sees only its
                     own GPU, as its CUDA_VISIBLE_DEVICES; names of GPUs (GPU-…, MIG-…) are accepted, too
  --no-bind          lets all processes run on all processors; otherwise each one runs on its share of those of its host
  --output DIR       writes the output of rank R to DIR/R.log, too
  --help             shows this text

The output of each rank is printed line by line, after its number in brackets. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and
SIGUSR2 are passed to all processes. After a second SIGINT, SIGTERM or SIGHUP they have 10 seconds to end; a third one
kills them. If one process fails, the others have 15 seconds to end; then they are terminated. If cohort run itself is
killed, its processes on all hosts receive SIGTERM, and SIGKILL 10 to 15 seconds later.
The exit status is that of the first process that failed for a reason of its own, otherwise 75 if ranks were lost, or 0.
A process is lost if it exits with status 75, if a signal ends it, or if ssh loses its connection (status 255).
)";

constexpr int lost = 75;                             // cohort::communicator_exit_status
constexpr auto grace = std::chrono::seconds(15);     // limit after a failure or the end of cohort run
constexpr auto patience = std::chrono::seconds(10);  // limit after SIGTERM or a second interrupt
using clock_type = std::chrono::steady_clock;

struct usage_error : std::runtime_error {
  using runtime_error::runtime_error;
};

struct host {
  std::string name;  // "": this host
  int ranks = 0;
};

struct command {
  int ranks = 0;
  std::vector<host> hosts{};
  std::string join{};
  std::string secret{};
  std::vector<std::string> ssh{"ssh", "-o", "BatchMode=yes"};
  int restarts = 0;
  int min_ranks = 0, max_ranks = 0;  // 0: the ranks do not change
  std::vector<std::string> devices{};
  bool binds = true;
  std::string output{};
  std::vector<std::string> program{};
};

int number_of(std::string const& flag, std::string const& text, int least, int most) {
  int made = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), made);
  if (failure != std::errc{} || end != text.data() + text.size() || made < least || made > most)
    throw usage_error(flag + ": expected a number from " + std::to_string(least) + " to "
                      + std::to_string(most) + ", got '" + text + "'");
  return made;
}

std::vector<std::string> split(std::string const& text, char at) {
  std::vector<std::string> parts(1);
  for (char const one : text)
    if (one == at)
      parts.emplace_back();
    else
      parts.back() += one;
  return parts;
}

std::vector<host> hosts_of(std::string const& list) {
  std::vector<host> made;
  for (std::string const& part : split(list, ',')) {
    std::size_t const colon = part.find(':');
    host one{.name = part.substr(0, colon)};
    bool const has_letters = !one.name.empty() && one.name.front() != '-'
                             && one.name.find_first_of(" \t'\"\\$`;&|<>") == std::string::npos;
    if (!has_letters) throw usage_error("--hosts: expected names such as a,b or a:2,b:2, got '" + list + "'");
    if (colon != std::string::npos) one.ranks = number_of("--hosts", part.substr(colon + 1), 1, 4096);
    made.push_back(std::move(one));
  }
  return made;
}

std::vector<std::string> devices_of(std::string const& list) {
  std::vector<std::string> devices = split(list, ',');
  auto const is_device = [](std::string const& device) {
    return !device.empty() && device.front() != '-' && std::ranges::all_of(device, [](unsigned char letter) {
      return std::isalnum(letter) || letter == '-' || letter == '/';
    });
  };
  if (!std::ranges::all_of(devices, is_device))
    throw usage_error("--devices: expected GPUs such as 0,2, got '" + list + "'");
  return devices;
}

command parse(int argc, char** argv) {
  command made;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    std::string flag = argv[at], given;
    if (flag == "--help") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    bool has_value = false;
    if (std::size_t const equals = flag.find('='); flag.starts_with("--") && equals != std::string::npos) {
      given = flag.substr(equals + 1);
      flag.resize(equals);
      has_value = true;
    }
    auto const value = [&]() -> std::string {
      if (has_value) return given;
      if (at + 1 >= argc) throw usage_error(flag + ": expected a value, got nothing");
      return argv[++at];
    };
    if (flag == "-n") {
      made.ranks = number_of(flag, value(), 1, 4096);
    } else if (flag == "--hosts") {
      made.hosts = hosts_of(value());
    } else if (flag == "--join") {
      made.join = value();
    } else if (flag == "--secret") {
      made.secret = value();
    } else if (flag == "--ssh") {
      made.ssh = split(value(), ' ');
    } else if (flag == "--restarts") {
      made.restarts = number_of(flag, value(), 0, 1'000'000);
    } else if (flag == "--min") {
      made.min_ranks = number_of(flag, value(), 1, 4096);
    } else if (flag == "--max") {
      made.max_ranks = number_of(flag, value(), 1, 4096);
    } else if (flag == "--devices") {
      made.devices = devices_of(value());
    } else if (flag == "--no-bind") {
      made.binds = false;
    } else if (flag == "--output") {
      made.output = value();
    } else {
      throw usage_error(flag + ": expected a flag of cohort run, or the program; --help shows how to use it");
    }
  }
  made.program.assign(argv + at, argv + argc);
  if (made.ranks == 0) throw usage_error("-n: expected the number of ranks, got nothing");
  if (made.program.empty()) throw usage_error("expected a program, got nothing");
  if (made.min_ranks > made.ranks)
    throw usage_error("--min: expected at most the number of ranks, " + std::to_string(made.ranks) + ", got "
                      + std::to_string(made.min_ranks));
  if (made.max_ranks > 0 && (made.min_ranks == 0 || made.max_ranks < made.ranks))
    throw usage_error("--max: expected --min, and at least the number of ranks, " + std::to_string(made.ranks)
                      + ", got " + std::to_string(made.max_ranks));
  return made;
}

/// Divides the ranks that have no host yet equally over the hosts for which no number is given. If the
/// division has a remainder, the first hosts get one rank more.
void divide(command& given) {
  if (given.hosts.empty()) given.hosts.push_back({});
  int fixed = 0, open = 0;
  for (host const& one : given.hosts) {
    fixed += one.ranks;
    open += one.ranks == 0;
  }
  int rest = given.ranks - fixed;
  if (rest < open || (open == 0 && rest != 0))
    throw usage_error("--hosts: expected " + std::to_string(given.ranks)
                      + " ranks on all hosts together, got " + std::to_string(fixed)
                      + (open > 0 ? " and a host without ranks" : ""));
  for (host& one : given.hosts)
    if (one.ranks == 0) {
      one.ranks = (rest + open - 1) / open;
      rest -= one.ranks;
      --open;
    }
  if (given.devices.empty()) return;
  int const most = std::ranges::max(given.hosts, {}, &host::ranks).ranks;
  if (std::cmp_less(given.devices.size(), most))
    throw usage_error("--devices: expected a GPU for each of the " + std::to_string(most)
                      + " ranks of a host, got " + std::to_string(given.devices.size())
                      + "; ranks that share a GPU name it twice");
}

/// Returns a port of this host on which no process listens.
int free_port() {
  int const one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  ::bind(one, reinterpret_cast<sockaddr*>(&at), sizeof at);
  ::getsockname(one, reinterpret_cast<sockaddr*>(&at), &bytes);
  ::close(one);
  return ntohs(at.sin_port);
}

/// Returns a text quoted as one word of a shell command.
std::string quoted(std::string const& text) {
  std::string made = "'";
  for (char const one : text) made += one == '\'' ? std::string("'\\''") : std::string(1, one);
  return made + "'";
}

std::string random_secret() {
  std::random_device source;  // the system's generator
  std::string made;
  constexpr char const* digits = "0123456789abcdef";
  for (int k = 0; k < 8; ++k)
    for (unsigned word = source(), i = 0; i < 8; ++i, word >>= 4) made += digits[word & 15];
  return made;
}

/// Returns whether environment variables determine how the job's connections are protected.
bool environment_has_protection() {
  for (char const* name : {"COHORT_SECRET_FILE", "COHORT_CERTIFICATE", "COHORT_KEY", "COHORT_AUTHORITIES"})
    if (char const* const value = std::getenv(name); value && *value) return true;
  char const* const encryption = std::getenv("COHORT_ENCRYPTION");
  return encryption && std::string_view(encryption) == "off";
}

/// A secret in the memory of this process. Processes of the same user can read it as a file. The file
/// disappears when this process ends, even if it is killed.
class secret_in_memory {
 public:
  explicit secret_in_memory(std::string const& secret) : descriptor_(::memfd_create("secret", MFD_CLOEXEC)) {
    constexpr mode_t only_owner = S_IRUSR | S_IWUSR;
    if (descriptor_ < 0 || ::fchmod(descriptor_, only_owner) != 0
        || ::write(descriptor_, secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()))
      throw std::runtime_error(std::string("cannot store the secret of the job: ") + std::strerror(errno));
  }
  secret_in_memory(secret_in_memory const&) = delete;
  ~secret_in_memory() { ::close(descriptor_); }

  std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

/// One process: a rank of this host, or the ssh that runs a rank on another host.
struct process {
  pid_t id = -1;
  int rank = 0;
  host const* where = nullptr;
  int local = 0;  // number on its host
  bool remote = false;
  std::string on{};                   // the host, with its preposition, for messages
  int input = -1;                     // pipe to a remote shell, for the names of signals
  std::array<int, 2> output{-1, -1};  // standard output and error stream of the process
  std::array<std::string, 2> line{};  // incomplete last lines
  std::ofstream copy{};
  std::optional<int> status{};

  bool has_output() const { return output[0] >= 0 || output[1] >= 0; }
};

/// A process that ends the ranks' process groups on this host if cohort run is killed. It reads the numbers
/// of the groups from a pipe; the pipe is closed when cohort run ends.
class watchdog {
 public:
  watchdog() {
    int ends[2];
    pid_t const id = ::pipe2(ends, O_CLOEXEC) == 0 ? ::fork() : -1;
    if (id < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (id == 0) watch(ends);
    ::close(ends[0]);
    pipe_ = ends[1];
  }
  watchdog(watchdog const&) = delete;
  ~watchdog() { ::close(pipe_); }

  /// Called by the leader of a process group before it executes a program, because cohort run may be killed
  /// directly after the fork.
  void add(pid_t group) const { write(group); }
  void remove(pid_t group) const { write(-group); }

 private:
  void write(pid_t one) const {
    if (::write(pipe_, &one, sizeof one) < 0) return;  // the watchdog was killed: PR_SET_PDEATHSIG remains
  }

  [[noreturn]] static void watch(int const (&ends)[2]) {
    // The user's signals to cohort run's terminal, process group or name do not reach this process.
    ::setsid();
    ::prctl(PR_SET_NAME, "cohort-watchdog");
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    int const nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int const one : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, one);
    constexpr int pipe = STDERR_FILENO + 1;
    ::dup2(ends[0], pipe);
    ::close_range(pipe + 1, ~0U, 0);
    if (::chdir("/") != 0) ::_exit(1);
    std::vector<pid_t> groups;
    pid_t one = 0;
    while (::read(pipe, &one, sizeof one)
           == static_cast<ssize_t>(sizeof one))  // bounded: until cohort run ends
      if (one > 0)
        groups.push_back(one);
      else
        std::erase(groups, -one);
    auto const send = [&](int signal) {
      std::erase_if(groups, [&](pid_t group) { return ::kill(-group, signal) != 0; });
    };
    send(SIGTERM);
    for (auto const end = clock_type::now() + grace; !groups.empty() && clock_type::now() < end; send(0))
      ::usleep(50'000);
    send(SIGKILL);
    ::_exit(0);
  }

  int pipe_ = -1;
};

/// Time before a start that follows this number of restarts: 1, 2, 4, … seconds, at most 60.
std::chrono::seconds delay_of_start(int restarts) {
  return std::min(std::chrono::seconds(1 << std::min(restarts, 6)), std::chrono::seconds(60));
}

class run {
 public:
  /// `restart`: number of earlier starts of all ranks. `left`: number of further starts that are left.
  run(command const& given, int restart, int left, signal_source const& signals, watchdog const& guard)
      : given_(given), restart_(restart), left_(left), signals_(signals), guard_(guard) {}

  /// Starts all ranks, and returns the exit status of the job.
  int all() {
    if (given_.secret.empty() && !environment_has_protection()) secret_ = random_secret();
    bool const is_here = given_.hosts.front().name.empty();
    if (!secret_.empty() && is_here) secret_here_.emplace(secret_);
    join_ = address();
    int rank = 0;
    for (host const& one : given_.hosts)
      for (int k = 0; k < one.ranks; ++k) start(one, k, rank++);
    while (!has_ended()) step();
    return status();
  }
  /// Returns whether a signal of the user ended the job. Such a job is not started again.
  bool interrupted() const { return interrupted_; }
  /// Number of further starts that are left.
  int left() const { return left_; }

 private:
  std::string address() const {
    if (!given_.join.empty()) return given_.join;
    std::string const& first = given_.hosts.front().name;
    if (first.empty()) return "127.0.0.1:" + std::to_string(free_port());
    return first.substr(first.find('@') + 1) + ":29400";
  }

  void start(host const& on, int local, int rank) {
    std::vector<std::pair<std::string, std::string>> variables{{"COHORT_JOIN", join_},
                                                               {"COHORT_RANK", std::to_string(rank)},
                                                               {"COHORT_RANKS", std::to_string(given_.ranks)},
                                                               {"COHORT_LOCAL_RANK", std::to_string(local)},
                                                               {"COHORT_RESTARTS", std::to_string(restart_)}};
    if (given_.min_ranks > 0)
      variables.insert(variables.end(),
                       {{"COHORT_MIN_RANKS", std::to_string(given_.min_ranks)},
                        {"COHORT_MAX_RANKS", std::to_string(std::max(given_.ranks, given_.max_ranks))}});
    if (!given_.devices.empty())
      variables.emplace_back("CUDA_VISIBLE_DEVICES", given_.devices[static_cast<std::size_t>(local)]);
    // Processes of an earlier start must not join this start.
    char const* const job = std::getenv("COHORT_JOB");
    if (job || restart_ > 0)
      variables.emplace_back(
          "COHORT_JOB",
          (job ? job : "cohort") + (restart_ > 0 ? " " + std::to_string(restart_) : std::string()));
    if (!given_.secret.empty())
      variables.emplace_back("COHORT_SECRET_FILE", std::filesystem::absolute(given_.secret).string());
    else if (secret_here_)
      variables.emplace_back("COHORT_SECRET_FILE", secret_here_->path());
    process one{.rank = rank,
                .where = &on,
                .local = local,
                .remote = !on.name.empty(),
                .on = on.name.empty() ? std::string() : " on " + on.name};
    if (!given_.output.empty()) {
      auto const path = std::filesystem::path(given_.output) / (std::to_string(rank) + ".log");
      one.copy.open(path, left_ < given_.restarts ? std::ios::app : std::ios::trunc);
      if (!one.copy)
        throw std::runtime_error("--output: cannot write " + path.string() + ": " + std::strerror(errno));
    }
    int out[2], err[2], in[2] = {-1, -1};
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0
        || (one.remote && ::pipe2(in, O_CLOEXEC) != 0))
      throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
    std::string const script = one.remote ? script_of(variables, local, on.ranks) : "";
    one.id = ::fork();
    if (one.id < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (one.id == 0) {
      ::setpgid(0, 0);  // the terminal's signals reach only cohort run, which forwards them
      guard_.add(::getpid());
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
      // SIGPIPE remains ignored: if cohort run is killed, a rank that prints to the closed pipe can still
      // save a checkpoint.
      ::dup2(one.remote ? in[0] : ::open("/dev/null", O_RDONLY), STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      one.remote ? exec_remote(on, script.size()) : exec_here(variables, local, on.ranks);
    }
    ::setpgid(one.id, one.id);  // done in both processes: a signal may be sent before the child has run
    ::close(out[1]);
    ::close(err[1]);
    one.output = {out[0], err[0]};
    if (one.remote) {
      ::close(in[0]);
      one.input = in[1];
      if (::write(one.input, script.data(), script.size()) != static_cast<ssize_t>(script.size()))
        throw std::runtime_error("cannot send the command to " + on.name);
    }
    processes_.push_back(std::move(one));
  }

  [[noreturn]] void exec_here(std::vector<std::pair<std::string, std::string>> const& variables, int local,
                              int ranks) const {
    for (auto const& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    cohort_program::use_processors(local, ranks, given_.binds);
    exec(given_.program);
  }
  /// Makes the shell read exactly the bytes of its script, because the names of signals follow these bytes on
  /// the pipe.
  [[noreturn]] void exec_remote(host const& on, std::size_t bytes_of_script) const {
    std::vector<std::string> words = given_.ssh;
    words.push_back(on.name);
    words.push_back("sh -c 'eval \"$(dd bs=1 count=" + std::to_string(bytes_of_script) + " 2>/dev/null)\"'");
    exec(words);
  }
  [[noreturn]] static void exec(std::vector<std::string> const& words) {
    std::vector<char*> all;
    for (std::string const& one : words) all.push_back(const_cast<char*>(one.c_str()));
    all.push_back(nullptr);
    ::execvp(all[0], all.data());
    std::fprintf(stderr, "cohort run: cannot execute %s: %s\n", all[0], std::strerror(errno));
    ::_exit(127);
  }

  /// Returns whether a shell can export a variable of this name.
  static bool is_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char one) {
      return one == '_' || (one >= 'A' && one <= 'Z') || (one >= 'a' && one <= 'z')
             || (one >= '0' && one <= '9');
    });
  }

  /// Returns the script that a shell on another host reads from ssh. The shell then reads the names of
  /// signals, and ends the program if ssh ends. A secret is written to a file that only this user can read,
  /// and removed at the end.
  std::string script_of(std::vector<std::pair<std::string, std::string>> const& variables, int local,
                        int ranks) const {
    std::string made = "cd " + quoted(std::filesystem::current_path().string()) + " || exit 127\n";
    for (char** one = ::environ; *one; ++one) {
      std::string_view const all = *one;
      std::size_t const equals = all.find('=');
      if (!all.starts_with("COHORT_") || !is_name(all.substr(0, equals))) continue;
      made += "export " + std::string(all.substr(0, equals)) + "="
              + quoted(std::string(all.substr(equals + 1))) + "\n";
    }
    for (auto const& [name, value] : variables) made += "export " + name + "=" + quoted(value) + "\n";
    made += "export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(n=$(($(nproc) / " + std::to_string(ranks)
            + ")); echo $((n > 0 ? n : 1)))}\n";
    // This shell runs until the program ends. Its traps do not apply to the program, except that both ignore
    // SIGPIPE, as ranks of this host do.
    made += "secret= setsid=\ntrap : HUP INT TERM\ntrap '' PIPE\n";
    made += "trap '[ -z \"$secret\" ] || rm -f \"$secret\"' EXIT\n";
    if (!secret_.empty())
      made +=
          "secret=$(mktemp) || exit 127\n"  // only its owner may read it
          "cat > \"$secret\" <<'END'\n"
          + secret_ + "\nEND\nCOHORT_SECRET_FILE=$secret; export COHORT_SECRET_FILE\n";
    made +=
        "command -v setsid > /dev/null && setsid=setsid\n";  // signals then also reach the program's children
    std::string words = " $setsid";
    if (given_.binds) {
      // Binds like use_processors, if the shell may use all processors. nproc would obey OMP_NUM_THREADS.
      std::string const k = std::to_string(local), of = std::to_string(ranks);
      made += "n=$(unset OMP_NUM_THREADS; nproc); bind=; [ \"$n\" -ge " + of + " ] && [ \"$n\" = \"$(nproc --all)\" ] && command -v taskset > /dev/null && "
              "bind=\"taskset -c $((n * " + k + " / " + of + "))-$((n * (" + k + " + 1) / " + of + " - 1))\"\n";
      words += " $bind";
    }
    for (std::string const& one : given_.program) words += " " + quoted(one);
    // The program replaces a shell in the foreground, because a shell makes background programs ignore
    // SIGINT.
    made +=
        "exec 3<&0\n"
        "sh -c 'program=$$ shell=$1 secret=$2; shift 2\n"
        "send() { kill -s \"$1\" -- -$program || kill -s \"$1\" $program; }\n"
        // The program starts after the reader of signals has set its traps and closed its output: a SIGTERM
        // to this group would otherwise end the reader, but not the program.
        ": \"$( (trap \"\" HUP INT TERM; exec >/dev/null\n"
        "while read -r name; do send \"$name\"; done\n"
        "[ -z \"$secret\" ] || rm -f \"$secret\"\n"
        "kill -0 $shell || exit\n"
        "send TERM; n=0\n"
        "while [ $n -lt "
        + std::to_string(patience.count())
        + " ] && kill -0 $shell; do sleep 1; n=$((n + 1)); done\n"
          "kill -0 $shell && send KILL) <&3 2>/dev/null & )\"\n"
          "exec 3<&-; exec \"$@\" < /dev/null' sh $$ \"$secret\""
        + words + "\nexit $?\n";
    return made;
  }

  bool has_ended() const {
    return std::ranges::all_of(processes_,
                               [](process const& one) { return one.status && !one.has_output(); });
  }
  /// `patience` after all ranks have ended, ends the processes that the ranks started, and closes their
  /// output.
  void end_output() {
    if (!std::ranges::all_of(processes_, [](process const& one) { return one.status.has_value(); })) return;
    if (!all_ended_) all_ended_ = clock_type::now();
    if (clock_type::now() - *all_ended_ < patience) return;
    for (process& one : processes_) {
      if (!one.has_output()) continue;
      ::kill(-one.id, SIGTERM);
      std::fprintf(stderr,
                   "cohort run: rank %d has ended, but a process that it started holds its output open; "
                   "further output is discarded\n",
                   one.rank);
      for (std::size_t k = 0; k < 2; ++k)
        if (one.output[k] >= 0) ::close(std::exchange(one.output[k], -1));
    }
  }

  void step() {
    std::vector<pollfd> all{{signals_.descriptor(), POLLIN, 0}};
    std::vector<std::pair<process*, std::size_t>> sources;
    for (process& one : processes_)
      for (std::size_t k = 0; k < 2; ++k)
        if (one.output[k] >= 0) {
          all.push_back({one.output[k], POLLIN, 0});
          sources.emplace_back(&one, k);
        }
    constexpr int longest_ms = 200;
    ::poll(all.data(), all.size(), longest_ms);
    for (std::size_t k = 0; k < sources.size(); ++k)
      if (all[k + 1].revents != 0) read(*sources[k].first, sources[k].second);
    handle_signals();
    collect();
    replace_lost();
    end_others();
    end_output();
  }

  void read(process& one, std::size_t stream) {
    std::array<char, 65536> bytes;
    ssize_t const count = ::read(one.output[stream], bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return;
    std::string& line = one.line[stream];
    for (ssize_t k = 0; k < count; ++k) {
      line += bytes[static_cast<std::size_t>(k)];
      if (line.back() == '\n') print(one, stream);
    }
    if (count > 0) return;
    if (!line.empty()) {
      line += '\n';
      print(one, stream);
    }
    ::close(std::exchange(one.output[stream], -1));
  }

  void print(process& one, std::size_t stream) {
    std::string const text = std::exchange(one.line[stream], {});
    if (one.copy.is_open() && !(one.copy << text << std::flush)) {
      std::fprintf(stderr,
                   "cohort run: --output: cannot write %s/%d.log: %s; rank %d is only printed from now on\n",
                   given_.output.c_str(), one.rank, std::strerror(errno), one.rank);
      one.copy.close();
    }
    std::FILE* const to = stream == 0 ? stdout : stderr;
    if (given_.ranks > 1) std::fprintf(to, "[%d] ", one.rank);
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
  }

  void send(process const& one, int signal) const {
    if (one.status) return;
    if (!one.remote) {
      ::kill(-one.id, signal);
      return;
    }
    std::string const name = std::string(::sigabbrev_np(signal)) + "\n";
    if (::write(one.input, name.data(), name.size()) < 0) return;  // the shell has ended
  }

  void handle_signals() {
    while (int const signal = signals_.next()) {
      if (signal == SIGCHLD) continue;
      if (signal_source::ends_job(signal) && !interrupt()) continue;
      // A rank that may leave alone would do so at SIGTERM.
      int const passed = signal == SIGTERM && given_.min_ranks > 0 ? SIGINT : signal;
      for (process const& one : processes_) send(one, passed);
    }
  }
  /// Counts a signal of the user. Launchers may send one signal to both a process and its group; the two
  /// count as one signal. Returns whether this signal counts.
  bool interrupt() {
    auto const now = clock_type::now();
    bool const repeated = interrupted_ && now - last_interrupt_ < std::chrono::milliseconds(500);
    interrupted_ = true;
    if (repeated) return false;
    last_interrupt_ = now;
    if (++interrupts_ == 2) kill_at_ = std::min(kill_at_, now + patience);
    if (interrupts_ > 2) kill_at_ = std::min(kill_at_, now);
    return true;
  }

  /// Returns whether a process counts as lost. This includes processes that a signal has ended, because their
  /// hosts may be lost. A shell adds 128 to the signal; ssh exits with 255 if its connection has ended.
  static bool is_lost(process const& one, int status) {
    constexpr int most_signals = 64;
    return status == lost || (status > 128 && status <= 128 + most_signals) || (one.remote && status == 255);
  }

  void collect() {
    for (process& one : processes_) {
      int status = 0;
      if (one.status || ::waitpid(one.id, &status, WNOHANG) != one.id) continue;
      one.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      guard_.remove(one.id);
      if (one.input >= 0) ::close(std::exchange(one.input, -1));
      if (WIFSIGNALED(status))
        std::fprintf(stderr, "cohort run: rank %d%s was ended by the signal %s\n", one.rank, one.on.c_str(),
                     ::strsignal(WTERMSIG(status)));
      else if (one.remote && *one.status == 255)
        std::fprintf(
            stderr,
            "cohort run: rank %d%s: %s cannot reach the host, or has lost its connection (status 255)\n",
            one.rank, one.on.c_str(), given_.ssh.front().c_str());
      else if (*one.status != 0)
        std::fprintf(stderr, "cohort run: rank %d%s has exited with status %d\n", one.rank, one.on.c_str(),
                     *one.status);
      if (is_lost(one, *one.status) && continues()) {
        if (!interrupted_ && left_ > 0) replace_later(one);
        continue;
      }
      if (is_lost(one, *one.status) && is_superfluous(one)) continue;
      if (*one.status != 0 && !failed_) {
        failed_ = true;
        terminate_at_ = clock_type::now() + grace;
        kill_at_ = std::min(kill_at_, terminate_at_ + patience);
      }
      if (!is_lost(one, *one.status) && *one.status != 0 && !cause_) cause_ = *one.status;
    }
  }

  /// Returns whether enough ranks are left, or have ended without a failure.
  bool continues() const {
    auto const good =
        std::ranges::count_if(processes_, [](process const& one) { return !one.status || *one.status == 0; });
    bool const runs = std::ranges::any_of(processes_, [](process const& one) { return !one.status; });
    return given_.min_ranks > 0 && runs && good >= given_.min_ranks;
  }

  /// Returns whether a lost process was started again too late to join: the other ranks run without it, or
  /// have ended without a failure.
  bool is_superfluous(process const& lost_process) const {
    if (std::ranges::count(processes_, lost_process.rank, &process::rank) < 2) return false;
    std::map<int, bool> is_good;  // of each other rank's last process
    for (process const& one : processes_)
      if (one.rank != lost_process.rank) is_good[one.rank] = !one.status || *one.status == 0;
    return !is_good.empty() && std::ranges::all_of(is_good, [](auto const& rank) { return rank.second; });
  }

  /// A rank that is lost repeatedly is started after 1, 2, 4, … seconds.
  void replace_later(process const& lost_process) {
    auto const before = std::ranges::count(processes_, lost_process.rank, &process::rank) - 1;
    auto const delay = delay_of_start(static_cast<int>(before));
    --left_;
    std::fprintf(stderr, "cohort run: rank %d is started again in %lld s (%d of %d)\n", lost_process.rank,
                 static_cast<long long>(delay.count()), given_.restarts - left_, given_.restarts);
    lost_.push_back({lost_process.where, lost_process.local, lost_process.rank, clock_type::now() + delay});
  }
  /// Starts lost ranks again, which then join the others.
  void replace_lost() {
    std::vector<lost_rank> due;
    std::erase_if(lost_, [&](lost_rank const& each) {
      if (clock_type::now() < each.start) return false;
      due.push_back(each);
      return true;
    });
    if (interrupted_ || failed_) return;
    for (lost_rank const& each : due) start(*each.where, each.local, each.rank);
  }

  /// Ends the remaining processes some time after a process has failed, or after the user's second interrupt.
  void end_others() {
    auto const now = clock_type::now();
    auto const end = [&](clock_type::time_point& at, int signal) {
      if (now < at) return false;
      at = never;
      for (process const& one : processes_) {
        if (one.status) continue;
        std::fprintf(stderr, "cohort run: rank %d%s has not ended: SIG%s\n", one.rank, one.on.c_str(),
                     ::sigabbrev_np(signal));
        send(one, signal);
      }
      return true;
    };
    end(terminate_at_, SIGTERM);
    if (end(kill_at_, SIGKILL)) end_ssh_at_ = now + patience;
    if (now < end_ssh_at_) return;  // a host does not answer: ending its ssh is the only way
    for (process const& one : processes_)
      if (one.remote && !one.status) ::kill(-one.id, SIGKILL);
  }

  int status() const {
    if (cause_) return *cause_;
    return failed_ ? lost : 0;
  }

  command const& given_;
  int restart_, left_;
  signal_source const& signals_;
  watchdog const& guard_;
  std::optional<secret_in_memory> secret_here_;  // used by the ranks of this host
  std::vector<process> processes_;
  struct lost_rank {
    host const* where;
    int local, rank;
    clock_type::time_point start;
  };
  std::vector<lost_rank> lost_;  // to be started again
  std::string join_, secret_;
  static constexpr auto never = clock_type::time_point::max();
  clock_type::time_point terminate_at_ = never, kill_at_ = never, end_ssh_at_ = never, last_interrupt_{};
  std::optional<clock_type::time_point> all_ended_;
  std::optional<int> cause_;  // first exit status other than 0 and `lost`
  int interrupts_ = 0;
  bool failed_ = false, interrupted_ = false;
};

int run_with_restarts(command given) {
  for (int const standard : {0, 1, 2})  // closed standard streams must not be reused for pipes
    if (::fcntl(standard, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return 1;
  divide(given);
  if (!given.output.empty()) std::filesystem::create_directories(given.output);
  ::signal(SIGPIPE, SIG_IGN);
  watchdog const guard;
  signal_source const signals;
  int left = given.restarts;
  for (int restart = 0;; ++restart) {
    run job(given, restart, left, signals, guard);
    int const status = job.all();
    left = job.left();
    if (status != lost || left == 0 || job.interrupted()) return status;
    --left;
    auto const delay = delay_of_start(restart);
    std::fprintf(stderr, "cohort run: ranks were lost: start %d of %d in %lld s\n", given.restarts - left + 1,
                 given.restarts + 1, static_cast<long long>(delay.count()));
    if (signals.interrupted_within(delay)) return status;
  }
}

}  // namespace

int cohort_program::run_command(int count, char** words) try {
  return run_with_restarts(parse(count, words));
} catch (usage_error const& problem) {
  std::fprintf(stderr, "cohort run: %s\n", problem.what());
  return 2;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "cohort run: %s\n", problem.what());
  return 1;
}
