// SPDX-License-Identifier: Apache-2.0
// Trains the network that a document describes: cohort train --help
#include <cohort/documents.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "caffe_run.hpp"
#include "commands.hpp"
#include "document_call.hpp"

namespace {

using cohort::run_document;
using cohort::documents::checking;
using cohort_program::document_call;

constexpr char const* help =
    R"(Trains the network that a document describes: its layers, data, optimizer, strategy and all settings.

  cohort train FILE [flags]
  cohort train --caffe SOLVER [flags]

  --caffe SOLVER     trains as a solver of Caffe (prototxt) and its network describe. --set caffe.FIELD=VALUE sets a
                     field of the solver, --set caffe.train.FIELD=VALUE and caffe.test.FIELD one of its data layers
  --resume           the same as --set output.resume=true: starts from the newest checkpoint
  --preflight        checks as cohort check before training
)";

constexpr char const* help_of_check =
    R"(Checks hosts, network, settings, memory and disk of the run that a document describes, and prints latency and
bandwidth of every pair of ranks. Nothing is trained.

  cohort check FILE [flags]
  cohort check --caffe SOLVER [flags]

  --resume           the same as --set output.resume=true
)";

int train(run_document const& run, checking checks) {
  return cohort::run(run,
                     {.checks = checks, .title = "cohort train", .output = cohort::documents::stdout_sink()})
      .exit_status;
}

/// Trains as a document or, with --caffe, a solver of Caffe describes.
int train_command(int count, char** words, char const* text, std::vector<cohort_program::command_flag> flags,
                  bool only_checks) {
  std::optional<cohort_program::caffe_run> caffe;
  flags.push_back({"--caffe"});
  return cohort_program::run_document_command(
      count, words,
      {.help = text,
       .flags = std::move(flags),
       .work =
           [&](document_call const& call, run_document const& run) {
             checking const checks = only_checks               ? checking::only
                                     : call.has("--preflight") ? checking::before_training
                                                               : checking::none;
             return caffe ? caffe->train(run, checks) : train(run, checks);
           },
       .document =
           [&](document_call const& call) {
             if (!call.has("--caffe")) return call.document();
             for (char const* const flag : {"--model", "--print-config"})
               if (call.has(flag))
                 throw cohort_program::usage_error(std::string(flag)
                                                   + ": expected a document, because a solver has data layers, "
                                                     "got --caffe");
             if (!call.file().empty())
               throw cohort_program::usage_error("expected --caffe SOLVER or a document, got both");
             return caffe.emplace(call.value("--caffe"), call).document(call);
           }});
}

}  // namespace

int cohort_program::train_command(int count, char** words) {
  return ::train_command(count, words, help, {{"--resume", false}, {"--preflight", false}}, false);
}

int cohort_program::check_command(int count, char** words) {
  return ::train_command(count, words, help_of_check, {{"--resume", false}}, true);
}
