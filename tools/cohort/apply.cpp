// SPDX-License-Identifier: Apache-2.0
// Writes the outputs of a model for the data of a document: cohort predict --help, cohort features --help
#include <cohort/documents.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <string>
#include <variant>
#include "commands.hpp"
#include "document_call.hpp"
#include "names_in.hpp"

namespace {

namespace documents = cohort::documents;
using cohort::run_document;
using cohort::documents::data_sets;
using cohort_program::document_call;
using cohort_program::usage_error;

constexpr char const* help_of_predict =
    R"(Computes the outputs of a model for the examples of a document's data, on all ranks, and writes them to a file:
one row for each example, with its key. All examples of the data's files are used, without the test files, without
a division and without augmentation; another file is set by --set, such as --set data.table.file=new.csv. Tables
are prepared as for the training of the model; they need no target column.

  cohort predict FILE --model MODEL --output OUT [flags]

)";

constexpr char const* help_of_features =
    R"(Computes the outputs of inner layers of a model, as cohort predict computes the outputs of the network.

  cohort features FILE --model MODEL --layers A,B --output OUT [flags]

)";

constexpr char const* help_of_output =
    R"(  --output OUT       file that ends in .csv, or in .npy; with several outputs, the files are OUT.LAYER.npy
                     and, with keys, OUT.key.npy
  --layers A,B       names of the layers whose outputs are written, such as dense_1 (cohort describe prints them);
                     cohort predict: by default the outputs of the network
  --key COLUMN       tables: the column with the keys; by default the number of the row in the file, from 1.
                     The keys of images are their paths, and those of records the records' keys; other examples
                     have their index as key
  --restart          discards the parts that an interrupted call has written; without this flag, the same call
                     continues with the remaining parts
)";

int write_outputs(document_call const& call, run_document const& run, cohort::communicator& world,
                  data_sets const& data) {
  cohort::sink const output = documents::stdout_sink();
  if (world.rank() == 0) {
    for (std::string const& notice : data.notices) cohort::stderr_sink()(run.explain(notice));
    if (!data.notice.empty()) output(data.notice);
    output("data: " + data.where + ", " + std::to_string(data.train.size()) + " examples");
  }
  cohort::training model = documents::load_model(run, world);
  std::string const path = call.value("--output");
  std::string const layers = call.value("--layers");
  cohort::prediction_file_settings settings{
      .format = path.ends_with(".npy") ? cohort::prediction_format::npy : cohort::prediction_format::csv,
      .batch = run.evaluation.batch,
      .sharding = run.fit.sharding,
      .readers = run.evaluation.readers,
      .resume = !call.has("--restart")};
  if (!layers.empty()) settings.outputs = cohort_program::names_in(layers);
  try {
    named_layers(model.network(), settings.outputs);
  } catch (cohort::setting_error const& mistake) {
    throw usage_error(std::string("--layers: ") + mistake.what());
  }
  cohort::prediction_file_report const report = write_predictions(model, data.train, path, settings);
  documents::read_counts const reads = count_reads(data, world);
  if (world.rank() != 0) return 0;
  print(reads, output);
  print_rows(data, output, cohort::stderr_sink());
  std::string line = std::to_string(report.examples) + " examples:";
  for (std::string const& file : report.files) line += " " + file;
  output(line);
  return 0;
}

int apply_model(int count, char** words, char const* help, bool needs_layers) {
  std::string const text = std::string(help) + help_of_output;
  return cohort_program::run_document_command(
      count, words,
      {.help = text.c_str(),
       .flags = {{"--output"}, {"--layers"}, {"--key"}, {"--restart", false}},
       .work =
           [&](document_call const& call, run_document const& run) {
             cohort_program::require_model(run);
             if (needs_layers) call.required("--layers", "names of layers, such as dense_1");
             std::string const output = call.required("--output", "a file that ends in .csv or .npy");
             if (!output.ends_with(".csv") && !output.ends_with(".npy"))
               throw usage_error("--output: expected a file that ends in .csv or .npy, got '" + output + "'");
             cohort_program::require_other_file(
                 "--output", output, {call.file(), run.network.model, documents::file_of(run.data)});
             if (call.has("--key") && !std::holds_alternative<cohort::table_source>(run.data))
               throw usage_error(
                   "--key: expected data.table, because only tables have columns, got other data");
             run_document local;
             return documents::run_on_ranks(
                 run, {.begin =
                           [&](cohort::communicator const& world) {
                             if (world.rank() == 0) documents::require_writable({{output, "--output"}});
                           },
                       .load =
                           [&](cohort::communicator&) {
                             local = documents::with_local_files(run);
                             return documents::load_to_apply(local.data,
                                                             documents::preparation_in(local.network.model),
                                                             call.value("--key"));
                           },
                       .run_rank =
                           [&](cohort::communicator& world, data_sets const& data) {
                             return write_outputs(call, local, world, data);
                           }});
           },
       .phrases = {{".resume = false", "the flag --restart"}}});
}

}  // namespace

int cohort_program::predict_command(int count, char** words) {
  return apply_model(count, words, help_of_predict, false);
}

int cohort_program::features_command(int count, char** words) {
  return apply_model(count, words, help_of_features, true);
}
