// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"
#include <getopt.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace reference_program {

namespace {

using text = std::string_view;

int number_of(text flag, text given) {
  int value = 0;
  auto const [end, failure] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (failure == std::errc() && end == given.data() + given.size() && value >= 0) return value;
  throw usage_error{std::string(flag) + ": expected an integer from 0 to "
                    + std::to_string(std::numeric_limits<int>::max()) + ", got '" + std::string(given) + "'"};
}

/// Paths of the document fields that a flag sets. A field that several strategies have has one path per
/// strategy.
using fields = std::array<text, 2>;

struct flag {
  text name;
  char const* value;  ///< placeholder in the help; FILE and DIR are paths, NAME is a name; "": no value
  char const* help;   ///< text of the help, without allowed values and default; "": the text `needs`
  std::variant<fields, bool options::*, int options::*, std::string options::*> sets;
  char const* program_text::*needs = nullptr;  ///< the flag exists if this text is not null
};

constexpr text optimizer_rate = "optimizer.rule.*.learning_rate";  // * is the name of the optimizer

constexpr flag all_flags[]{
    {"data", "DIR", "", &options::data, &program_text::data},
    {"dataPath", "DIR", "like --data, which it overrides", &options::data, &program_text::master},
    {"masterIP", "HOST", "", &options::master, &program_text::master},
    {"port", "N", "port of the address at which the processes meet, without a launcher",
     &options::master_port, &program_text::master},
    {"networkMask", "MASK",
     "network in which a process listens for others, such as 10.0.0.0/16: $COHORT_INTERFACES",
     &options::network_mask, &program_text::master},
    {"numNodes", "N", "number of processes, without a launcher: $COHORT_RANKS", &options::nodes,
     &program_text::master},
    {"ranks", "N",
     "ranks as threads of this process, each with its own parameters; with mpi and tcp, the ranks are "
     "processes, which the launcher counts",
     fields{"ranks.count"}},
    {"workers", "N", "workers (threads) per rank, which share its parameters and split its batch",
     fields{"training.workers"}},
    {"threads", "N", "OpenMP threads per worker", fields{"training.threads"}},
    {"recompute", "",
     "recomputes norms, activations and other cheap layers in backward: less memory, more time",
     fields{"training.recompute.cheap"}},
    {"max-bytes", "SIZE",
     "limit of each rank's memory for training, checked before it is allocated: bytes, or a number "
     "with K, M, G or T (powers of 1024), such as 512M; 0: none; default: $COHORT_MAX_BYTES",
     fields{"training.max_bytes"}},
    {"tune", "",
     "measures implementations of each layer once and caches the fastest; without --workers and "
     "--threads, also compares one worker per processor with one worker of as many threads",
     fields{"training.tune"}},
    {"communicator", "NAME",
     "nccl: mpi, with gradients sent between GPUs; auto: mpi under mpirun, tcp if $COHORT_JOIN or "
     "torchrun gives an address, otherwise threads for more than one rank",
     fields{"ranks.communicator"}},
    {"preflight", "",
     "checks hosts, network, settings, memory and disk before training, and prints latency and "
     "bandwidth of every pair of ranks",
     &options::preflight},
    {"strategy", "NAME", "auto: allreduce for more than one rank", fields{"strategy"}},
    {"wire", "NAME", "type of the exchanged gradients with allreduce; default: that of the parameters",
     fields{"strategy.allreduce.wire"}},
    {"overlap-next-forward", "",
     "overlaps the allreduce of the last layers' gradients with the next step's forward pass",
     fields{"strategy.allreduce.overlap_next_forward"}},
    {"shard", "NAME",
     "optimizer_state or gradients: with allreduce, each rank holds and updates only its part",
     fields{"strategy.allreduce.shard"}},
    {"every", "N", "steps between two averages of parameters", fields{"strategy.averaging.every"}},
    {"outer", "NAME", "outer optimizer applied to the mean; default: plain",
     fields{"strategy.averaging.outer"}},
    {"overlap", "", "overlaps averaging with training; the mean is applied one period later",
     fields{"strategy.averaging.overlap"}},
    {"density", "X", "fraction of elements that sharing and top_k send per step",
     fields{"strategy.sharing.threshold.quantile.density", "strategy.top_k.density"}},
    {"threshold", "X", "fixed threshold of sharing; default: chosen by the density",
     fields{"strategy.sharing.threshold.fixed.value"}},
    {"share", "NAME", "what sharing and top_k exchange; update: the ranks' optimizer steps",
     fields{"strategy.sharing.share", "strategy.top_k.share"}},
    {"group", "NAME", "senders of messages; process: its ranks sum their arrays first",
     fields{"strategy.sharing.group", "strategy.top_k.group"}},
    {"staleness", "N",
     "sharing and top_k apply messages N steps later; unbounded, with --share update: on arrival",
     fields{"strategy.sharing.max_staleness", "strategy.top_k.max_staleness"}},
    {"warm-up", "N", "sharing and top_k exchange densely in the first N steps",
     fields{"strategy.sharing.warm_up", "strategy.top_k.warm_up"}},
    {"batch", "N", "examples per rank and step, split over its workers", fields{"training.batch"}},
    {"epochs", "N", "passes over the training data, including those before a resume; 0: only evaluates",
     fields{"training.epochs"}},
    {"learning-rate", "X", "", fields{optimizer_rate}, &program_text::learning_rate},
    {"backend", "NAME",
     "cudnn: GPUs; bf16: mixed precision; auto: the first of cudnn, onednn and reference that is "
     "built in and usable here",
     fields{"backend"}},
    {"seed", "N", "seed of the initial weights and of the order of the examples", fields{"training.seed"}},
    {"original", "", "", &options::original, &program_text::original},
    {"size", "NAME", "", &options::size, &program_text::size},
    {"generate", "N", "", &options::generate, &program_text::generate},
    {"words", "LIST", "", &options::words, &program_text::words},
    {"weights", "FILE", "", &options::weights, &program_text::weights},
    {"map", "FILE", "maps parameters to tensors of that file (cohort/interchange/name_map.hpp)",
     &options::map, &program_text::weights},
    {"features", "FILE", "", &options::features, &program_text::features},
    {"load", "FILE", "starts from the model in FILE", &options::load},
    {"save", "FILE", "writes the trained model, with the optimizer's state", fields{"output.model"}},
    {"checkpoints", "DIR",
     "saves checkpoints in DIR, the last one at the end; SIGTERM and SIGINT save one and stop (status 75)",
     fields{"output.checkpoints"}},
    {"save-every", "N", "saves a checkpoint every N steps; 0: only at the end, and on SIGTERM",
     fields{"output.checkpoint_every"}},
    {"keep", "N", "number of checkpoints to keep", fields{"output.keep"}},
    {"max-age", "S", "removes checkpoints that are older than S seconds, except the newest; 0: keeps them",
     fields{"output.max_age"}},
    {"resume", "", "resumes from the newest checkpoint in DIR, or starts from scratch if there is none",
     fields{"output.resume"}},
    {"deadline", "S", "maximum seconds that ranks wait for each other", fields{"ranks.deadline"}},
    {"heartbeat", "S", "seconds without a heartbeat until a process counts as lost",
     fields{"ranks.heartbeat"}},
    {"json", "FILE", "writes the results and the accuracy curve", fields{"output.report"}},
    {"evaluate-every", "N", "evaluates every N steps, too; 0: only after each epoch",
     &options::evaluate_every},
    {"performance", "N",
     "reports the speed every N steps, and at the end a forecast for more ranks; 0: never",
     &options::performance},
    {"trace", "FILE",
     "writes a timeline of the newest 1000 steps of each rank, for Perfetto or chrome://tracing",
     &options::trace},
    {"tensorboard", "DIR", "writes curves, histograms and settings for TensorBoard",
     fields{"output.tensorboard"}},
    {"html-report", "FILE", "writes a report that a browser shows, and rewrites it while the run trains",
     fields{"output.html_report"}},
    {"profile", "", "prints the time of each kernel of rank 0", &options::profile},
    {"help", "", "prints this text", &options::help}};

bool has(program_text const& program, flag const& wanted) {
  if (program.flags && wanted.name != "help"
      && text(program.flags).find(' ' + std::string(wanted.name) + ' ') == text::npos)
    return false;
  return !wanted.needs || program.*wanted.needs;
}

/// Returns a noun for a flag's value if the value is a text that must not be empty; otherwise null.
char const* noun_of(flag const& of) {
  text const placeholder = of.value;
  return placeholder == "FILE"   ? "a file"
         : placeholder == "DIR"  ? "a folder"
         : placeholder == "HOST" ? "a host"
         : placeholder == "MASK" ? "a network"
                                 : nullptr;
}

// ---- fields of documents --------------------------------------------------------------------------------

/// Returns the path of a field in a document with this optimizer.
std::string path_in(cohort::run_document const& run, text path) {
  std::string full(path);
  if (std::size_t const star = full.find('*'); star != full.npos)
    full.replace(star, 1, run.training.optimizer.rule.name());
  return full;
}

/// Splits a path after its first name.
std::pair<text, text> split(text path) {
  std::size_t const end = std::min(path.find('.'), path.size());
  return {path.substr(0, end), path.substr(std::min(end + 1, path.size()))};
}

/// Returns the name of the strategy to which the field of a path belongs; empty for other paths.
text strategy_of(text path) {
  auto const [first, rest] = split(path);
  return first == "strategy" ? split(rest).first : text();
}

/// Returns whether a flag of the strategy `name` has an effect.
bool is_selected(cohort::strategy_source const& chosen, text name) {
  return name_of(chosen) == name
         || (std::holds_alternative<cohort::automatic_strategy>(chosen) && name == "allreduce");
}

/// Returns the JSON text of a flag's value. Lists and objects become texts, which the fields of flags reject.
std::string json_of(flag const& of, std::string const& value) {
  if (text(of.value).empty()) return "true";
  if (noun_of(of) || text(of.value) == "NAME" || value.find_first_of("[{\"") != text::npos)
    return cohort::io::json_writer().value(text(value)).text();
  return value.starts_with('.') ? '0' + value : value;
}

/// Sets the fields of a flag. `name`: name of the flag or variable, for errors.
void set_fields(cohort::run_document& run, flag const& of, std::string const& name,
                std::string const& given) {
  std::string const value =
      json_of(of, of.name == "max-bytes" ? std::to_string(cohort::documents::bytes_of(name, given)) : given);
  for (text const path : std::get<fields>(of.sets)) {
    if (path.empty()) continue;
    text const strategy = strategy_of(path);
    cohort::run_document unselected;
    bool const has_effect = strategy.empty() || is_selected(run.strategy, strategy);
    try {
      (has_effect ? run : unselected).set(path_in(run, path), value, name);
    } catch (cohort::data_error const& problem) {
      throw usage_error{name + ": expected " + std::string(problem.why().expected) + ", got '" + given + "'"};
    }
  }
}

/// Applies a flag. `name`: name of the flag or variable, for errors.
void set(options& chosen, flag const& of, std::string const& name, std::string const& value) {
  if (char const* const noun = noun_of(of); noun && value.empty())
    throw usage_error{name + ": expected " + noun + ", got ''"};
  if (auto const* const mark = std::get_if<bool options::*>(&of.sets))
    chosen.*(*mark) = true;
  else if (auto const* const number = std::get_if<int options::*>(&of.sets))
    chosen.*(*number) = number_of(name, value);
  else if (auto const* const words = std::get_if<std::string options::*>(&of.sets))
    chosen.*(*words) = value;
  else
    set_fields(chosen.run, of, name, value);
}

/// Returns the part of a JSON Schema that describes a field.
std::optional<cohort::io::json_value> find_schema(cohort::io::json_value schema, text path) {
  if (path.empty()) return schema;
  auto const [name, rest] = split(path);
  if (auto const properties = schema.find("properties"))
    if (auto const field = properties->find(name)) return find_schema(*field, rest);
  if (auto const choices = schema.find("anyOf"))
    for (cohort::io::json_value const choice : choices->items())
      if (auto const found = find_schema(choice, path)) return found;
  return std::nullopt;
}

/// Returns the names that a schema allows as "a, b or c"; empty: none.
std::string names_in(cohort::io::json_value schema) {
  if (auto const names = schema.find("enum")) {
    std::string list;
    for (std::size_t k = 0; k < names->size(); ++k)
      list += (k == 0 ? "" : k + 1 == names->size() ? " or " : ", ") + std::string(names->at(k).string());
    return list;
  }
  std::string list;
  if (auto const choices = schema.find("anyOf"))
    for (cohort::io::json_value const choice : choices->items())
      if (list.empty()) list = names_in(choice);
  return list;
}

/// Returns the text of a field's value; empty for an object, null, false and the empty text.
std::string default_of(cohort::run_document run, std::string const& path) {
  if (text const strategy = strategy_of(path); !strategy.empty()) run.set("strategy", strategy, "strategy");
  cohort::io::json_document const parsed = cohort::io::parse_json(to_json(run));
  std::optional<cohort::io::json_value> value = parsed.root();
  for (text rest = path; value && !rest.empty();) {
    auto const [name, after] = split(rest);
    value = value->kind() == cohort::io::json_kind::object ? value->find(name) : std::nullopt;
    rest = after;
  }
  if (value && value->kind() == cohort::io::json_kind::string) return std::string(value->string());
  if (!value || value->kind() != cohort::io::json_kind::number) return {};
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.15g", value->number());
  return digits;
}

// ---- help -----------------------------------------------------------------------------------------------

constexpr std::size_t help_indent = 19, help_width = 118;

/// Appends a flag with its text to the help, wrapped into lines.
void append_help(std::string& all, flag const& of, std::string const& words) {
  std::string line = "  --" + std::string(of.name) + (*of.value ? " " : "") + of.value;
  line.resize(std::max(help_indent, line.size() + 2), ' ');
  bool is_first = true;
  for (text rest = words; !rest.empty();) {
    std::size_t const end = std::min(rest.find_first_of(" \n"), rest.size());
    text const word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) continue;
    if (!is_first && line.size() + 1 + word.size() > help_width) {
      all += line + '\n';
      line.assign(help_indent, ' ');
      is_first = true;
    }
    line += (is_first ? "" : " ") + std::string(word);
    is_first = false;
  }
  all += line + '\n';
}

}  // namespace

std::string help_of(program_text const& program, options const& defaults) {
  cohort::io::json_document const schema = cohort::io::parse_json(cohort::run_document_schema());
  std::string all = std::string(program.purpose) + "\n\n";
  for (flag const& one : all_flags) {
    if (!has(program, one)) continue;
    std::string words = *one.help ? one.help : program.*one.needs, shown;
    if (auto const* const paths = std::get_if<fields>(&one.sets)) {
      std::string const path = path_in(defaults.run, paths->front());
      if (text(one.value) == "NAME")
        words = names_in(find_schema(schema.root(), path).value()) + "; " + words;
      shown = default_of(defaults.run, path);
    } else if (auto const* const number = std::get_if<int options::*>(&one.sets)) {
      shown = std::to_string(defaults.*(*number));
    } else if (auto const* const content = std::get_if<std::string options::*>(&one.sets)) {
      shown = defaults.*(*content);
    }
    if (!shown.empty()) words += " (" + shown + ')';
    append_help(all, one, words);
  }
  return all
         + "\nA value follows its flag after a space or an equals sign; the last of repeated flags counts. Exit "
           "status 75 means:\nthe same command can be restarted with --resume.\n";
}

options parse(program_text const& program, options const& defaults, cohort::training_settings const& original,
              int argc, char** argv) {
  std::vector<option> known;
  for (std::size_t k = 0; k < std::size(all_flags); ++k)
    if (has(program, all_flags[k]))
      known.push_back({all_flags[k].name.data(), *all_flags[k].value ? required_argument : no_argument,
                       nullptr, static_cast<int>(1000 + k)});
  known.push_back({});
  std::array<std::optional<std::string>, std::size(all_flags)> values;
  opterr = 0;  // getopt prints nothing: usage_error has the message
  while (optind < argc) {
    std::string const given = argv[optind];
    int const which = getopt_long(argc, argv, "+:", known.data(), nullptr);
    if (which >= 1000) {
      values[static_cast<std::size_t>(which - 1000)] = optarg ? optarg : "";
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
  auto const is_given = [&](text name) {
    for (std::size_t k = 0; k < values.size(); ++k)
      if (all_flags[k].name == name) return values[k].has_value();
    return false;
  };
  options chosen = defaults;
  cohort::run_document& run = chosen.run;
  if (is_given("original")) run.training = original;
  for (std::size_t k = 0; k < values.size(); ++k) {
    flag const& one = all_flags[k];
    std::string name = "--" + std::string(one.name);
    if (one.name == "max-bytes" && !values[k] && !is_given("help") && has(program, one))
      if (char const* const limit = std::getenv(cohort::documents::max_bytes_variable); limit && *limit) {
        name = cohort::documents::max_bytes_variable;
        values[k] = limit;
      }
    if (values[k]) set(chosen, one, name, *values[k]);
  }
  if (program.size && std::none_of(std::begin(program.sizes), std::end(program.sizes), [&](char const* one) {
        return one && chosen.size == one;
      }))
    throw usage_error{"--size: unknown value '" + chosen.size + "'; --help lists the values"};
  if (run.tune && !is_given("workers") && !is_given("threads")) run.training.workers = 0;  // to be calibrated
  if (run.training.workers == 0 && !run.tune)
    throw usage_error{"--workers: expected at least 1 without --tune, got '0'"};
  cohort::output_settings const& output = run.output;
  if (output.checkpoints.empty() && (output.resume || output.checkpoint_every > 0))
    throw usage_error{std::string(output.resume ? "--resume" : "--save-every")
                      + ": expected --checkpoints DIR as well, got none"};
  if (chosen.weights.empty() != chosen.map.empty())
    throw usage_error{chosen.map.empty() ? "--weights: expected --map FILE as well, got none"
                                         : "--map: expected --weights FILE as well, got none"};
  return chosen;
}

}  // namespace reference_program
