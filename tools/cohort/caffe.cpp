// SPDX-License-Identifier: Apache-2.0
// The command line of CaffeOnSpark: cohort caffe --help
#include <algorithm>
#include <cohort/data/dataset.hpp>
#include <cohort/documents.hpp>
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include "caffe_run.hpp"
#include "commands.hpp"
#include "document_call.hpp"
#include "names_in.hpp"

namespace {

using cohort::run_document;
using cohort::documents::checking;
using cohort::documents::data_sets;
using cohort_program::caffe_run;
using cohort_program::document_call;
using cohort_program::usage_error;

constexpr char const* help =
    R"(Trains, tests and extracts features with the command line of CaffeOnSpark, without Spark.

  cohort caffe -conf SOLVER [-train] [-test | -features A,B [-label TOP]] [flags]

  -conf SOLVER       solver of Caffe (prototxt); --set caffe.FIELD=VALUE sets a field of the solver, --set
                     caffe.train.FIELD=VALUE and --set caffe.test.FIELD=VALUE one of its data layers
  -train             trains, and writes the model
  -test              evaluates the test data; writes test.json to the folder of -output
  -features A,B      writes the outputs of these layers for all test data: features.csv in the folder of -output
  -label TOP         also writes label.csv
  -model FILE        the model to write by -train, or to read by -test and -features: a .caffemodel
  -output DIR        folder of the results; default: output
  -weights FILE      .caffemodel with the initial parameters
  -snapshot DIR      folder of checkpoints that an earlier training has written: continues from the newest
  -resize            images get the height and width of the data layer
  -devices N, -clusterSize N
                     without a launcher: devices times clusterSize ranks in this process
  -connection, -persistent, -lmdb_partitions, -train_partitions, -outputFormat
                     accepted; a line says what takes their place
)";

/// A flag that has no effect, and what takes its place.
struct replaced_flag {
  char const* name;
  bool has_value;
  char const* instead;
};

constexpr replaced_flag replaced[]{
    {"-connection", true,
     "the communicator of the launcher connects the ranks: --set ranks.communicator=tcp or mpi"},
    {"-persistent", false, "records are read from the files, and the system caches them"},
    {"-lmdb_partitions", true, "each rank reads its part of each batch from one shared order"},
    {"-train_partitions", true, "each rank reads its part of each batch from one shared order"},
    {"-outputFormat", true, "features are written as CSV, results as JSON"}};

constexpr char const* refused[]{"-imageRoot", "-labelFile",         "-captionFile", "-captionLength",
                                "-vocabSize", "-imageCaptionDFDir", "-vocabDir",    "-embeddingDFDir"};

std::vector<cohort_program::command_flag> flags() {
  std::vector<cohort_program::command_flag> result{
      {"-conf"},   {"-train", false}, {"-test", false}, {"-features"}, {"-label"},       {"-model"},
      {"-output"}, {"-weights"},      {"-snapshot"},    {"-devices"},  {"-clusterSize"}, {"-resize", false}};
  for (replaced_flag const& flag : replaced) result.push_back({flag.name, flag.has_value});
  for (char const* const flag : refused) result.push_back({flag});
  return result;
}

int positive(document_call const& call, char const* flag) {
  std::string const text = call.has(flag) ? call.value(flag) : "1";
  int number = 0;
  if (std::sscanf(text.c_str(), "%d", &number) != 1 || number < 1 || std::to_string(number) != text)
    throw usage_error(std::string(flag) + ": expected a number of at least 1, got '" + text + "'");
  return number;
}

/// Throws usage_error for flags that have no counterpart or contradict each other.
void require_flags(document_call const& call) {
  call.required("-conf", "a solver of Caffe");
  for (char const* const flag : refused)
    if (call.has(flag))
      throw usage_error(std::string(flag)
                        + ": expected no flag of CaffeOnSpark's converters; cohort data pack writes image files "
                          "as records");
  if (!call.has("-train") && !call.has("-test") && !call.has("-features"))
    throw usage_error("expected -train, -test or -features, got none of them");
  if (call.has("-test") && call.has("-features"))
    throw usage_error("-features: expected -test or -features, got both");
  if (call.value("-snapshot").ends_with(".solverstate"))
    throw usage_error(
        "-snapshot: expected a folder of checkpoints, got a .solverstate; -weights reads the "
        ".caffemodel beside it, without the state of the solver");
}

/// The document of the training, with the fields that the flags of CaffeOnSpark set.
run_document document_of(caffe_run const& caffe, document_call const& call) {
  run_document run = caffe.document(call);
  if (int const ranks = positive(call, "-devices") * positive(call, "-clusterSize"); ranks > 1)
    run.ranks.count = ranks;
  if (call.has("-snapshot")) {
    run.output.checkpoints = call.value("-snapshot");
    run.output.resume = true;
  }
  return run;
}

std::filesystem::path output_of(document_call const& call) {
  std::filesystem::path result = call.has("-output") ? call.value("-output") : "output";
  std::error_code unknown;
  std::filesystem::create_directories(result, unknown);
  return result;
}

int test_rank(caffe_run const& caffe, document_call const& call, run_document const& run,
              cohort::communicator& world, data_sets const& data) {
  print_data(run, data, world, cohort::documents::stdout_sink(), cohort::stderr_sink());
  cohort::training model = caffe.load_model(run, world);
  cohort::documents::test_report const results =
      cohort::documents::evaluate(model, data.train, run.evaluation);
  if (world.rank() != 0) return 0;
  std::printf("\n%s\n", results.text.c_str());
  cohort::io::json_writer out(2);
  out.begin_object();
  for (auto const& [name, value] : results.numbers) out.field(name, value);
  out.field("examples", data.train.size());
  cohort::io::write_file((output_of(call) / "test.json").string(), out.end_object().text());
  return 0;
}

/// Writes the labels of all examples, with their keys. `name`: a top that a loss reads.
void write_labels(cohort::dataset const& data, std::string const& name, std::string const& path) {
  auto const& targets = data.describe().targets;
  auto const found = std::ranges::find(targets, name, &cohort::tensor_description::name);
  if (found == targets.end())
    throw usage_error("-label: expected a top that a loss of the network reads, got '" + name + "'");
  std::size_t const part = data.describe().inputs.size() + static_cast<std::size_t>(found - targets.begin());
  cohort::example_view example;
  example.allocate(data.describe());
  std::string text = "key,";
  cohort::detail::append_csv_field(text, name);
  text += '\n';
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.get(i, example);
    bool const is_index = data.describe().part(part).stored == cohort::element_type::i32;
    cohort::detail::append_csv_field(text,
                                     data.describe().keyed ? std::string(example.key) : std::to_string(i));
    text += ',';
    text += is_index ? std::to_string(*reinterpret_cast<std::int32_t const*>(example.at(part)))
                     : std::to_string(*reinterpret_cast<float const*>(example.at(part)));
    text += '\n';
  }
  cohort::io::write_file(path, text);
}

int features_rank(caffe_run const& caffe, document_call const& call, run_document const& run,
                  cohort::communicator& world, data_sets const& data) {
  print_data(run, data, world, cohort::documents::stdout_sink(), cohort::stderr_sink());
  cohort::training model = caffe.load_model(run, world);
  std::string const path = (output_of(call) / "features.csv").string();
  std::vector<std::string> layers = cohort_program::names_in(call.value("-features"));
  for (std::string& layer : layers)
    if (auto const found = caffe.net().blobs.find(layer); found != caffe.net().blobs.end())
      layer = found->second;
  cohort::prediction_file_report const report = write_predictions(model, data.train, path,
                                                                  {.outputs = std::move(layers),
                                                                   .batch = run.evaluation.batch,
                                                                   .readers = run.evaluation.readers,
                                                                   .resume = false});
  if (world.rank() != 0) return 0;
  if (call.has("-label"))
    write_labels(data.train, call.value("-label"), (output_of(call) / "label.csv").string());
  std::printf("%lld examples: %s\n", static_cast<long long>(report.examples), path.c_str());
  return 0;
}

/// Evaluates, or extracts features, with the parameters of a caffemodel.
int apply(document_call const& call, std::string const& weights) {
  bool const extracts = call.has("-features");
  caffe_run const caffe(call.value("-conf"), call, {.resizes = call.has("-resize"), .weights = weights});
  if (!caffe.has_test_data())
    throw usage_error("-conf: expected a network with a data layer in the phase TEST, got none");
  run_document const run = document_of(caffe, call);
  return cohort::documents::run_on_ranks(
      run, {.load =
                [&](cohort::communicator&) {
                  return data_sets{.train = caffe.test_set(extracts, extracts), .where = "test data"};
                },
            .run_rank =
                [&](cohort::communicator& world, data_sets const& data) {
                  return extracts ? features_rank(caffe, call, run, world, data)
                                  : test_rank(caffe, call, run, world, data);
                }});
}

int run_caffe(document_call const& call) {
  require_flags(call);
  for (replaced_flag const& flag : replaced)
    if (call.has(flag.name)) std::fprintf(stderr, "%s: not used; %s\n", flag.name, flag.instead);
  bool const trains = call.has("-train"), applies = call.has("-test") || call.has("-features");
  std::string model = call.value("-model");
  if (trains) {
    caffe_run caffe(
        call.value("-conf"), call,
        {.resizes = call.has("-resize"), .tests = false, .weights = call.value("-weights"), .model = model});
    int const status = caffe.train(document_of(caffe, call), checking::none);
    if (status != 0 || !applies) return status;
    model = caffe.model();
  }
  std::string const weights = !trains && call.has("-weights") ? call.value("-weights") : model;
  if (weights.empty())
    throw usage_error("-model: expected a .caffemodel for -test and -features without -train, got none");
  return apply(call, weights);
}

}  // namespace

int cohort_program::caffe_command(int count, char** words) {
  return guarded(words[0], [&] {
    document_call const call(count, words, flags());
    if (call.has("--help"))
      return std::fputs((std::string(help) + document_flags_help).c_str(), stdout) < 0 ? 1 : 0;
    if (!call.file().empty()) throw usage_error("expected -conf SOLVER, got '" + call.file() + "'");
    return run_caffe(call);
  });
}
