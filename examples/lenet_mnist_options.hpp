// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of lenet_mnist.
#include <getopt.h>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

struct options {
  std::string data{};
  int ranks = 1;
  int workers = 1;
  int threads = 1;
  std::string communicator = "auto";
  std::string strategy = "auto";
  int every = 5;
  int batch = 32;
  int epochs = 5;
  double rate = 0.02;
  std::string backend = "auto";
  std::uint64_t seed = 123;
  std::string save{};
  std::string load{};
  std::string checkpoints{};
  std::int64_t save_every = 0;
  int keep = 3;
  bool resume = false;
  double deadline = 120;
  double heartbeat = 10;
  std::string json{};
  std::int64_t performance = 0;
  bool profile = false;
  bool help = false;
};

constexpr char const* help_text =
    R"(Trains LeNet on MNIST and prints a classification report of the test images.

  --data DIR       folder with MNIST's four files, plain or .gz; unset: $COHORT_DATA, data/, the cache of the
                   set-up, else digits that are drawn
  --ranks N        ranks in threads of this process, each with parameters of its own; under mpirun its ranks count (1)
  --workers N      threads of each rank that share its parameters and split its batch (1)
  --threads N      OpenMP threads in each worker (1)
  --communicator NAME  auto, self, threads or mpi; auto: mpi under mpirun, threads for more than one rank (auto)
  --strategy NAME  auto, none, allreduce or averaging; auto: allreduce for more than one rank (auto)
  --every N        steps between two averagings (5)
  --batch N        examples a rank and step, over all its workers (32)
  --epochs N       passes over the training images, those of a resumed run included; 0 only evaluates (5)
  --rate X         AdaGrad's learning rate (0.02)
  --backend NAME   auto, onednn or reference; auto: the first that works here (auto)
  --seed N         of the initial weights and the order of the images (123)
  --load FILE      begins with the model in FILE
  --save FILE      writes the trained model, with the updater's state
  --checkpoints DIR  keeps checkpoints in DIR, the last one when SIGTERM asks for the end (exit status 75)
  --save-every N   writes one every N steps; 0: only at SIGTERM (0)
  --keep N         the newest N stay (3)
  --resume         goes on from the newest checkpoint in DIR, or starts afresh where there is none
  --deadline S     seconds that ranks wait for each other (120)
  --heartbeat S    seconds without a sign of life until a process is given up (10)
  --json FILE      writes the final numbers
  --performance N  says every N steps how fast they were (0: never)
  --profile        prints what each kernel of rank 0 took
  --help           prints this text

A flag's value follows it or an equals sign; the last of a repeated flag counts. The exit status is 75 where the same
command may be started again with --resume.
)";

/// A flag that cannot be understood: a sentence, and exit status 2.
struct usage_error final : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Number>
Number number_of(std::string_view flag, std::string_view text, Number lowest, Number highest) {
  Number value{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = failure == std::errc() && end == text.data() + text.size();
  if (whole && value >= lowest && value <= highest) return value;
  auto const bound = [](Number number) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  };
  throw usage_error{std::string(flag) + ": expected "
                    + (std::floating_point<Number> ? "a number" : "an integer") + " from " + bound(lowest)
                    + " to " + bound(highest) + ", got '" + std::string(text) + "'"};
}

inline std::string file_of(std::string_view flag, std::string_view text, char const* what) {
  if (text.empty()) throw usage_error{std::string(flag) + ": expected " + what + ", got ''"};
  return std::string(text);
}

inline std::string name_of(std::string_view flag, std::string_view text,
                           std::initializer_list<std::string_view> known) {
  std::string list;
  for (std::string_view const one : known) {
    if (one == text) return std::string(text);
    list += (list.empty() ? "" : one == *(known.end() - 1) ? " or " : ", ") + std::string(one);
  }
  throw usage_error{std::string(flag) + ": expected " + list + ", got '" + std::string(text) + "'"};
}

/// What was chosen, or a usage_error.
inline options parse(int argc, char** argv) {
  enum : int {
    data = 1000,
    ranks,
    workers,
    threads,
    communicator,
    strategy,
    every,
    batch,
    epochs,
    rate,
    backend,
    seed,
    load,
    save,
    checkpoints,
    save_every,
    keep,
    resume,
    deadline,
    heartbeat,
    json,
    performance,
    profile,
    help
  };
  static constexpr option flags[]{{"data", required_argument, nullptr, data},
                                  {"ranks", required_argument, nullptr, ranks},
                                  {"workers", required_argument, nullptr, workers},
                                  {"threads", required_argument, nullptr, threads},
                                  {"communicator", required_argument, nullptr, communicator},
                                  {"strategy", required_argument, nullptr, strategy},
                                  {"every", required_argument, nullptr, every},
                                  {"batch", required_argument, nullptr, batch},
                                  {"epochs", required_argument, nullptr, epochs},
                                  {"rate", required_argument, nullptr, rate},
                                  {"backend", required_argument, nullptr, backend},
                                  {"seed", required_argument, nullptr, seed},
                                  {"load", required_argument, nullptr, load},
                                  {"save", required_argument, nullptr, save},
                                  {"checkpoints", required_argument, nullptr, checkpoints},
                                  {"save-every", required_argument, nullptr, save_every},
                                  {"keep", required_argument, nullptr, keep},
                                  {"resume", no_argument, nullptr, resume},
                                  {"deadline", required_argument, nullptr, deadline},
                                  {"heartbeat", required_argument, nullptr, heartbeat},
                                  {"json", required_argument, nullptr, json},
                                  {"performance", required_argument, nullptr, performance},
                                  {"profile", no_argument, nullptr, profile},
                                  {"help", no_argument, nullptr, help},
                                  {}};
  options chosen;
  opterr = 0;  // the sentences here are ours
  while (optind < argc) {
    std::string const flag = argv[optind];
    int const which = getopt_long(argc, argv, "+:", flags, nullptr);
    std::string_view const value = optarg ? optarg : "";
    switch (which) {
      case data:
        chosen.data = file_of("--data", value, "a folder");
        break;
      case ranks:
        chosen.ranks = number_of("--ranks", value, 1, 1024);
        break;
      case workers:
        chosen.workers = number_of("--workers", value, 1, 256);
        break;
      case threads:
        chosen.threads = number_of("--threads", value, 1, 1024);
        break;
      case communicator:
        chosen.communicator = name_of("--communicator", value, {"auto", "self", "threads", "mpi"});
        break;
      case strategy:
        chosen.strategy = name_of("--strategy", value, {"auto", "none", "allreduce", "averaging"});
        break;
      case every:
        chosen.every = number_of("--every", value, 1, 1'000'000);
        break;
      case batch:
        chosen.batch = number_of("--batch", value, 1, 1'000'000);
        break;
      case epochs:
        chosen.epochs = number_of("--epochs", value, 0, 1'000'000);
        break;
      case rate:
        chosen.rate = number_of("--rate", value, 1e-9, 1e9);
        break;
      case backend:
        chosen.backend = name_of("--backend", value, {"auto", "onednn", "reference"});
        break;
      case seed:
        chosen.seed = number_of<std::uint64_t>("--seed", value, 0, UINT64_MAX);
        break;
      case load:
        chosen.load = file_of("--load", value, "a file");
        break;
      case save:
        chosen.save = file_of("--save", value, "a file");
        break;
      case checkpoints:
        chosen.checkpoints = file_of("--checkpoints", value, "a folder");
        break;
      case save_every:
        chosen.save_every = number_of<std::int64_t>("--save-every", value, 0, 1'000'000'000);
        break;
      case keep:
        chosen.keep = number_of("--keep", value, 1, 1'000'000);
        break;
      case resume:
        chosen.resume = true;
        break;
      case deadline:
        chosen.deadline = number_of("--deadline", value, 0.001, 1e6);
        break;
      case heartbeat:
        chosen.heartbeat = number_of("--heartbeat", value, 0.001, 1e6);
        break;
      case json:
        chosen.json = file_of("--json", value, "a file");
        break;
      case performance:
        chosen.performance = number_of<std::int64_t>("--performance", value, 0, 1'000'000);
        break;
      case profile:
        chosen.profile = true;
        break;
      case help:
        chosen.help = true;
        break;
      case ':':
        throw usage_error{flag + ": expected a value after it, got none"};
      case -1:
        throw usage_error{"expected a flag, got '" + flag + "'; --help shows them"};
      default:
        throw usage_error{optopt != 0 && flag.find('=') != std::string::npos
                              ? flag + ": expected no value"
                              : "unknown flag '" + flag + "'; --help shows them"};
    }
  }
  if (chosen.checkpoints.empty() && (chosen.resume || chosen.save_every > 0))
    throw usage_error{std::string(chosen.resume ? "--resume" : "--save-every")
                      + ": expected --checkpoints DIR with it, got none"};
  return chosen;
}
