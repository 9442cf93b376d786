// SPDX-License-Identifier: Apache-2.0
#include "document_call.hpp"
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/documents/run.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

extern char** environ;  // NOLINT: POSIX

namespace cohort_program {

char const* const document_flags_help =
    R"(  --set PATH=VALUE   sets a field, as in --set training.batch=64 or --set strategy.averaging.every=3.
                     VALUE is JSON, or else a text; lists are replaced as a whole
  --model FILE       uses this model file, with its parameters, in place of the document's network
  --ranks N          the same as --set ranks.count=N: ranks as threads of this process.
                     Under mpirun, and with COHORT_JOIN, each process is a rank
  --max-bytes SIZE   sets training.max_bytes, the limit of a rank's memory for training: bytes, or a number with
                     K, M, G or T (powers of 1024), such as 512M; 0: none
  --print-config     prints the document with all fields, as JSON, and ends
  --print-schema     prints the JSON Schema of documents, and ends
  --help             prints this text

FILE ends in .yaml, .yml or .json. A variable COHORT_SET_TRAINING__BATCH=64 does the same as --set
training.batch=64: two underscores stand for a point, capitals for small letters. COHORT_MAX_BYTES=8G does the
same as --max-bytes 8G. Flags override variables, and these override the file; of a repeated flag the last one
counts. With mpirun on several hosts, export the variables by its flag -x.

Exit status: 0; 1 after an error in a run; 2 for an invalid document or flag; 75 if ranks were lost, or if a
training can be restarted with --resume.
)";

namespace {

using assignment = given_setting;

assignment assignment_of(std::string const& text, std::string origin) {
  std::size_t const equals = text.find('=');
  if (equals == std::string::npos) throw usage_error(origin + ": expected PATH=VALUE, got '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1), std::move(origin)};
}

assignment max_bytes_assignment(std::string_view size, char const* origin) {
  return {"training.max_bytes", std::to_string(cohort::documents::bytes_of(origin, size)), origin};
}

/// Returns the fields that the environment sets, in the order of the variables' names. COHORT_MAX_BYTES is
/// first, so COHORT_SET_TRAINING__MAX_BYTES overrides it.
std::vector<assignment> assignments_of_environment() {
  constexpr std::string_view prefix = "COHORT_SET_";
  std::map<std::string, std::string> sorted;
  for (char** variable = environ; *variable; ++variable) {
    std::string_view const entry = *variable;
    std::size_t const equals = entry.find('=');
    if (!entry.starts_with(prefix) || equals == entry.npos) continue;
    sorted.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::vector<assignment> fields;
  constexpr char const* limit = cohort::documents::max_bytes_variable;
  if (char const* const size = std::getenv(limit); size && *size)
    fields.push_back(max_bytes_assignment(size, limit));
  for (auto const& [name, value] : sorted) {
    std::string path;
    for (std::size_t k = prefix.size(); k < name.size(); ++k) {
      bool const is_point = name.compare(k, 2, "__") == 0;
      path += is_point                           ? '.'
              : name[k] >= 'A' && name[k] <= 'Z' ? static_cast<char>(name[k] - 'A' + 'a')
                                                 : name[k];
      if (is_point) ++k;
    }
    fields.push_back({path, value, name});
  }
  return fields;
}

/// Returns the fields that flags set, in the flags' order.
std::vector<assignment> assignments_of(std::vector<given_flag> const& flags) {
  std::vector<assignment> fields;
  for (given_flag const& flag : flags) {
    if (flag.name == "--set") fields.push_back(assignment_of(flag.value, "--set " + flag.value));
    if (flag.name == "--ranks") fields.push_back({"ranks.count", flag.value, flag.name});
    if (flag.name == "--max-bytes") fields.push_back(max_bytes_assignment(flag.value, "--max-bytes"));
    if (flag.name == "--resume") fields.push_back({"output.resume", "true", flag.name});
  }
  return fields;
}

std::vector<command_flag> with_document_flags(std::vector<command_flag> flags) {
  for (char const* name : {"--set", "--ranks", "--max-bytes", "--model"}) flags.push_back({name});
  for (char const* name : {"--print-config", "--print-schema"}) flags.push_back({name, false});
  return flags;
}

}  // namespace

bool is_document(std::string_view path) {
  return path.ends_with(".json") || path.ends_with(".yaml") || path.ends_with(".yml");
}

void require_other_file(std::string const& flag, std::string const& written,
                        std::initializer_list<std::string> read) {
  for (std::string const& input : read) {
    std::error_code unknown;  // a file does not exist
    if (std::filesystem::equivalent(written, input, unknown))
      throw usage_error(flag + ": expected another file than those that the command reads, got '" + written
                        + "'");
  }
}

void require_model(cohort::run_document const& run) {
  if (run.network.model.empty())
    throw usage_error(
        "--model: expected a model file, got none; output.model of a training, and cohort import, write one");
}

command_words::command_words(int count, char** words, std::vector<command_flag> const& flags) {
  for (int k = 1; k < count; ++k) {
    std::string const word = words[k];
    std::string const name = word.substr(0, word.find('='));
    auto const known = std::ranges::find(flags, name, &command_flag::name);
    if (known != flags.end() && known->has_value) {
      if (name.size() == word.size() && ++k == count)
        throw usage_error(name + ": expected a value, got none");
      flags_.push_back({name, name.size() < word.size() ? word.substr(name.size() + 1) : words[k]});
    } else if ((known != flags.end() && name == word) || word == "--help") {
      flags_.push_back({name, {}});
    } else if (word.starts_with("-")) {
      throw usage_error("unknown flag '" + word + "'; --help lists the flags");
    } else if (!file_.empty()) {
      throw usage_error("expected one file, got '" + file_ + "' and '" + word + "'");
    } else {
      file_ = word;
    }
  }
}

bool command_words::has(std::string_view flag) const {
  return std::ranges::find(flags_, flag, &given_flag::name) != flags_.end();
}

std::string command_words::value(std::string_view flag) const {
  std::string last;
  for (given_flag const& given : flags_)
    if (given.name == flag) last = given.value;
  return last;
}

std::string command_words::required(std::string_view flag, char const* contents) const {
  std::string text = value(flag);
  if (text.empty()) throw usage_error(std::string(flag) + ": expected " + contents + ", got none");
  return text;
}

document_call::document_call(int count, char** words, std::vector<command_flag> flags)
    : command_words(count, words, with_document_flags(std::move(flags))) {
  assignments_of(this->flags());  // throws for an invalid assignment
}

cohort::run_document document_call::document() const {
  if (file().empty()) throw usage_error("expected a file, got none; --help shows how to use this program");
  return document(cohort::read_document(file()), {});
}

std::vector<given_setting> document_call::settings() const {
  std::vector<given_setting> all = assignments_of_environment(), given = assignments_of(flags());
  all.insert(all.end(), given.begin(), given.end());
  return all;
}

cohort::run_document document_call::document(cohort::run_document run, std::string_view except) const {
  auto const set = [&](std::vector<assignment> const& fields) {
    for (assignment const& field : fields)
      if (except.empty() || !field.path.starts_with(except)) run.set(field.path, field.value, field.origin);
  };
  set(assignments_of_environment());
  if (has("--model")) {
    run.network.layers.reset();
    run.network.imported.reset();
    run.network.model = value("--model");
    run.network.parameters = true;
    run.network.weights.clear();  // initial parameters of the layers
    run.network.names.clear();
  }
  set(assignments_of(flags()));
  run.check();
  return run;
}

int guarded(std::string_view name, std::function<int()> const& work,
            std::function<std::string(std::string_view)> const& explain) {
  auto const print_error = [&](std::string const& problem, int status) {
    std::fprintf(stderr, "cohort %s: %s\n", std::string(name).c_str(), problem.c_str());
    return status;
  };
  auto const text_of = [&](std::exception const& problem) {
    return explain ? explain(problem.what()) : std::string(problem.what());
  };
  try {
    return work();
  } catch (usage_error const& mistake) {
    return print_error(mistake.what(), cohort::documents::usage_status);
  } catch (cohort::communicator_error const& problem) {
    return print_error(text_of(problem), problem.exit_status());
  } catch (std::exception const& problem) {
    return print_error(text_of(problem), 1);
  }
}

int run_document_command(int count, char** words, document_command const& command) {
  cohort::run_document run;
  return guarded(
      words[0],
      [&] {
        std::optional<document_call> call;
        try {
          call.emplace(count, words, command.flags);
          if (call->has("--help"))
            return std::fputs((std::string(command.help) + document_flags_help).c_str(), stdout) < 0 ? 1 : 0;
          if (call->has("--print-schema"))
            return std::fputs(cohort::run_document_schema().c_str(), stdout) < 0 ? 1 : 0;
          run = command.document ? command.document(*call) : call->document();
        } catch (std::exception const& problem) {
          throw usage_error(problem.what());
        }
        if (call->has("--print-config")) return std::fputs(to_json(run).c_str(), stdout) < 0 ? 1 : 0;
        return command.work(*call, run);
      },
      [&](std::string_view problem) {
        std::string text(problem);
        for (auto const& [phrase, replacement] : command.phrases)
          if (std::size_t const place = text.find(phrase); place != text.npos)
            text.replace(place, phrase.size(), replacement);
        return run.explain(text);
      });
}

}  // namespace cohort_program
