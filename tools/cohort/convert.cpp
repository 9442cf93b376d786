// SPDX-License-Identifier: Apache-2.0
// Model files from other libraries, and for them: cohort import --help, cohort export --help
#include <charconv>
#include <cohort/backend/reference.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/cohort.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/graph/builder.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/interchange/import_deeplearning4j.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/npz.hpp>
#include <cohort/training/load.hpp>
#include <cohort/zlib.hpp>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "commands.hpp"
#include "document_call.hpp"
#include "names_in.hpp"
#if __has_include(<cohort/keras.hpp>)
#include <cohort/keras.hpp>
#define HAS_KERAS 1
#endif

namespace {

using cohort_program::command_words;
using cohort_program::list_of;
using cohort_program::usage_error;
using backend = cohort::reference<float>;

constexpr char const* help_of_import =
    R"(Writes a model of another library as a model file of Cohort, which --model and network.model read.

  cohort import SOURCE --to MODEL [flags]   SOURCE ends in .onnx, .keras, .h5, .hdf5 or .prototxt (Caffe), or is
                                            a zip file of Deeplearning4j

  --to MODEL         the model file; ends in .safetensors
  --weights FILE     the .caffemodel of a .prototxt; without it, the parameters have their initial values
  --input NAME=DIMS  extents of an input for which the file has none, without the batch, such as x=3x224x224;
                     may be repeated
  --loss KIND        adds a loss, such as softmax_cross_entropy, to a model that has none, so that it can be trained;
                     replaces a last softmax or sigmoid that this loss contains
  --state            also writes the updaters of Deeplearning4j and their state, for network.optimizer_state
  --help             prints this text

Exit status: 0; 1 after an error; 2 for an invalid flag.
)";

constexpr char const* help_of_export =
    R"(Writes a model file for other libraries.

  cohort export --model MODEL --to FILE

  --model MODEL      a model file
  --to FILE          ends in .onnx (network and parameters), .safetensors (a model file without the optimizers' state:
                     the parameters by name, and the network as JSON), or .npz (the parameters by name)
  --help             prints this text

Exit status: 0; 1 after an error; 2 for an invalid flag.
)";

/// Returns the extents in a text such as x=3x224x224.
cohort::input_extents extents_of(std::string const& text) {
  auto const refuse = [&] {
    throw usage_error("--input: expected NAME=DIMS, such as x=3x224x224, got '" + text + "'");
  };
  std::size_t const equals = text.rfind('=');
  if (equals == std::string::npos) refuse();
  cohort::input_extents input{.name = text.substr(0, equals)};
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (true) {
    int extent = 0;
    auto const [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (failure != std::errc() || extent < 1 || input.extents.rank == cohort::shape::max_rank - 1) refuse();
    input.extents.extents[static_cast<std::size_t>(input.extents.rank++)] = extent;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return input;
    if (rest.front() != 'x') refuse();
    rest.remove_prefix(1);
  }
}

/// Returns whether a file begins as a zip archive.
bool is_zip(std::string const& path) {
  char begin[4]{};
  cohort::io::file_reader file(path);
  return file.read(begin, sizeof begin) == sizeof begin && std::string_view(begin, 4) == "PK\3\4";
}

cohort::imported_model read_model(command_words const& call) {
  std::string const& path = call.file();
  std::vector<cohort::input_extents> inputs;
  for (cohort_program::given_flag const& flag : call.flags())
    if (flag.name == "--input") inputs.push_back(extents_of(flag.value));
  if (path.ends_with(".onnx")) return cohort::import_onnx(path, {.inputs = std::move(inputs)});
  if (path.ends_with(".keras") || path.ends_with(".h5") || path.ends_with(".hdf5")) {
#if HAS_KERAS
    return cohort::load_keras(path, {.inputs = std::move(inputs)});
#else
    throw usage_error(path
                      + ": expected a program that was built with the component keras, got one without it");
#endif
  }
  if (path.ends_with(".prototxt"))
    return cohort::import_caffe(path, call.value("--weights"), {.inputs = std::move(inputs)}).model;
  if (std::filesystem::exists(path) && is_zip(path))
    return cohort::import_deeplearning4j(path, cohort::gzip::inflate,
                                         {.inputs = std::move(inputs), .optimizer = call.has("--state")});
  throw usage_error(
      "expected a file that ends in .onnx, .keras, .h5, .hdf5 or .prototxt, or a zip file of Deeplearning4j, "
      "got '"
      + path + "'");
}

/// Returns the kind of a loss.
cohort::kind const& loss_of(std::string const& name) {
  std::vector<std::string_view> names;
  for (cohort::kind const* const known : cohort::built_in_kinds()) {
    if (known->role != cohort::layer_role::loss) continue;
    if (known->name == name) return *known;
    names.push_back(known->name);
  }
  throw usage_error("--loss: expected one of " + cohort::detail::names_and_nearest(name, names) + ", got '"
                    + name + "'");
}

/// Returns the network with a loss on its output. A last softmax before softmax_cross_entropy, and a last
/// sigmoid before binary_cross_entropy, are omitted, because these losses contain them.
cohort::graph with_loss(cohort::graph_view net, cohort::kind const& loss) {
  std::vector<int> const outputs = net.outputs();
  if (!net.with_role(cohort::layer_role::loss).empty())
    throw usage_error("--loss: expected a model without a loss, got one that contains "
                      + net.name(net.with_role(cohort::layer_role::loss)[0]));
  if (outputs.size() != 1)
    throw usage_error("--loss: expected a model with 1 output, got " + std::to_string(outputs.size()));
  int end = outputs[0];
  std::string_view const last = net.kind(end).name;
  bool const is_contained = (last == "softmax" && loss.name == "softmax_cross_entropy")
                            || (last == "sigmoid" && loss.name == "binary_cross_entropy");
  cohort::builder copied;
  for (int id = 0; id < net.size(); ++id) {
    if (is_contained && id == end) continue;  // the last node
    cohort::node const& layer = net[id];
    cohort::layer_settings settings = layer.settings;
    bool const shares = net.owner(id) != id;
    if (shares) settings = {};
    copied.append(net.kind(id), net.fields(id), net.inputs(id), net.given_name(id), settings, layer.at,
                  shares ? net.owner(id) : -1);
  }
  if (is_contained) end = net.inputs(end)[0];
  copied.append(loss, loss.defaults, std::span<int const>(&end, 1), {}, {}, cohort::source_line::here());
  return cohort::graph(std::move(copied));
}

int import_model(command_words const& call) {
  if (call.file().empty())
    throw usage_error("expected a file, got none; --help shows how to use this program");
  std::string const to = call.required("--to", "a file that ends in .safetensors");
  if (!to.ends_with(".safetensors"))
    throw usage_error("--to: expected a file that ends in .safetensors, got '" + to + "'");
  cohort_program::require_other_file("--to", to, {call.file()});
  std::string const loss = call.value("--loss");
  bool const is_caffe = call.file().ends_with(".prototxt");
  if (call.has("--weights") && !is_caffe)
    throw usage_error("--weights: expected a file that ends in .prototxt, got '" + call.file() + "'");
  cohort::kind const* const added = loss.empty() ? nullptr : &loss_of(loss);
  cohort::imported_model const model = read_model(call);
  bool const has_state = call.has("--state");
  auto run = cohort::trainer<backend>(added ? with_loss(model.network(), *added) : model.network(),
                                      has_state ? model.settings : cohort::training_settings());
  if (is_caffe && !call.has("--weights"))
    model.read_known_parameters(run.parameters());
  else
    model.read_parameters(run.parameters());
  if (!model.normalisation.empty()) run.normalise(model.normalisation);
  if (has_state) model.read_state(run);
  run.save(to, has_state);
  std::printf("%s: %d layers, %lld parameters; inputs %s; outputs %s\n", to.c_str(), run.network().size(),
              static_cast<long long>(run.network().parameter_count()), list_of(model.inputs).c_str(),
              list_of(model.outputs).c_str());
  for (cohort::layer_override const& layer : model.settings.optimizer.layers)
    if (layer.frozen.value_or(false))
      std::printf(
          "constants of the file: to keep them in training, set optimizer.layers: [{layer: %s, frozen: "
          "true}]\n",
          layer.layer.c_str());
  return 0;
}

int export_model(command_words const& call) {
  if (!call.file().empty()) throw usage_error("expected --model MODEL --to FILE, got '" + call.file() + "'");
  std::string const from = call.required("--model", "a model file");
  std::string const to = call.required("--to", "a file that ends in .onnx, .safetensors or .npz");
  bool const is_onnx = to.ends_with(".onnx"), is_npz = to.ends_with(".npz");
  if (!is_onnx && !is_npz && !to.ends_with(".safetensors"))
    throw usage_error("--to: expected a file that ends in .onnx, .safetensors or .npz, got '" + to + "'");
  cohort_program::require_other_file("--to", to, {from});
  cohort::training run = cohort::load_trained<backend>(from);
  if (is_onnx)
    export_onnx(run, to);
  else if (is_npz)
    save_npz(to, cohort::model_content(run.network()).add_parameters(run.parameters()).tensors());
  else
    run.save(to);
  return 0;
}

int run_words(int count, char** words, char const* help,
              std::vector<cohort_program::command_flag> const& flags, int (*work)(command_words const&)) {
  return cohort_program::guarded(words[0], [&] {
    command_words const call(count, words, flags);
    if (call.has("--help")) return std::fputs(help, stdout) < 0 ? 1 : 0;
    return work(call);
  });
}

}  // namespace

int cohort_program::import_command(int count, char** words) {
  return run_words(count, words, help_of_import,
                   {{"--to"}, {"--input"}, {"--loss"}, {"--state", false}, {"--weights"}}, import_model);
}

int cohort_program::export_command(int count, char** words) {
  return run_words(count, words, help_of_export, {{"--model"}, {"--to"}}, export_model);
}
