// SPDX-License-Identifier: Apache-2.0
// The command line of CaffeOnSpark: cohort caffe --help
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/batch_view.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/documents.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
  -features A,B      writes the outputs of these layers for all test data: features.csv in the folder of -output;
                     for the top of a loss or of an Accuracy layer, its value for each example: TOP.csv
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

/// Returns the local path in the value of a flag; empty if the flag was not given.
std::string path_of(document_call const& call, char const* flag) {
  std::string path = cohort_program::without_file_scheme(call.value(flag));
  if (path.find("://") != path.npos || path.starts_with("hdfs:"))
    throw usage_error(std::string(flag) + ": expected a local path, got '" + path
                      + "'; hdfs dfs -get and -put copy files");
  return path;
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
  constexpr std::int64_t most_ranks = 1024;
  std::int64_t const ranks = std::int64_t{positive(call, "-devices")} * positive(call, "-clusterSize");
  if (ranks > most_ranks)
    throw usage_error("-devices, -clusterSize: expected a product of at most " + std::to_string(most_ranks)
                      + ", got " + std::to_string(ranks));
  if (ranks > 1) run.ranks.count = static_cast<int>(ranks);
  if (call.has("-snapshot")) {
    run.output.checkpoints = path_of(call, "-snapshot");
    run.output.resume = true;
  }
  return run;
}

std::string output_folder(document_call const& call) {
  return call.has("-output") ? path_of(call, "-output") : "output";
}

/// Creates the folder of -output, and returns its path.
std::filesystem::path output_of(document_call const& call) {
  std::filesystem::path result = output_folder(call);
  std::error_code unknown;
  std::filesystem::create_directories(result, unknown);
  return result;
}

void print_tested(data_sets const& data, cohort::communicator const& world) {
  if (world.rank() != 0) return;
  std::printf("data: %s, %lld examples\n", data.where.c_str(), static_cast<long long>(data.train.size()));
}

/// Evaluates each test. test.json contains the numbers of the first one, and an object for each further one.
int test_rank(caffe_run const& caffe, document_call const& call, run_document const& run,
              cohort::communicator& world, data_sets const& data) {
  print_tested(data, world);
  cohort::training model = caffe.load_model(run, world);
  cohort::io::json_writer out(2);
  out.begin_object();
  for (std::size_t k = 0; k < caffe.tests(); ++k) {
    cohort::dataset const examples = k == 0 ? data.train : caffe.test_set(k, false, false);
    cohort::documents::test_report const results =
        cohort::documents::evaluate(model, examples, caffe.evaluation(run, k));
    if (world.rank() == 0 && k > 0) std::printf("\n%s:", cohort_program::name_of_test(k).c_str());
    if (world.rank() == 0) std::printf("\n%s\n", results.text.c_str());
    if (k > 0) out.key(cohort_program::name_of_test(k)).begin_object();
    for (auto const& [name, value] : results.numbers) out.field(name, value);
    out.field("examples", examples.size());
    if (k > 0) out.end_object();
  }
  if (world.rank() == 0)
    cohort::io::write_file((output_of(call) / "test.json").string(), out.end_object().text());
  return 0;
}

/// Returns the name of a file for a top: '/' and a '.' at the beginning become '_', so that the file is in
/// the folder of -output.
std::string file_of(std::string top) {
  std::ranges::replace(top, '/', '_');
  if (top.starts_with('.')) top[0] = '_';
  return top + ".csv";
}

std::string text_of(double number) {
  if (std::isnan(number)) return "nan";
  std::array<char, 32> text;
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.9g", number))};
}

/// Returns a number of an example with a key.
using example_number = std::function<double(cohort::example_view const&, std::string const&)>;

/// Writes a CSV file in the folder of -output: a number for each example, with its key.
///
/// Order     collective: each rank computes the numbers of its part of the examples. The first rank writes
///           the file.
void write_column(document_call const& call, cohort::dataset const& data, std::string const& name,
                  cohort::communicator& world, example_number const& number_of) {
  cohort::example_view example;
  example.allocate(data.describe());
  auto const read = [&](std::int64_t i) {
    data.get(i, example);
    return data.describe().keyed ? std::string(example.key) : std::to_string(i);
  };
  std::vector<double> numbers(static_cast<std::size_t>(data.size()));
  cohort::all_or_none(world, "features", "cannot compute the numbers of a top", [&] {
    for (std::int64_t i = world.rank(); i < data.size(); i += world.size()) {
      std::string const key = read(i);
      numbers[static_cast<std::size_t>(i)] = number_of(example, key);
    }
  });
  world.allreduce(std::span(numbers));
  cohort::all_or_none(world, "features", "cannot write the numbers of a top", [&] {
    if (world.rank() != 0) return;
    std::string text = "key,";
    cohort::detail::append_csv_field(text, name);
    text += '\n';
    for (std::int64_t i = 0; i < data.size(); ++i) {
      cohort::detail::append_csv_field(text, read(i));
      text += ',' + text_of(numbers[static_cast<std::size_t>(i)]) + '\n';
    }
    cohort::io::write_file((output_of(call) / file_of(name)).string(), text);
  });
}

/// Returns the part of the examples that a top of the data layer is. `flag`: for the error.
std::size_t target_of(cohort::dataset const& data, std::string const& top, char const* flag) {
  auto const& targets = data.describe().targets;
  auto const found = std::ranges::find(targets, top, &cohort::tensor_description::name);
  if (found == targets.end())
    throw usage_error(std::string(flag) + ": expected a top that a loss of the network reads, got '" + top
                      + "'");
  return data.describe().inputs.size() + static_cast<std::size_t>(found - targets.begin());
}

/// Returns the first number of a part: a label, or a number.
double number_in(cohort::dataset const& data, cohort::example_view const& example, std::size_t part) {
  bool const is_index = data.describe().part(part).stored == cohort::element_type::i32;
  return is_index ? *reinterpret_cast<std::int32_t const*>(example.at(part))
                  : static_cast<double>(*reinterpret_cast<float const*>(example.at(part)));
}

/// Returns a batch of one example.
cohort::batch_view batch_of(cohort::data_description const& what, cohort::example_view const& example) {
  cohort::batch_view batch;
  for (std::size_t part = 0; part < what.inputs.size() + what.targets.size(); ++part) {
    cohort::tensor_description const& described = what.part(part);
    (part < what.inputs.size() ? batch.inputs : batch.targets)
        .emplace_back(example.at(part), described.stored, described.example.batched(1));
  }
  batch.count = 1;
  return batch;
}

/// Returns an Accuracy layer's value for an example. As in AccuracyLayer of Caffe, a class with an equal
/// score ranks before the label.
example_number accuracy_of(cohort::dataset const& data, cohort::training const& model,
                           cohort::caffe_accuracy const& layer) {
  std::size_t const part = target_of(data, layer.labels, "-features");
  if (data.describe().part(part).stored != cohort::element_type::i32
      || data.describe().part(part).example.elements() > 1)
    throw usage_error("-features: expected an Accuracy layer with one label for each example, got '"
                      + layer.name + "'");
  return [=, &data, &model](cohort::example_view const& example, std::string const& key) {
    auto const label = static_cast<std::int64_t>(number_in(data, example, part));
    if (layer.ignored && label == *layer.ignored) return std::numeric_limits<double>::quiet_NaN();
    cohort::predictions const scores =
        model.outputs_of({layer.scores}, batch_of(data.describe(), example))[0];
    auto const classes = static_cast<std::int64_t>(scores.values.size());
    if (label < 0 || label >= classes)
      throw cohort::data_error(
          {.what = "an Accuracy layer counts a label that is no class",
           .where = layer.name + ", example '" + key + "'",
           .expected = {"0 to ", classes - 1, ", or the layer's accuracy_param.ignore_label"},
           .got = {label}});
    float const own = scores.values[static_cast<std::size_t>(label)];
    auto const before = std::ranges::count_if(scores.values, [&](float score) { return score >= own; });
    return before <= layer.top_k ? 1.0 : 0.0;
  };
}

/// Returns the value of a loss for an example, without its loss_weight.
example_number loss_of(cohort::dataset const& data, cohort::training& model, caffe_run const& caffe,
                       std::string const& top) {
  if (caffe.net().targets.size() > 1)
    throw usage_error("-features: expected a network with one loss for the loss '" + top + "', got "
                      + std::to_string(caffe.net().targets.size()));
  return
      [&data, &model, weight = caffe.loss_weight()](cohort::example_view const& example, std::string const&) {
        return model.loss_of(batch_of(data.describe(), example)) / weight;
      };
}

int features_rank(caffe_run const& caffe, document_call const& call, run_document const& run,
                  cohort::communicator& world, data_sets const& data) {
  print_tested(data, world);
  // A model of this rank alone, so that each rank computes other examples.
  std::unique_ptr<cohort::communicator> const self = cohort::make_self();
  cohort::training model = caffe.load_model(run, *self);
  std::vector<std::string> layers, tops;                                  // the layers that compute the tops
  std::map<std::string, std::pair<std::string, example_number>> columns;  // by file: top and numbers
  auto const add = [&](std::string const& top, example_number number_of) {
    std::string const file = file_of(top);
    auto const [entry, is_new] = columns.try_emplace(file, top, std::move(number_of));
    if (!is_new)
      throw usage_error("-features, -label: expected tops with different files, got '" + entry->second.first
                        + "' and '" + top + "', which are both " + file);
  };
  for (std::string const& top : cohort_program::names_in(call.value("-features"))) {
    auto const found = caffe.net().blobs.find(top);
    std::string const layer = found != caffe.net().blobs.end() ? found->second : top;
    auto const accuracy = std::ranges::find(caffe.accuracies(), top, &cohort::caffe_accuracy::name);
    if (accuracy != caffe.accuracies().end())
      add(top, accuracy_of(data.train, model, *accuracy));
    else if (std::ranges::find(caffe.net().targets, layer, &cohort::caffe_target::loss)
             != caffe.net().targets.end())
      add(top, loss_of(data.train, model, caffe, top));
    else
      layers.push_back(layer), tops.push_back(top);
  }
  if (std::string const label = call.value("-label"); !label.empty()) {
    std::size_t const part = target_of(data.train, label, "-label");
    add(label, [&, part](auto const& example, auto const&) { return number_in(data.train, example, part); });
  }
  constexpr char const* file_of_layers = "features.csv";
  if (auto const taken = columns.find(file_of_layers); !layers.empty() && taken != columns.end())
    throw usage_error(std::string("-features, -label: expected no top whose file is ") + file_of_layers
                      + ", the file of the layers, got '" + taken->second.first + "'");
  for (auto const& [file, column] : columns)
    write_column(call, data.train, column.first, world, column.second);
  if (!layers.empty())
    write_predictions(model, data.train, world, (output_of(call) / file_of_layers).string(),
                      {.outputs = std::move(layers),
                       .names = std::move(tops),
                       .batch = run.evaluation.batch,
                       .readers = run.evaluation.readers,
                       .resume = false});
  if (world.rank() == 0)
    std::printf("%lld examples: %s\n", static_cast<long long>(data.train.size()), output_of(call).c_str());
  return 0;
}

/// Evaluates, or extracts features, with the parameters of a caffemodel.
int apply(document_call const& call, std::string const& weights) {
  bool const extracts = call.has("-features");
  caffe_run const caffe(path_of(call, "-conf"), call,
                        {.resizes = call.has("-resize"), .applies = true, .weights = weights});
  if (caffe.tests() == 0)
    throw usage_error("-conf: expected a network with a data layer in the phase TEST, got none");
  run_document const run = document_of(caffe, call);
  return cohort::documents::run_on_ranks(
      run, {.begin =
                [&](cohort::communicator const& world) {
                  if (world.rank() == 0)
                    cohort::documents::require_writable({{output_folder(call), "-output", true}});
                },
            .load =
                [&](cohort::communicator&) {
                  return data_sets{.train = caffe.test_set(0, extracts, extracts), .where = "test data"};
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
  std::string model = path_of(call, "-model");
  if (trains) {
    caffe_run caffe(path_of(call, "-conf"), call,
                    {.resizes = call.has("-resize"), .weights = path_of(call, "-weights"), .model = model});
    int const status = caffe.train(document_of(caffe, call), checking::none);
    if (status != 0 || !applies) return status;
    model = caffe.model();
  }
  std::string const weights = !trains && call.has("-weights") ? path_of(call, "-weights") : model;
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
