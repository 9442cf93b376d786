// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"
#include <getopt.h>
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
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
  void (*store)(options&, text flag, text value);
  int value = required_argument;
};

constexpr flag all_flags[]{
    {"data", [](options& o, text f, text v) { o.data = file_of(f, v, "a folder"); }},
    {"dataPath", [](options& o, text f, text v) { o.data = file_of(f, v, "a folder"); }},
    {"masterIP", [](options& o, text f, text v) { o.master = file_of(f, v, "a host"); }},
    {"ranks", [](options& o, text f, text v) { o.ranks = number_of(f, v, 1, 1024); }},
    {"workers", [](options& o, text f, text v) { o.workers = number_of(f, v, 1, 256); }},
    {"threads", [](options& o, text f, text v) { o.threads = number_of(f, v, 1, 1024); }},
    {"recompute", [](options& o, text, text) { o.recompute = true; }, no_argument},
    {"max-bytes", [](options& o, text f, text v) { o.max_bytes = bytes_of(f, v); }},
    {"tune", [](options& o, text, text) { o.tune = true; }, no_argument},
    {"communicator",
     [](options& o, text f, text v) {
       o.communicator = name_of(f, v, {"auto", "self", "threads", "mpi", "nccl", "tcp"});
     }},
    {"preflight", [](options& o, text, text) { o.preflight = true; }, no_argument},
    {"strategy",
     [](options& o, text f, text v) {
       o.strategy = name_of(f, v, {"auto", "none", "allreduce", "averaging", "sharing", "top_k"});
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
    {"learning-rate", [](options& o, text f, text v) { o.learning_rate = number_of(f, v, 1e-9, 1e9); }},
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
    {"tensorboard", [](options& o, text f, text v) { o.tensorboard = file_of(f, v, "a folder"); }},
    {"html-report", [](options& o, text f, text v) { o.html_report = file_of(f, v, "a file"); }},
    {"profile", [](options& o, text, text) { o.profile = true; }, no_argument},
    {"size", [](options& o, text, text v) { o.size = v; }},
    {"generate", [](options& o, text f, text v) { o.generate = number_of(f, v, 0, 1'000'000); }},
    {"words", [](options& o, text, text v) { o.words = v; }},
    {"weights", [](options& o, text f, text v) { o.weights = file_of(f, v, "a file"); }},
    {"map", [](options& o, text f, text v) { o.map = file_of(f, v, "a file"); }},
    {"features", [](options& o, text f, text v) { o.features = file_of(f, v, "a file"); }},
    {"help", [](options& o, text, text) { o.help = true; }, no_argument}};

bool has(program_text const& program, text flag) {
  if (program.flags && flag != "help"
      && text(program.flags).find(' ' + std::string(flag) + ' ') == text::npos)
    return false;
  if (flag == "data") return program.data != nullptr;
  if (flag == "original") return program.original != nullptr;
  if (flag == "size") return program.size != nullptr;
  if (flag == "generate") return program.generate != nullptr;
  if (flag == "words") return program.words != nullptr;
  if (flag == "weights" || flag == "map") return program.weights != nullptr;
  if (flag == "dataPath" || flag == "masterIP") return program.cookbook;
  if (flag == "features") return program.features != nullptr;
  return true;
}

constexpr char const* before_data = R"(
  --data DIR       )";
constexpr char const* after_data = R"(
  --dataPath DIR   the same as --data
  --masterIP HOST  under mpirun: the host of rank 0, which is checked
  --ranks N        ranks as threads of this process, each with its own parameters; with mpi and tcp, the ranks are
                   processes, which the launcher counts (1)
  --workers N      workers (threads) per rank, which share its parameters and split its batch (1)
  --threads N      OpenMP threads per worker (1)
  --recompute      recomputes norms, activations and other cheap layers in backward: less memory, more time
  --max-bytes SIZE limit of each rank's memory for training, checked before it is allocated: bytes, or a number with
                   K, M, G or T (powers of 1024), such as 512M; 0: none; default: $COHORT_MAX_BYTES
  --tune           measures implementations of each layer once and caches the fastest; without --workers and --threads,
                   also compares one worker per processor with one worker of as many threads
  --communicator NAME  auto, self, threads, mpi, nccl (mpi, with gradients sent between GPUs) or tcp; auto: mpi under
                   mpirun, tcp if $COHORT_JOIN or torchrun gives an address, otherwise threads for more than one rank
                   (auto)
  --preflight      checks hosts, network, settings, memory and disk before training, and prints latency and
                   bandwidth of every pair of ranks
  --strategy NAME  auto, none, allreduce, averaging, sharing or top_k; auto: allreduce for more than one rank (auto)
  --wire NAME      type of the exchanged gradients with allreduce: f32 or bf16 (f32)
  --overlap-next-forward   overlaps the allreduce of the last layers' gradients with the next step's forward pass
  --every N        steps between two averages of parameters (5)
  --outer NAME     outer optimiser applied to the mean: plain, bmuf, nesterov_bmuf or diloco (plain)
  --overlap        overlaps averaging with training; the mean is applied one period later
  --density X      fraction of elements that sharing and top_k send per step (0.01)
  --threshold X    fixed threshold of sharing; default: chosen by the density
  --share NAME     what sharing and top_k exchange: gradient, or update (the ranks' optimizer steps) (gradient)
  --group NAME     senders of messages: process (its ranks sum their arrays first), or each rank (process)
  --staleness N    sharing and top_k apply messages N steps later; unbounded, with --share update: on arrival (0)
  --warm-up N      sharing and top_k exchange densely in the first N steps (0)
  --batch N        examples per rank and step, split over its workers ()";
constexpr char const* after_batch = R"()
  --epochs N       passes over the training images, including those before a resume; 0: only evaluates ()";
constexpr char const* after_epochs = R"()
  --learning-rate X
                   )";
constexpr char const* after_rate = R"()
  --backend NAME   auto, onednn, cudnn (GPUs), onednn_bf16 or cudnn_bf16 (mixed precision), cudnn_tf32 or reference;
                   auto: the first of cudnn, onednn and reference that is built in and usable here (auto)
  --seed N         seed of the initial weights and of the order of the images ()";
constexpr char const* before_original = R"()
  --original       )";
constexpr char const* after_seed = R"(
  --load FILE      starts from the model in FILE
  --save FILE      writes the trained model, with the optimizer's state
  --checkpoints DIR  saves checkpoints in DIR; SIGTERM and SIGINT save one and stop (status 75)
  --save-every N   saves a checkpoint every N steps; 0: only on SIGTERM (0)
  --keep N         number of checkpoints to keep (3)
  --resume         resumes from the newest checkpoint in DIR, or starts from scratch if there is none
  --deadline S     maximum seconds that ranks wait for each other (120)
  --heartbeat S    seconds without a heartbeat until a process counts as lost (10)
  --json FILE      writes the results and the accuracy curve
  --evaluate-every N  evaluates every N steps, too; 0: only after each epoch (0)
  --performance N  reports the speed every N steps (0: never), and at the end a forecast for more ranks
  --trace FILE     writes a timeline of the newest 1000 steps of each rank, for Perfetto or chrome://tracing
  --tensorboard DIR  writes curves, histograms and settings for TensorBoard
  --html-report FILE  writes a report that a browser shows, and rewrites it while the run trains
  --profile        prints the time of each kernel of rank 0
  --help           prints this text

A value follows its flag after a space or an equals sign; the last of repeated flags counts. Exit status 75 means:
the same command can be restarted with --resume.
)";

/// Returns the help text without flags that the program does not have. A flag's text begins with two spaces
/// and its name, and continues in lines that are indented further.
std::string without_other_flags(program_text const& program, std::string const& help) {
  std::string kept;
  bool keeps = true;
  for (text rest = help; !rest.empty();) {
    std::size_t const end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    text const line = rest.substr(0, end);
    if (line.starts_with("  --"))
      keeps = has(program, line.substr(4, line.find(' ', 4) - 4));
    else if (!line.starts_with("     "))
      keeps = true;
    if (keeps) kept += line;
    rest.remove_prefix(end);
  }
  return kept;
}

}  // namespace

std::size_t bytes_of(std::string_view setting, std::string_view text) {
  constexpr std::string_view units = "KMGT";
  std::string_view digits = text;
  unsigned shift = 0;
  if (std::size_t const unit = digits.empty() ? units.npos : units.find(digits.back()); unit != units.npos) {
    shift = 10 * static_cast<unsigned>(unit + 1);
    digits.remove_suffix(1);
  }
  std::size_t count = 0;
  auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  bool const whole = failure == std::errc() && end == digits.data() + digits.size();
  if (whole && count <= SIZE_MAX >> shift) return count << shift;
  throw usage_error{std::string(setting)
                    + ": expected a number of bytes up to 2^64 - 1, such as 536870912, 512M or 8G (K, M, G and "
                      "T are powers of 1024), got '"
                    + std::string(text) + "'"};
}

std::string help_of(program_text const& program, options const& defaults) {
  char learning_rate[32];
  std::snprintf(learning_rate, sizeof learning_rate, "%g", defaults.learning_rate);
  std::string all = program.purpose;
  all += '\n';
  if (program.data) all += std::string(before_data) + program.data;
  all += after_data + text_of(defaults.batch) + after_batch + text_of(defaults.epochs) + after_epochs
         + program.learning_rate + " (" + learning_rate + after_rate + text_of(defaults.seed);
  all += program.original ? std::string(before_original) + program.original : ")";
  if (program.size)
    all += std::string("\n  --size NAME      ") + program.size + " (" + program.sizes[0] + ')';
  if (program.generate)
    all += std::string("\n  --generate N     ") + program.generate + " (" + text_of(defaults.generate) + ')';
  if (program.words)
    all += std::string("\n  --words LIST     ") + program.words + " (" + defaults.words + ')';
  if (program.weights)
    all += std::string("\n  --weights FILE   ") + program.weights
           + "\n  --map FILE       maps parameters to tensors of that file (cohort/interchange/name_map.hpp)";
  if (program.features) all += std::string("\n  --features FILE  ") + program.features;
  return without_other_flags(program, all + after_seed);
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
  chosen.learning_rate = 0;
  opterr = 0;  // getopt prints nothing: usage_error has the message
  while (optind < argc) {
    std::string const given = argv[optind];
    int const which = getopt_long(argc, argv, "+:", known.data(), nullptr);
    if (which >= 1000) {
      flag const& one = *flags[static_cast<std::size_t>(which - 1000)];
      one.store(chosen, std::string("--") + one.name, optarg ? optarg : "");
    } else if (which == ':') {
      throw usage_error{given + ": expected a value, got none"};
    } else if (which == -1) {
      throw usage_error{"expected a flag, got '" + given + "'; --help lists the flags"};
    } else {
      throw usage_error{optopt != 0 && given.find('=') != std::string::npos
                            ? given + ": expected no value"
                            : "unknown flag '" + given + "'; --help lists the flags"};
    }
  }
  char const* const limit = std::getenv(max_bytes_variable);
  if (limit && *limit && !chosen.max_bytes && !chosen.help && has(program, "max-bytes"))
    chosen.max_bytes = bytes_of(max_bytes_variable, limit);
  if (program.size) {
    if (chosen.size.empty()) chosen.size = program.sizes[0];
    if (std::none_of(std::begin(program.sizes), std::end(program.sizes),
                     [&](char const* one) { return one && chosen.size == one; }))
      throw usage_error{"--size: unknown value '" + chosen.size + "'; --help lists the values"};
  }
  if (!chosen.tune || chosen.workers > 0 || chosen.threads > 0) {
    if (chosen.workers == 0) chosen.workers = 1;
    if (chosen.threads == 0) chosen.threads = 1;
  }
  if (chosen.checkpoints.empty() && (chosen.resume || chosen.save_every > 0))
    throw usage_error{std::string(chosen.resume ? "--resume" : "--save-every")
                      + ": expected --checkpoints DIR as well, got none"};
  if (chosen.weights.empty() != chosen.map.empty())
    throw usage_error{chosen.map.empty() ? "--weights: expected --map FILE as well, got none"
                                         : "--map: expected --weights FILE as well, got none"};
  return chosen;
}

}  // namespace reference_program
