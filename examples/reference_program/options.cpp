// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"
#include <getopt.h>
#include <charconv>
#include <concepts>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <vector>

namespace reference_program {

namespace {

template <class Number>
std::string text_of(Number number) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

template <class Number>
Number number_of(std::string_view flag, std::string_view text, Number lowest, Number highest) {
  Number value{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = failure == std::errc() && end == text.data() + text.size();
  if (whole && value >= lowest && value <= highest) return value;
  throw usage_error{std::string(flag) + ": expected "
                    + (std::floating_point<Number> ? "a number" : "an integer") + " from " + text_of(lowest)
                    + " to " + text_of(highest) + ", got '" + std::string(text) + "'"};
}

std::string file_of(std::string_view flag, std::string_view text, char const* what) {
  if (text.empty()) throw usage_error{std::string(flag) + ": expected " + what + ", got ''"};
  return std::string(text);
}

std::string name_of(std::string_view flag, std::string_view text,
                    std::initializer_list<std::string_view> known) {
  std::string list;
  for (std::string_view const one : known) {
    if (one == text) return std::string(text);
    list += (list.empty() ? "" : one == *(known.end() - 1) ? " or " : ", ") + std::string(one);
  }
  throw usage_error{std::string(flag) + ": expected " + list + ", got '" + std::string(text) + "'"};
}

using text = std::string_view;

struct flag {
  char const* name;
  void (*take)(options&, text flag, text value);
  int value = required_argument;
};

constexpr flag all_flags[]{
    {"data", [](options& o, text f, text v) { o.data = file_of(f, v, "a folder"); }},
    {"ranks", [](options& o, text f, text v) { o.ranks = number_of(f, v, 1, 1024); }},
    {"workers", [](options& o, text f, text v) { o.workers = number_of(f, v, 1, 256); }},
    {"threads", [](options& o, text f, text v) { o.threads = number_of(f, v, 1, 1024); }},
    {"recompute", [](options& o, text, text) { o.recompute = true; }, no_argument},
    {"tune", [](options& o, text, text) { o.tune = true; }, no_argument},
    {"communicator",
     [](options& o, text f, text v) {
       o.communicator = name_of(f, v, {"auto", "self", "threads", "mpi", "nccl"});
     }},
    {"strategy",
     [](options& o, text f, text v) {
       o.strategy = name_of(f, v, {"auto", "none", "allreduce", "averaging", "sharing", "top-k"});
     }},
    {"wire",
     [](options& o, text f, text v) {
       o.wire = name_of(f, v, {"f32", "bf16"});
     }},
    {"overlap-next-forward", [](options& o, text, text) { o.overlap_next_forward = true; }, no_argument},
    {"every", [](options& o, text f, text v) { o.every = number_of(f, v, 1, 1'000'000); }},
    {"outer",
     [](options& o, text f, text v) {
       o.outer = name_of(f, v, {"plain", "bmuf", "nesterov_bmuf", "diloco"});
     }},
    {"overlap", [](options& o, text, text) { o.overlap = true; }, no_argument},
    {"density", [](options& o, text f, text v) { o.density = number_of(f, v, 1e-9, 1.0); }},
    {"threshold", [](options& o, text f, text v) { o.threshold = number_of(f, v, 1e-30, 1e30); }},
    {"share",
     [](options& o, text f, text v) {
       o.share = name_of(f, v, {"gradient", "update"});
     }},
    {"group",
     [](options& o, text f, text v) {
       o.group = name_of(f, v, {"process", "rank"});
     }},
    {"staleness",
     [](options& o, text f, text v) { o.staleness = v == "unbounded" ? -1 : number_of(f, v, 0, 99); }},
    {"warm-up", [](options& o, text f, text v) { o.warm_up = number_of(f, v, 0, 1'000'000); }},
    {"batch", [](options& o, text f, text v) { o.batch = number_of(f, v, 1, 1'000'000); }},
    {"epochs", [](options& o, text f, text v) { o.epochs = number_of(f, v, 0, 1'000'000); }},
    {"rate", [](options& o, text f, text v) { o.rate = number_of(f, v, 1e-9, 1e9); }},
    {"backend",
     [](options& o, text f, text v) {
       o.backend =
           name_of(f, v, {"auto", "onednn", "onednn_bf16", "cudnn", "cudnn_tf32", "cudnn_bf16", "reference"});
     }},
    {"seed", [](options& o, text f, text v) { o.seed = number_of<std::uint64_t>(f, v, 0, UINT64_MAX); }},
    {"original", [](options& o, text, text) { o.original = true; }, no_argument},
    {"load", [](options& o, text f, text v) { o.load = file_of(f, v, "a file"); }},
    {"save", [](options& o, text f, text v) { o.save = file_of(f, v, "a file"); }},
    {"checkpoints", [](options& o, text f, text v) { o.checkpoints = file_of(f, v, "a folder"); }},
    {"save-every",
     [](options& o, text f, text v) { o.save_every = number_of<std::int64_t>(f, v, 0, 1'000'000'000); }},
    {"keep", [](options& o, text f, text v) { o.keep = number_of(f, v, 1, 1'000'000); }},
    {"resume", [](options& o, text, text) { o.resume = true; }, no_argument},
    {"deadline", [](options& o, text f, text v) { o.deadline = number_of(f, v, 0.001, 1e6); }},
    {"heartbeat", [](options& o, text f, text v) { o.heartbeat = number_of(f, v, 0.001, 1e6); }},
    {"json", [](options& o, text f, text v) { o.json = file_of(f, v, "a file"); }},
    {"evaluate-every",
     [](options& o, text f, text v) { o.evaluate_every = number_of<std::int64_t>(f, v, 0, 1'000'000'000); }},
    {"performance",
     [](options& o, text f, text v) { o.performance = number_of<std::int64_t>(f, v, 0, 1'000'000); }},
    {"trace", [](options& o, text f, text v) { o.trace = file_of(f, v, "a file"); }},
    {"profile", [](options& o, text, text) { o.profile = true; }, no_argument},
    {"help", [](options& o, text, text) { o.help = true; }, no_argument}};

bool has(program_text const& program, text flag) {
  if (flag == "data") return program.data != nullptr;
  if (flag == "original") return program.original != nullptr;
  return true;
}

constexpr char const* before_data = R"(
  --data DIR       )";
constexpr char const* after_data = R"(
  --ranks N        ranks in threads of this process, each with parameters of its own; under mpirun its ranks count (1)
  --workers N      threads of each rank that share its parameters and split its batch (1)
  --threads N      OpenMP threads in each worker (1)
  --recompute      norms, activations and the like run again in backward and are not kept: less memory, more time
  --tune           times several ways to run the layers once, and keeps the fastest in the cache; with neither
                   --workers nor --threads, one worker a processor against one of as many threads as well
  --communicator NAME  auto, self, threads, mpi or nccl (mpi, and gradients from GPU to GPU); auto: mpi under mpirun,
                   threads for more than one rank (auto)
  --strategy NAME  auto, none, allreduce, averaging, sharing or top-k; auto: allreduce for more than one rank (auto)
  --wire NAME      in what gradients travel: f32 or bf16 (f32)
  --overlap-next-forward   gradients of the last layers may be under way until the next step's forward needs these layers
  --every N        steps between two averagings (5)
  --outer NAME     what is done with the mean: plain, bmuf, nesterov_bmuf or diloco (plain)
  --overlap        ranks train on while a mean is under way, and apply it one period later
  --density X      the share of elements that sharing and top-k send in a step (0.001)
  --threshold X    sharing sends what has grown to X, whatever share that is; unset: by the density
  --share NAME     what sharing and top-k send: gradient, or update: the sum of the ranks' own steps (gradient)
  --group NAME     who sends messages: process (its ranks add up what they have), or each rank (process)
  --staleness N    what sharing and top-k send is taken N steps later; unbounded, of updates: when it comes (0)
  --warm-up N      the first N steps of sharing and top-k send everything (0)
  --batch N        examples a rank and step, over all its workers ()";
constexpr char const* after_batch = R"()
  --epochs N       passes over the training images, those of a resumed run included; 0 only evaluates ()";
constexpr char const* after_epochs = R"()
  --rate X         )";
constexpr char const* after_rate = R"()
  --backend NAME   auto, onednn, cudnn (GPUs), onednn_bf16 or cudnn_bf16 (mixed precision), cudnn_tf32 or reference;
                   auto: the first of cudnn, onednn and reference that is built and works here (auto)
  --seed N         of the initial weights and the order of the images ()";
constexpr char const* before_original = R"()
  --original       )";
constexpr char const* after_seed = R"(
  --load FILE      begins with the model in FILE
  --save FILE      writes the trained model, with the updater's state
  --checkpoints DIR  keeps checkpoints in DIR, the last one when SIGTERM asks for the end (exit status 75)
  --save-every N   writes one every N steps; 0: only at SIGTERM (0)
  --keep N         the newest N stay (3)
  --resume         goes on from the newest checkpoint in DIR, or starts afresh where there is none
  --deadline S     seconds that ranks wait for each other (120)
  --heartbeat S    seconds without a sign of life until a process is given up (10)
  --json FILE      writes the final numbers, and the accuracies on the way to them
  --evaluate-every N  evaluates every N steps too, not only after each epoch (0: never)
  --performance N  says every N steps how fast they were (0: never), and at the end how fast more ranks would be
  --trace FILE     writes when the parts of the newest 1000 steps ran on each rank, for Perfetto or chrome://tracing
  --profile        prints what each kernel of rank 0 took
  --help           prints this text

A flag's value follows it or an equals sign; the last of a repeated flag counts. The exit status is 75 where the same
command may be started again with --resume.
)";

}  // namespace

std::string help_of(program_text const& program, options const& defaults) {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%g", defaults.rate);
  std::string all = program.purpose;
  all += '\n';
  if (program.data) all += std::string(before_data) + program.data;
  all += after_data + text_of(defaults.batch) + after_batch + text_of(defaults.epochs) + after_epochs
         + program.rate + " (" + rate + after_rate + text_of(defaults.seed);
  all += program.original ? std::string(before_original) + program.original : ")";
  return all + after_seed;
}

options parse(program_text const& program, options const& defaults, int argc, char** argv) {
  std::vector<option> known;
  std::vector<flag const*> flags;
  for (flag const& one : all_flags) {
    if (!has(program, one.name)) continue;
    known.push_back({one.name, one.value, nullptr, static_cast<int>(1000 + flags.size())});
    flags.push_back(&one);
  }
  known.push_back({});
  options chosen = defaults;
  chosen.rate = 0;
  opterr = 0;  // the sentences here are ours
  while (optind < argc) {
    std::string const given = argv[optind];
    int const which = getopt_long(argc, argv, "+:", known.data(), nullptr);
    if (which >= 1000) {
      flag const& one = *flags[static_cast<std::size_t>(which - 1000)];
      one.take(chosen, std::string("--") + one.name, optarg ? optarg : "");
    } else if (which == ':') {
      throw usage_error{given + ": expected a value after it, got none"};
    } else if (which == -1) {
      throw usage_error{"expected a flag, got '" + given + "'; --help shows them"};
    } else {
      throw usage_error{optopt != 0 && given.find('=') != std::string::npos
                            ? given + ": expected no value"
                            : "unknown flag '" + given + "'; --help shows them"};
    }
  }
  if (!chosen.tune || chosen.workers > 0 || chosen.threads > 0) {
    if (chosen.workers == 0) chosen.workers = 1;
    if (chosen.threads == 0) chosen.threads = 1;
  }
  if (chosen.checkpoints.empty() && (chosen.resume || chosen.save_every > 0))
    throw usage_error{std::string(chosen.resume ? "--resume" : "--save-every")
                      + ": expected --checkpoints DIR with it, got none"};
  return chosen;
}

}  // namespace reference_program
