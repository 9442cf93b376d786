// SPDX-License-Identifier: Apache-2.0
// Model files from other libraries, and for them: cohort import --help, cohort export --help
#include <charconv>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/cohort.hpp>
#include <cohort/documents/networks.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/npz.hpp>
#include <cohort/training/load.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "commands.hpp"
#include "document_call.hpp"
#include "names_in.hpp"

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
cohort::import_input extents_of(std::string const& text) {
  auto const refuse = [&] {
    throw usage_error("--input: expected NAME=DIMS, such as x=3x224x224, got '" + text + "'");
  };
  std::size_t const equals = text.rfind('=');
  if (equals == std::string::npos) refuse();
  cohort::import_input input{.name = text.substr(0, equals)};
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (true) {
    int extent = 0;
    auto const [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (failure != std::errc() || extent < 1 || input.extents.size() == cohort::shape::max_rank - 1) refuse();
    input.extents.push_back(extent);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return input;
    if (rest.front() != 'x') refuse();
    rest.remove_prefix(1);
  }
}

int import_model(command_words const& call) {
  if (call.file().empty())
    throw usage_error("expected a file, got none; --help shows how to use this program");
  std::string const to = call.required("--to", "a file that ends in .safetensors");
  if (!to.ends_with(".safetensors"))
    throw usage_error("--to: expected a file that ends in .safetensors, got '" + to + "'");
  cohort_program::require_other_file("--to", to, {call.file()});
  cohort::import_source from{
      .file = call.file(), .weights = call.value("--weights"), .loss = call.value("--loss")};
  for (cohort_program::given_flag const& flag : call.flags())
    if (flag.name == "--input") from.inputs.push_back(extents_of(flag.value));
  bool const has_state = call.has("--state");
  cohort::documents::imported_network imported = cohort::documents::import_network(
      from,
      {.optimizer_state = has_state,
       .names = {
           .file = "", .weights = "--weights", .inputs = "--input", .loss = "--loss", .state = "--state"}});
  cohort::training& run = imported.run;
  run.save(to, has_state);
  if (imported.outputs.empty())  // a network for training
    for (int const loss : run.network().outputs()) imported.outputs.emplace_back(run.network().name(loss));
  std::printf("%s: %d layers, %lld parameters; inputs %s; outputs %s\n", to.c_str(), run.network().size(),
              static_cast<long long>(run.network().parameter_count()), list_of(imported.inputs).c_str(),
              list_of(imported.outputs).c_str());
  for (std::string const& layer : imported.frozen)
    std::printf(
        "%s: not trained by the file; to freeze it here, too, set optimizer.layers: [{layer: %s, frozen: "
        "true}]\n",
        layer.c_str(), layer.c_str());
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
