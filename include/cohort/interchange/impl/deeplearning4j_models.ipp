// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/layer/layers.hpp>
#include <cstdint>
#include <utility>

namespace cohort::detail {

namespace deeplearning4j_graphs {

inline constexpr std::size_t most_layers = 20'000, most_inputs = 256;
inline constexpr int largest_image = 4096;

/// The order in which a java.util.HashSet of Integers iterates: by the lowest bits of the numbers, in a table
/// of 16 places that doubles when it is three quarters full.
inline void sort_as_hash_set(std::vector<int>& numbers) {
  unsigned places = 16;
  while (numbers.size() > places / 4 * 3) places *= 2;
  std::ranges::stable_sort(numbers, {},
                           [&](int number) { return static_cast<unsigned>(number) & (places - 1); });
}

inline std::vector<std::string> texts(io::json_value list) {
  if (list.size() > most_layers) list.refuse("at most 20000 names");
  std::vector<std::string> result;
  for (io::json_value const name : list.items()) result.emplace_back(name.string());
  return result;
}

/// Returns the layer inside wrappers.
inline deeplearning4j_object unwrapped(deeplearning4j_object of) {
  for (int depth = 0; depth < 4; ++depth)
    for (char const* const field : {"layer", "underlying", "fwd"})
      if (auto inner = of.object(field, deeplearning4j_object::family::layer)) {
        of = *inner;
        break;
      }
  return of;
}

/// The map of an extent by a step of a path: (factor·extent + summand) / divisor. A result below 1 means that
/// the step does not fit.
struct extent_map {
  std::int64_t factor = 1, summand = 0, divisor = 1;
};

/// Returns the map of an image's height (axis 0) or width by a layer.
inline extent_map extent_map_of(deeplearning4j_object const& of, int axis) {
  static constexpr extent_map misfit{.factor = 0};
  std::string const& name = of.class_name();
  auto const along = [&](extent2 pair) -> std::int64_t { return axis == 0 ? pair.height : pair.width; };
  if (name == "Upsampling2D") return {.factor = along(of.extents("size", 2))};
  if (name == "ZeroPaddingLayer" || name == "Cropping2D") {
    bool const crops = name == "Cropping2D";
    std::vector<int> const sides = of.integers(crops ? "cropping" : "padding");
    if (sides.size() != 4) return misfit;
    auto const first = static_cast<std::size_t>(2 * axis);
    std::int64_t const both = std::int64_t{sides[first]} + sides[first + 1];
    return {.summand = crops ? -both : both};
  }
  bool const is_deconvolution = name == "Deconvolution2D";
  if (!of.has("kernelSize")) return {};
  std::int64_t const stride = along(of.extents("stride", name == "SubsamplingLayer" ? 2 : 1)),
                     dilation = along(of.extents("dilation", 1)), kernel = along(of.extents("kernelSize", 1)),
                     pad = along(of.extents("padding", 0));
  if (stride < 1 || dilation < 1 || kernel < 1) return misfit;
  std::int64_t const around = 2 * pad - ((kernel - 1) * dilation + 1);
  bool const is_same = of.text("convolutionMode", "Truncate") == "Same";
  if (is_deconvolution) return {.factor = stride, .summand = is_same ? 0 : -stride - around};
  return {.summand = is_same ? stride - 1 : around + stride, .divisor = stride};
}

}  // namespace deeplearning4j_graphs

// ---- inputs ----------------------------------------------------------------------------------------------

/// Returns the height (axis 0) or width of an input image, from the first extents behind it that the file
/// contains.
int deeplearning4j_translation::image_extent(std::vector<deeplearning4j_step> const& path, int axis) const {
  using namespace deeplearning4j_graphs;
  std::vector<extent_map> maps;
  std::int64_t target = 0;
  for (deeplearning4j_step const& step : path) {
    if (step.preprocessor) {
      target = step.preprocessor->integer(axis == 0 ? "inputHeight" : "inputWidth", 0);
      break;
    }
    if (step.layer) maps.push_back(extent_map_of(unwrapped(*step.layer), axis));
  }
  int first = 0, last = 0;
  if (target > 0)
    for (int extent = 1; extent <= largest_image; ++extent) {
      std::int64_t reached = extent;
      for (extent_map const& map : maps) {
        reached = (map.factor * reached + map.summand) / map.divisor;
        if (reached < 1 || reached > largest_image * std::int64_t{64}) break;
      }
      if (reached != target) continue;
      if (first == 0) first = extent;
      last = extent;
    }
  if (first == 0 || first != last)
    refuse("the file does not define the size of the images",
           "deeplearning4j_settings::inputs (cohort import: --input) with C, H and W",
           first == 0 ? std::string("no size")
                      : (axis == 0 ? "a height from " : "a width from ") + std::to_string(first) + " to "
                            + std::to_string(last));
  return first;
}

shape deeplearning4j_translation::input_shape(std::string const& name,
                                              std::vector<deeplearning4j_step> const& path) const {
  using namespace deeplearning4j_graphs;
  for (input_extents const& given : settings_.inputs)
    if (given.name == name) return given.extents;
  auto const unknown = [&](char const* reason) {
    refuse("the extents of the input " + name + " are unknown: " + reason,
           "deeplearning4j_settings::inputs (cohort import: --input)", "none");
  };
  auto const steps = [&] {
    if (settings_.steps < 1)
      refuse("the number of steps of the input " + name + " is unknown",
             "deeplearning4j_settings::steps or inputs (cohort import: --input)", "none");
    return settings_.steps;
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (auto const& before = path[i].preprocessor) {
      std::string const& kind = before->class_name();
      int const height = before->integer("inputHeight", 0), width = before->integer("inputWidth", 0),
                channels = before->integer("numChannels", 0);
      std::int64_t const all = std::int64_t{height} * width * channels;
      bool const is_known = all > 0 && all <= largest_image * std::int64_t{largest_image} * 64;
      if (kind.starts_with("Cnn") && is_known) return {channels, height, width};
      if (kind.starts_with("FeedForwardToCnn") && is_known) return {static_cast<int>(all)};
      if (kind.starts_with("RnnToCnn") && is_known) return {steps(), static_cast<int>(all)};
      if (kind.starts_with("RnnToFeedForward") && path[i].layer) {
        int const width_of_step = unwrapped(*path[i].layer).integer("nin", 0);
        if (width_of_step > 0) return {steps(), width_of_step};
      }
    }
    if (!path[i].layer) continue;
    object const of = unwrapped(*path[i].layer);
    std::string const& kind = of.class_name();
    int const width = of.integer("nin", 0);
    if (kind == "EmbeddingLayer") return {1};
    if (kind == "EmbeddingSequenceLayer") {
      int const given = of.flag("inferInputLength", false) ? 0 : of.integer("inputLength", 0);
      return {given > 0 && settings_.steps < 1 ? given : steps()};
    }
    if (width < 1 && (kind == "DropoutLayer" || kind == "ActivationLayer")) continue;
    if (width < 1) break;
    if (kind == "LSTM" || kind.starts_with("Graves") || kind == "SimpleRnn" || kind == "RnnOutputLayer"
        || kind.starts_with("Convolution1D"))
      return {steps(), width};
    if (kind.find("onvolution") != kind.npos) {
      std::vector<deeplearning4j_step> const rest(path.begin() + static_cast<std::ptrdiff_t>(i), path.end());
      return {width, image_extent(rest, 0), image_extent(rest, 1)};
    }
    if (kind == "BatchNormalization") break;
    return {width};
  }
  unknown("the first layer does not define them");
  return {};
}

int deeplearning4j_translation::add_input(std::string const& name,
                                          std::vector<deeplearning4j_step> const& path) {
  shape const extents = input_shape(name, path);
  names_.insert(name);
  layer_names_.add(name);
  input_names_.push_back(name);
  int const id = net_.input(extents, name).id();
  if (net_.problem().found())
    refuse("the extents of the input " + name + " are not valid", "1 to 3 positive extents",
           to_string(extents));
  return id;
}

// ---- recording -------------------------------------------------------------------------------------------

void deeplearning4j_translation::refuse(std::string problem, std::string expected, std::string got) const {
  refuse_deeplearning4j(layer_.empty() ? origin_ : origin_ + ", layer " + layer_, std::move(problem),
                        std::move(expected), std::move(got));
}

int deeplearning4j_translation::reshaped(int id, shape const& extents, std::string_view suffix) {
  if (dims(id) == extents) return id;
  return record(reshape{.extents = extents}, {id}, suffix);
}

void deeplearning4j_translation::publish(int id) {
  if (names_.insert(layer_).second) net_.rename(id, layer_);
}

void deeplearning4j_translation::expect_rank(int id, int rank, object const& of) const {
  static constexpr char const* kinds[]{"", "vectors", "sequences T×C", "images C×H×W"};
  if (dims(id).rank != rank)
    refuse(of.class_name() + " reads " + kinds[rank], kinds[rank], to_string(dims(id)));
}

void deeplearning4j_translation::add_array(object const& of, std::size_t elements,
                                           std::vector<deeplearning4j_array::part> parts, bool is_trained,
                                           bool is_bias) {
  int const updater =
      is_trained && !is_frozen_ && settings_.training && settings_.optimizer ? updater_of(of, is_bias) : -1;
  arrays_.push_back({.layer = layer_, .elements = elements, .parts = std::move(parts), .updater = updater});
}

// ---- layers and vertices ---------------------------------------------------------------------------------

int deeplearning4j_translation::layer(object const& of, int x) {
  auto const found = layers().find(of.class_name());
  if (found == layers().end()) refuse_class(of.class_name());
  if (static_cast<std::size_t>(net_.view().size()) > deeplearning4j_graphs::most_layers)
    refuse("the network has too many layers", "at most 20000", "more");
  return (this->*found->second)(of, x);
}

int deeplearning4j_translation::preprocess(object const& of, int x) {
  std::string const& kind = of.class_name();
  if (kind == "ComposableInputPreProcessor") {
    auto const all = of.find("inputPreProcessors");
    if (!all || all->size() > 8) of.refuse("the list of preprocessors is damaged", "1 to 8", "another list");
    for (io::json_value const each : all->items()) {
      auto const inner = object::read(each, of.where(), object::family::preprocessor);
      if (!inner) each.refuse("a preprocessor");
      x = preprocess(*inner, x);
    }
    return x;
  }
  shape const from = dims(x);
  int const height = of.integer("inputHeight", 0), width = of.integer("inputWidth", 0),
            channels = of.integer("numChannels", 0);
  shape const image{channels, height, width};
  std::int64_t const all = std::int64_t{channels} * height * width;
  auto const expect_elements = [&](std::int64_t elements) {
    if (all != elements)
      refuse(kind + " reads images of another size",
             std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width),
             to_string(from));
  };
  if (kind == "CnnToFeedForwardPreProcessor") {
    if (from.rank == 1) return x;
    expect_rank(x, 3, of);
    if (all > 0 && from != image) expect_elements(-1);
    if (of.text("format", "NCHW") == "NHWC") x = record(permute{.order = {1, 2, 0}}, {x}, "channels_last");
    return record(flatten{}, {x}, "flat");
  }
  if (kind == "FeedForwardToCnnPreProcessor") {
    if (from.rank == 3) return x;
    expect_rank(x, 1, of);
    expect_elements(from.elements());
    return reshaped(x, image, "image");
  }
  if (kind == "RnnToFeedForwardPreProcessor") {
    if (from.rank == 3) expect_rank(x, 2, of);
    return x;  // layers behind it process each step
  }
  if (kind == "FeedForwardToRnnPreProcessor") {
    if (from.rank == 2) return x;
    expect_rank(x, 1, of);
    return reshaped(x, {1, from[0]}, "sequence");
  }
  if (kind == "RnnToCnnPreProcessor") {
    expect_rank(x, 2, of);
    if (from[0] != 1)
      refuse("RnnToCnnPreProcessor: Cohort has no convolution of the images of each step",
             "sequences of one step", to_string(from));
    expect_elements(from.elements());
    return reshaped(x, image, "image");
  }
  if (kind == "CnnToRnnPreProcessor") {
    expect_rank(x, 3, of);
    return reshaped(x, {1, static_cast<int>(from.elements())}, "sequence");
  }
  refuse_class(kind);
}

int deeplearning4j_translation::vertex(object const& of, std::string const& name,
                                       std::vector<int> const& inputs) {
  int const result = vertex_of_class(of, name, inputs);
  of.expect_read(settings_.training);
  return result;
}

int deeplearning4j_translation::vertex_of_class(object const& of, std::string const& name,
                                                std::vector<int> const& inputs) {
  std::string const& kind = of.class_name();
  auto const only = [&] {
    if (inputs.size() != 1) refuse(kind + " must have one input", "1", std::to_string(inputs.size()));
    return inputs[0];
  };
  if (inputs.empty()) refuse("the vertex has no input", "at least 1", "0");
  if (kind == "LayerVertex") {
    (void)of.flag("outputVertex", false);
    auto const configuration = of.find("layerConf");
    if (!configuration) of.refuse("the vertex has no layer", "layerConf", "none");
    read_layer_configuration(*configuration);
    int x = only();
    if (auto const before = of.object("preProcessor", object::family::preprocessor))
      x = preprocess(*before, x);
    auto const inner = object::read(configuration->find("layer"), of.where(), object::family::layer);
    if (!inner) of.refuse("the vertex has no layer", "layerConf.layer", "none");
    return layer(*inner, x);
  }
  if (kind == "FrozenVertex") {
    auto const inner = of.object("underlying");
    if (!inner) of.refuse("the vertex has no vertex inside", "underlying", "none");
    bool const before = std::exchange(is_frozen_, true);
    int const result = vertex(*inner, name, inputs);
    is_frozen_ = before;
    return result;
  }
  if (kind == "MergeVertex") {
    std::vector<int> const axes = of.integers("mergeAxis");
    (void)of.flag("modified", false);
    if (inputs.size() == 1) return inputs[0];
    int const axis = axes.empty() ? 1 : axes[0];
    int const rank = dims(inputs[0]).rank;
    if (!axes.empty() && rank > 1 && (channels_last_ ? axis != rank && axis != -1 : axis != 1))
      refuse("MergeVertex joins the channels in Cohort", channels_last_ ? "the last axis" : "mergeAxis 1",
             std::to_string(axis));
    return record(concatenate{}, inputs);
  }
  if (kind == "ElementWiseVertex") {
    std::string const operation = of.text("op", "");
    if (inputs.size() == 1 && operation != "Subtract") return inputs[0];
    if (operation == "Add") return record(add{}, inputs);
    if (operation == "Product") return record(multiply{}, inputs);
    if (operation == "Average") return record(average{}, inputs);
    if (operation == "Max") return record(maximum{}, inputs);
    if (operation == "Subtract" && inputs.size() == 2)
      return record(add{}, {inputs[0], record(scale{.factor = -1}, {inputs[1]}, "negated")});
    refuse("ElementWiseVertex has an operation that is not imported",
           "Add, Subtract, Product, Average or Max", operation);
  }
  if (kind == "SubsetVertex") {
    int const from = of.integer("from", 0), to = of.integer("to", 0);
    return record(subset{.first = from, .last = to + 1}, {only()});
  }
  if (kind == "ScaleVertex") return record(scale{.factor = of.number("scaleFactor", 1)}, {only()});
  if (kind == "PreprocessorVertex") {
    auto const inner = of.object("preProcessor", object::family::preprocessor);
    if (!inner) of.refuse("the vertex has no preprocessor", "preProcessor", "none");
    return preprocess(*inner, only());
  }
  if (kind == "ReshapeVertex") {
    std::vector<int> extents = of.integers("newShape");
    if (channels_last_)
      refuse("ReshapeVertex of files with the format NHWC or NWC is not imported", "NCHW", "NHWC or NWC");
    if (of.text("reshapeOrder", "c") != "c") refuse("ReshapeVertex has another order", "c", "f");
    if (extents.size() < 2 || extents.size() > 4
        || std::ranges::count_if(extents, [](int e) { return e < 1; }) > 1 || extents[0] > 0)
      refuse("ReshapeVertex is imported only with the batch as first axis", "[-1, …] with 1 to 3 extents",
             std::to_string(extents.size()) + " extents");
    if (extents.size() == 3 || dims(only()).rank == 2)
      refuse("ReshapeVertex of sequences is not imported, because their axes are in another order in Cohort",
             "vectors and images", to_string(dims(only())));
    shape target;
    target.rank = static_cast<int>(extents.size()) - 1;
    for (std::size_t axis = 1; axis < extents.size(); ++axis) target.extents[axis - 1] = extents[axis];
    return reshaped(only(), target, "reshaped");
  }
  if (kind == "PoolHelperVertex") return record(cropping{.sides = {1, 0, 1, 0}}, {only()});
  if (kind == "LastTimeStepVertex") {
    (void)of.text("maskArrayInputName", "");
    expect_rank(only(), 2, of);
    shape const from = dims(only());
    if (from[0] == 1) return reshaped(only(), {from[1]}, "vector");
    int const image = reshaped(only(), {1, from[0], from[1]}, "image");
    return reshaped(record(cropping{.sides = {from[0] - 1, 0, 0, 0}}, {image}, "last"), {from[1]}, "vector");
  }
  refuse_class(kind);
}

// ---- models ----------------------------------------------------------------------------------------------

void deeplearning4j_translation::read_general(io::json_value configuration) {
  auto const text = configuration.find("backpropType");
  is_truncated_ = text && !text->is_null() && text->string() == "TruncatedBPTT";
  if (is_truncated_ && settings_.steps < 1)
    if (auto const length = configuration.find("tbpttFwdLength"))
      settings_.steps = static_cast<int>(length->integer(1, 1 << 20));
  auto const counter = [&](char const* name) {
    auto const found = configuration.find(name);
    return found ? found->integer(0, std::int64_t{1} << 53) : 0;
  };
  if (configuration.find("iterationCount"))
    position_ = training_position{.step = counter("iterationCount"), .epoch = counter("epochCount")};
}

void deeplearning4j_translation::read_layer_configuration(io::json_value configuration) {
  if (auto const seed = configuration.find("seed"); seed && seed->is_whole())
    run_settings_.seed = static_cast<std::uint64_t>(seed->integer());
  if (!settings_.training) return;
  auto const flag = [&](char const* name) {
    auto const found = configuration.find(name);
    return !found || found->is_null() || found->boolean();
  };
  if (!flag("minimize")) refuse("Cohort minimises losses", "minimize true", "false");
  if (!flag("miniBatch")) sums_gradients_ = true;
  if (auto const algorithm = configuration.find("optimizationAlgo"); algorithm && !algorithm->is_null())
    if (algorithm->string() != "STOCHASTIC_GRADIENT_DESCENT")
      refuse("the optimization algorithm is not imported",
             "STOCHASTIC_GRADIENT_DESCENT, or deeplearning4j_settings::training false",
             std::string(algorithm->string()));
  if (auto const policy = configuration.find("learningRatePolicy"); policy && !policy->is_null())
    if (policy->string() != "None")
      refuse("the learning rate policy of an old version is not imported",
             "None, or deeplearning4j_settings::training false", std::string(policy->string()));
}

void deeplearning4j_translation::read_list(io::json_value configuration) {
  io::json_value const list = configuration.at("confs");
  if (list.size() == 0 || list.size() > deeplearning4j_graphs::most_layers) list.refuse("1 to 20000 layers");
  std::vector<deeplearning4j_step> path;
  std::vector<std::string> names;
  auto const preprocessors = configuration.find("inputPreProcessors");
  for (io::json_value const entry : list.items()) {
    std::string const number = std::to_string(path.size());
    auto of = object::read(entry.find("layer"), origin_ + ", layer " + number, object::family::layer);
    if (!of) entry.refuse("a layer");
    std::string name = of->text("layerName", "");
    if (name.empty()) name = "layer" + number;
    of->rename(origin_ + ", layer " + name);
    names.push_back(std::move(name));
    deeplearning4j_step step{.layer = std::move(of)};
    if (preprocessors && !preprocessors->is_null())
      step.preprocessor = object::read(preprocessors->find(number), origin_ + ", layer " + names.back(),
                                       object::family::preprocessor);
    path.push_back(std::move(step));
  }
  int x = add_input("input", path);
  for (std::size_t i = 0; i < path.size(); ++i) {
    layer_ = layer_names_.add(names[i]);
    read_layer_configuration(list.at(i));
    int const first = net_.view().size();
    if (path[i].preprocessor) x = preprocess(*path[i].preprocessor, x);
    x = layer(*path[i].layer, x);
    if (x >= first) publish(x);
  }
  outputs_ = {x};
  output_names_ = {layer_};
}

/// Returns the names of the inputs and vertices in the order of their parameters.
std::vector<std::string> deeplearning4j_translation::order_of(io::json_value configuration) const {
  using deeplearning4j_graphs::texts;
  if (auto const stored = configuration.find("topologicalOrderStr"); stored && !stored->is_null())
    return texts(*stored);
  // The algorithm of Kahn, with the order of Java's collections.
  std::vector<std::string> names = texts(configuration.at("networkInputs"));
  std::size_t const inputs = names.size();
  for (io::json_value const vertex : configuration.at("vertices").items()) names.emplace_back(vertex.key());
  std::map<std::string_view, int> index;
  for (std::size_t i = 0; i < names.size(); ++i) index.emplace(names[i], static_cast<int>(i));
  std::vector<std::set<int>> pending(names.size());
  std::vector<std::vector<int>> readers(names.size());
  io::json_value const all_inputs = configuration.at("vertexInputs");
  for (std::size_t i = inputs; i < names.size(); ++i)
    if (auto const list = all_inputs.find(names[i]))
      for (std::string const& name : texts(*list)) {
        auto const found = index.find(name);
        if (found == index.end()) list->refuse("names of inputs and vertices", name);
        if (!pending[i].insert(found->second).second) continue;
        readers[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(i));
      }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (pending[i].empty()) ready.push_back(i);
  std::vector<std::string> order;
  for (std::size_t next = 0; next < ready.size(); ++next) {
    std::size_t const from = ready[next];
    order.push_back(names[from]);
    deeplearning4j_graphs::sort_as_hash_set(readers[from]);
    for (int const reader : readers[from]) {
      std::set<int>& waits = pending[static_cast<std::size_t>(reader)];
      waits.erase(static_cast<int>(from));
      if (waits.empty()) ready.push_back(static_cast<std::size_t>(reader));
    }
  }
  if (order.size() < names.size()) configuration.at("vertexInputs").refuse("a graph without cycles");
  return order;
}

/// Returns the layers behind an input, up to the first vertex with parameters of other kinds, along the first
/// reader of each vertex.
std::vector<deeplearning4j_step> deeplearning4j_translation::path_from(io::json_value vertices,
                                                                       name_map const& first_readers,
                                                                       std::string const& input) const {
  std::vector<deeplearning4j_step> path;
  std::string name = input;
  while (path.size() < 1024) {
    auto const reader = first_readers.find(name);
    auto const found = reader == first_readers.end() ? std::nullopt : vertices.find(reader->second);
    if (!found) break;
    name = reader->second;
    auto const of = object::read(*found, origin_ + ", vertex " + name);
    if (!of) break;
    deeplearning4j_step step;
    if (of->class_name() == "LayerVertex" || of->class_name() == "PreprocessorVertex")
      step.preprocessor = of->object("preProcessor", object::family::preprocessor);
    if (auto const inner = of->find("layerConf"))
      step.layer = object::read(inner->find("layer"), of->where(), object::family::layer);
    bool const keeps_extents = of->class_name() == "ElementWiseVertex" || of->class_name() == "MergeVertex";
    if (!step.preprocessor && !step.layer && !keeps_extents) break;
    path.push_back(std::move(step));
  }
  return path;
}

void deeplearning4j_translation::read_graph(io::json_value configuration) {
  using deeplearning4j_graphs::most_inputs;
  using deeplearning4j_graphs::texts;
  std::map<std::string, int, std::less<>> ids;
  io::json_value const vertices = configuration.at("vertices"), all_inputs = configuration.at("vertexInputs");
  name_map first_readers;
  for (io::json_value const list : all_inputs.items())
    for (io::json_value const from : list.items()) first_readers.try_emplace(from.string(), list.key());
  std::vector<std::string> const inputs = texts(configuration.at("networkInputs"));
  if (inputs.size() > most_inputs)
    configuration.at("networkInputs").refuse("at most " + std::to_string(most_inputs) + " names");
  for (std::string const& name : inputs) {
    if (ids.contains(name)) configuration.at("networkInputs").refuse("different names", name);
    ids[name] = add_input(name, path_from(vertices, first_readers, name));
  }
  for (std::string const& name : order_of(configuration)) {
    if (std::ranges::find(inputs, name) != inputs.end()) continue;
    auto const found = vertices.find(name);
    auto const of = found ? object::read(*found, origin_ + ", vertex " + name) : std::nullopt;
    layer_ = name;
    if (!of || ids.contains(name)) refuse("the order of the vertices is damaged", "each vertex once", name);
    auto const list = all_inputs.find(name);
    if (!list) refuse("the vertex has no inputs", "an entry of vertexInputs", "none");
    std::vector<int> from;
    for (std::string const& input : texts(*list)) {
      auto const known = ids.find(input);
      if (known == ids.end())
        refuse("the vertex reads an unknown or later vertex", "an earlier vertex", input);
      from.push_back(known->second);
    }
    layer_names_.add(name);
    int const first = net_.view().size();
    int const id = vertex(*of, name, from);
    if (id >= first) publish(id);
    ids[name] = id;
  }
  layer_.clear();
  for (std::string const& name : texts(configuration.at("networkOutputs"))) {
    auto const known = ids.find(name);
    if (known == ids.end()) configuration.at("networkOutputs").refuse("names of vertices", name);
    outputs_.push_back(known->second);
    output_names_.push_back(name);
  }
  if (outputs_.empty()) configuration.at("networkOutputs").refuse("at least one vertex");
}

void deeplearning4j_translation::translate(io::json_value configuration) {
  read_general(configuration);
  if (configuration.find("confs"))
    read_list(configuration);
  else if (configuration.find("vertices"))
    read_graph(configuration);
  else
    configuration.refuse("a MultiLayerConfiguration (confs) or a ComputationGraphConfiguration (vertices)");
  layer_.clear();
  for (input_extents const& given : settings_.inputs)
    if (std::ranges::find(input_names_, given.name) == input_names_.end()) {
      std::string known;
      for (std::string const& name : input_names_) known += (known.empty() ? "" : ", ") + name;
      refuse("deeplearning4j_settings::inputs names an unknown input", "one of " + known, given.name);
    }
}

std::size_t deeplearning4j_translation::parameters() const {
  std::size_t all = 0;
  for (deeplearning4j_array const& array : arrays_) all += array.elements;
  return all;
}

std::size_t deeplearning4j_translation::state_numbers() const {
  std::size_t all = 0;
  for (deeplearning4j_array const& array : arrays_)
    if (array.updater >= 0)
      all += array.elements
             * static_cast<std::size_t>(updaters_[static_cast<std::size_t>(array.updater)].arrays);
  return all;
}

imported_model deeplearning4j_translation::finish(
    std::vector<float> const& coefficients, std::function<std::optional<std::vector<float>>()> const& state) {
  std::vector<int>& ids = outputs_;
  // An output that is an input, or that another layer reads, gets a separate layer.
  graph_view const view = net_.view();
  std::set<int> const read(view.edges.begin(), view.edges.end());
  std::set<int> returned;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bool const is_input = net_.view().kind(ids[i]).role == layer_role::input;
    if (is_input || read.contains(ids[i]) || !returned.insert(ids[i]).second) {
      layer_ = output_names_[i];
      ids[i] = record(identity_activation{}, {ids[i]}, "output");
    }
    names.emplace_back(net_.view().given_name(ids[i]));
  }
  layer_.clear();
  net_.declare_outputs(ids);
  if (net_.problem().found())
    refuse(std::string(net_.problem().text().view()), "outputs that a network can have",
           std::to_string(ids.size()) + " outputs");
  if (settings_.training) set_optimizer();
  auto const complete = [&](int node, std::string& parameter) {
    parameter = std::string(net_.view().given_name(node)) + '.' + parameter;
  };
  for (deeplearning4j_array& array : arrays_)
    for (deeplearning4j_array::part& part : array.parts) complete(part.node, part.parameter);
  for (constant& fixed : constants_) complete(fixed.node, fixed.parameter);
  imported_model result(graph(std::move(net_)), origin_);
  result.inputs = input_names_;
  result.outputs = std::move(names);
  result.settings = run_settings_;
  read_arrays(result, coefficients);
  if (settings_.training && settings_.optimizer && settings_.state)
    if (auto const numbers = state()) read_state(result, *numbers);
  return result;
}

/// Sets the parameters: those of the file, and those that have constants.
void deeplearning4j_translation::read_arrays(imported_model& into, std::vector<float> const& from) const {
  if (std::size_t const all = parameters(); all != from.size())
    refuse("coefficients.bin belongs to another configuration", std::to_string(all) + " parameters",
           std::to_string(from.size()));
  std::size_t first = 0;
  for (deeplearning4j_array const& array : arrays_) {
    std::span<float const> const elements(from.data() + first, array.elements);
    first += array.elements;
    for (deeplearning4j_array::part const& part : array.parts) {
      std::vector<float> values =
          part.convert ? part.convert(elements) : std::vector<float>(elements.begin(), elements.end());
      into.set(part.parameter, part.dims, std::move(values));
    }
  }
  for (constant const& fixed : constants_)
    into.set(fixed.parameter, fixed.dims,
             std::vector<float>(static_cast<std::size_t>(fixed.dims.elements()), fixed.value));
}

/// Sets the optimizers' state. Neighbouring arrays with equal updaters form a block; a block has its first
/// state array for all of its elements, then its second one.
void deeplearning4j_translation::read_state(imported_model& into, std::vector<float> const& from) const {
  if (std::size_t const all = state_numbers(); all != from.size())
    refuse(
        "updaterState.bin belongs to another configuration: drop it by deeplearning4j_settings::state false",
        std::to_string(all) + " numbers", std::to_string(from.size()));
  if (!position_)
    refuse("the file has no iterationCount, which the optimizers' state needs",
           "a file of 0.9 or later, or deeplearning4j_settings::state false", "none");
  into.position = *position_;
  std::size_t first = 0;
  for (std::size_t begin = 0, end = 0; begin < arrays_.size(); begin = end) {
    int const which = arrays_[begin].updater;
    end = begin;
    while (end < arrays_.size() && arrays_[end].updater == which) ++end;
    if (which < 0) continue;
    deeplearning4j_updater const& updater = updaters_[static_cast<std::size_t>(which)];
    for (int k = 0; k < updater.arrays; ++k)
      for (std::size_t i = begin; i < end; ++i) {
        std::span<float const> const part_of(from.data() + first, arrays_[i].elements);
        first += arrays_[i].elements;
        for (deeplearning4j_array::part const& part : arrays_[i].parts) {
          std::vector<float> values =
              part.convert ? part.convert(part_of) : std::vector<float>(part_of.begin(), part_of.end());
          if (updater.state_factor != 1)
            for (float& value : values) value = static_cast<float>(value * updater.state_factor);
          into.set_state(part.parameter, k, std::move(values));
        }
      }
  }
}

}  // namespace cohort::detail
