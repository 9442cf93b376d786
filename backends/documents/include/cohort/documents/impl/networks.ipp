// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/reference.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/cohort.hpp>
#include <cohort/documents/networks.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/graph/builder.hpp>
#include <cohort/interchange/import_deeplearning4j.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/zlib.hpp>
#if COHORT_WITH_KERAS
#include <cohort/keras.hpp>
#endif
#include <cstddef>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

namespace cohort::documents {

namespace {

/// Throws usage_error for a setting. An empty name is omitted.
[[noreturn]] void refuse_import(std::string const& name, std::string const& problem) {
  throw usage_error(name.empty() ? problem : name + ": " + problem);
}

/// Returns whether a file begins as a zip archive.
bool is_zip(std::string const& path) {
  char begin[4]{};
  io::file_reader file(path);
  return file.read(begin, sizeof begin) == sizeof begin && std::string_view(begin, 4) == "PK\3\4";
}

std::vector<input_extents> extents_of(import_source const& from, import_names const& names) {
  std::vector<input_extents> inputs;
  for (import_input const& input : from.inputs) {
    constexpr std::size_t most = shape::max_rank - 1;  // the shape of a batch has one axis more
    if (input.extents.empty() || input.extents.size() > most)
      refuse_import(names.inputs, "expected 1 to " + std::to_string(most) + " extents of " + input.name
                                      + ", got " + std::to_string(input.extents.size()));
    input_extents& added = inputs.emplace_back(input_extents{.name = input.name});
    added.extents.rank = static_cast<int>(input.extents.size());
    for (std::size_t axis = 0; axis < input.extents.size(); ++axis)
      added.extents.extents[axis] = input.extents[axis];
  }
  return inputs;
}

imported_model read_model(import_source const& from, import_settings const& settings) {
  std::string const& path = from.file;
  std::vector<input_extents> inputs = extents_of(from, settings.names);
  bool const is_caffe = path.ends_with(".prototxt");
  if (!from.weights.empty() && !is_caffe)
    refuse_import(settings.names.weights, "expected a file that ends in .prototxt, got '" + path + "'");
  if (path.ends_with(".onnx")) return import_onnx(path, {.inputs = std::move(inputs)});
  if (path.ends_with(".keras") || path.ends_with(".h5") || path.ends_with(".hdf5")) {
#if COHORT_WITH_KERAS
    return load_keras(path, {.inputs = std::move(inputs)});
#else
    refuse_import(settings.names.file,
                  path + ": expected a program that was built with the component keras, got one without it");
#endif
  }
  if (is_caffe) return import_caffe(path, from.weights, {.inputs = std::move(inputs)}).model;
  bool const is_named_zip = path.ends_with(".zip") || path.ends_with(".bin");
  if ((is_named_zip || io::size_of_file(path)) && is_zip(path))
    return import_deeplearning4j(path, gzip::inflate,
                                 {.inputs = std::move(inputs), .optimizer = settings.optimizer_state});
  refuse_import(settings.names.file,
                "expected a file that ends in .onnx, .keras, .h5, .hdf5 or .prototxt, or a zip file of "
                "Deeplearning4j, got '"
                    + path + "'");
}

/// Returns the kind of a loss.
kind const& loss_of(std::string const& name, std::string const& setting) {
  std::vector<std::string_view> names;
  for (kind const* const known : built_in_kinds()) {
    if (known->role != layer_role::loss) continue;
    if (known->name == name) return *known;
    names.push_back(known->name);
  }
  refuse_import(setting,
                "expected one of " + cohort::detail::names_and_nearest(name, names) + ", got '" + name + "'");
}

/// Returns the network with a loss on its output. A last softmax before softmax_cross_entropy, and a last
/// sigmoid before binary_cross_entropy, are omitted, because these losses contain them.
graph with_loss(graph_view net, kind const& loss, std::string const& setting) {
  std::vector<int> const outputs = net.outputs();
  if (!net.with_role(layer_role::loss).empty())
    refuse_import(setting, "expected a model without a loss, got one that contains "
                               + net.name(net.with_role(layer_role::loss)[0]));
  if (outputs.size() != 1)
    refuse_import(setting, "expected a model with 1 output, got " + std::to_string(outputs.size()));
  int end = outputs[0];
  std::string_view const last = net.kind(end).name;
  bool const is_contained = (last == "softmax" && loss.name == "softmax_cross_entropy")
                            || (last == "sigmoid" && loss.name == "binary_cross_entropy");
  builder copied;
  for (int id = 0; id < net.size(); ++id) {
    if (is_contained && id == end) continue;  // the last node
    node const& layer = net[id];
    layer_settings settings = layer.settings;
    bool const shares = net.owner(id) != id;
    if (shares) settings = {};
    copied.append(net.kind(id), net.fields(id), net.inputs(id), net.given_name(id), settings, layer.at,
                  shares ? net.owner(id) : -1);
  }
  if (is_contained) end = net.inputs(end)[0];
  copied.append(loss, loss.defaults, std::span<int const>(&end, 1), {}, {}, source_line::here());
  return graph(std::move(copied));
}

}  // namespace

imported_network import_network(import_source const& from, import_settings const& settings) {
  kind const* const loss = from.loss.empty() ? nullptr : &loss_of(from.loss, settings.names.loss);
  imported_model const model = read_model(from, settings);
  if (settings.optimizer_state && !model.has_state())
    throw setting_error({.what = "the file does not contain the state of a training",
                         .where = settings.names.state,
                         .expected = "a file of Deeplearning4j with updaterState.bin, or no such setting",
                         .got = from.file});
  training_settings used = settings.optimizer_state ? model.settings : training_settings();
  used.seed = settings.initial.seed;
  used.weights = settings.initial.weights;
  used.bias = settings.initial.bias;
  training run = trainer<reference<float>>(
      loss ? with_loss(model.network(), *loss, settings.names.loss) : model.network(), used);
  if (from.file.ends_with(".prototxt") && from.weights.empty())
    model.read_known_parameters(run.parameters());
  else
    model.read_parameters(run.parameters());
  if (!model.normalisation.empty()) run.normalise(model.normalisation);
  if (settings.optimizer_state) model.read_state(run);
  imported_network imported{.run = std::move(run), .inputs = model.inputs, .outputs = model.outputs};
  for (layer_override const& layer : model.settings.optimizer.layers)
    if (layer.frozen.value_or(false)) imported.frozen.push_back(layer.layer);
  return imported;
}

network_start read_network(run_document const& run) {
  network_source const& from = run.network;
  auto const require_loss = [](graph_view net, char const* field, char const* expected,
                               std::string const& file) {
    if (net.with_role(layer_role::loss).empty())
      throw setting_error({.what = {"the network of ", file, " has no loss"},
                           .where = field,
                           .expected = expected,
                           .got = "none"});
  };
  if (from.layers) return {.net = *from.layers};
  if (!from.imported) {
    auto model = model_file::open(from.model);
    graph net = model.network();
    require_loss(net, "network.model", "a model with a loss, which cohort import --loss adds", from.model);
    return {.net = std::move(net), .model = std::move(model)};
  }
  imported_network imported =
      import_network(*from.imported, {.optimizer_state = from.optimizer_state, .initial = run.training});
  std::stringstream bytes;
  imported.run.save(bytes, from.optimizer_state);
  auto model = model_file::read(bytes, from.imported->file);
  graph net = model.network();
  require_loss(net, "network.import.loss", "a loss, such as softmax_cross_entropy", from.imported->file);
  return {.net = std::move(net), .model = std::move(model), .frozen = std::move(imported.frozen)};
}

run_document with_frozen_layers(run_document run, std::vector<std::string> const& frozen) {
  std::vector<layer_override> layers;
  for (std::string const& name : frozen) layers.push_back({.layer = name, .frozen = true});
  auto& own = run.training.optimizer.layers;
  own.insert(own.begin(), layers.begin(), layers.end());  // of several rows, the last one counts
  return run;
}

}  // namespace cohort::documents
