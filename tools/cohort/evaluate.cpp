// SPDX-License-Identifier: Apache-2.0
// Evaluates a model on the test set of a document: cohort evaluate --help
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdio>
#include <string>
#include "commands.hpp"
#include "document_run.hpp"

namespace {

using cohort::run_document;
using cohort_program::document_call;
using cohort_program::document_data;

constexpr char const* help =
    R"(Evaluates a model on the test set of a document, and prints a report. Tables are prepared as for the training
of the model.

  cohort evaluate FILE --model MODEL [flags]

  --report REPORT    writes the numbers of the report to this file (JSON)
)";

int evaluate_rank(run_document const& run, std::string const& report_file, cohort::communicator& world,
                  document_data const& data) {
  cohort_program::print_data(run, data, world);
  if (!data.test)
    throw cohort_program::usage_error(
        "data: expected a test set, got none; set a test file, or test_fraction above 0");
  cohort::training model = cohort_program::load_model(run, world);
  cohort::evaluation_settings settings = run.evaluation;
  settings.sharding = run.fit.sharding;
  cohort_program::test_report const results = cohort_program::evaluate(model, *data.test, settings);
  cohort_program::read_counts const reads = count_reads(data, world);
  if (world.rank() != 0) return 0;
  std::printf("\n%s\nchecksum %s\n", results.text.c_str(), model.checksum().c_str());
  print(reads);
  if (report_file.empty()) return 0;
  cohort::io::json_writer out(2);
  out.begin_object();
  for (auto const& [name, value] : results.numbers) out.field(name, value);
  out.field("examples", data.test->size()).field("ranks", world.size()).field("backend", model.backend());
  out.field("checksum", model.checksum());
  if (reads.skipped) out.field("skipped_records", *reads.skipped);
  if (data.rows) out.field("removed_rows", data.rows->removed).field("skipped_rows", data.rows->skipped);
  cohort::io::write_file(report_file, out.end_object().text());
  return 0;
}

}  // namespace

int cohort_program::evaluate_command(int count, char** words) {
  return run_document_command(
      count, words,
      {.help = help,
       .flags = {{"--report"}},
       .work = [&](document_call const& call, run_document const& run) {
         require_model(run);
         require_equal_preparation(run);
         require_known_tokens(run.data);
         std::string const report_file = call.value("--report");
         require_other_file("--report", report_file, {call.file(), run.network.model, file_of(run.data)});
         return run_on_ranks(
             run, count, words,
             {.begin =
                  [&](cohort::communicator const& world) {
                    if (world.rank() == 0) reference_program::require_writable({{report_file, "--report"}});
                  },
              .load = [&] { return load(run.data, run.training.seed, preparation_in(run.network.model)); },
              .run_rank =
                  [&](cohort::communicator& world, document_data const& data) {
                    return evaluate_rank(run, report_file, world, data);
                  }});
       }});
}
