// SPDX-License-Identifier: Apache-2.0
// Evaluates a model on the test set of a document: cohort evaluate --help
#include <cohort/documents.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdint>
#include <span>
#include <string>
#include "commands.hpp"
#include "document_call.hpp"

namespace {

namespace documents = cohort::documents;
using cohort::run_document;
using cohort::documents::data_sets;
using cohort_program::document_call;

constexpr char const* help =
    R"(Evaluates a model on the test set of a document, and prints a report. Tables are prepared as for the training
of the model.

  cohort evaluate FILE --model MODEL [flags]

  --report REPORT    writes the numbers of the report to this file (JSON)
)";

int evaluate_rank(run_document const& run, std::string const& report_file, cohort::communicator& world,
                  data_sets const& data) {
  cohort::sink const output = documents::stdout_sink();
  print_data(run, data, world, output, cohort::stderr_sink());
  if (!data.test)
    throw cohort_program::usage_error(
        "data: expected a test set, got none; set a test file, or test_fraction above 0");
  cohort::training model = documents::load_model(run, world);
  cohort::evaluation_settings settings = run.evaluation;
  settings.sharding = run.fit.sharding;
  documents::test_report const results = documents::evaluate(model, *data.test, settings);
  documents::read_counts const reads = count_reads(data, world);
  auto examples = static_cast<std::uint64_t>(data.test->size());
  if (run.fit.sharding == cohort::sharding::local) world.allreduce(std::span(&examples, 1));
  if (world.rank() != 0) return 0;
  documents::print_lines("\n" + results.text, output);
  output("checksum " + model.checksum());
  print(reads, output);
  if (report_file.empty()) return 0;
  cohort::io::json_writer out(2);
  out.begin_object();
  for (auto const& [name, value] : results.numbers) out.field(name, value);
  out.field("examples", examples).field("ranks", world.size()).field("backend", model.backend());
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
         documents::require_equal_preparation(run);
         documents::require_known_tokens(run.data);
         std::string const report_file = call.value("--report");
         require_other_file("--report", report_file,
                            {call.file(), run.network.model, documents::file_of(run.data)});
         run_document local;
         return documents::run_on_ranks(
             run, {.begin =
                       [&](cohort::communicator const& world) {
                         if (world.rank() == 0) documents::require_writable({{report_file, "--report"}});
                       },
                   .load =
                       [&](cohort::communicator& world) {
                         local = documents::with_local_files(run);
                         return documents::load(local.data, local.training.seed,
                                                documents::preparation_in(local.network.model),
                                                documents::shards_of(local, world));
                       },
                   .run_rank =
                       [&](cohort::communicator& world, data_sets const& data) {
                         return evaluate_rank(local, report_file, world, data);
                       }});
       }});
}
