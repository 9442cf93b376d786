// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/detail/launch_scope.hpp>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/detail/batch_writer.hpp>
#include <cohort/data/fingerprint.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/summary.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/settings_fields.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/version.hpp>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

void check_batch_size(int batch, char const* where) {
  if (batch < 1)
    throw setting_error(
        {.what = "the batch size is not positive", .where = where, .expected = "at least 1", .got = {batch}});
}

void check_batch(fit_settings const& how) {
  check_batch_size(how.batch, "fit");
  if (how.accumulate < 1 || how.accumulate > how.batch)
    throw setting_error({.what = "a batch cannot be split into this number of micro-batches",
                         .where = "fit, accumulate",
                         .expected = {"1 to ", how.batch, ", the batch size"},
                         .got = {how.accumulate}});
}

/// The masked inputs of a network, in order.
std::vector<int> masked_inputs(graph_view net) {
  std::vector<int> found;
  for (int id : net.masks())
    if (net.kind(id).role == layer_role::input) found.push_back(id);
  return found;
}

/// Errors    shape_error unless there are no masks, or the k-th mask belongs to the k-th masked input.
void check_masks(graph_view net, data_description const& has) {
  std::vector<int> const masked = masked_inputs(net), inputs = net.with_role(layer_role::input);
  if (has.masks.empty()) return;
  if (has.masks.size() != masked.size())
    throw shape_error(
        {.what = "the data set's number of masks differs from the network's number of masked inputs",
         .expected = {masked.size(),
                      masked.empty() ? " (to read masks, use b.masked_input instead of b.input)" : ""},
         .got = {has.masks.size()}});
  for (std::size_t m = 0; m < masked.size(); ++m) {
    auto const input = static_cast<std::size_t>(std::ranges::find(inputs, masked[m]) - inputs.begin());
    tensor_description const& mask = has.masks[m];
    if (mask.example != shape(net[masked[m]].output[0]) || mask.type != element_type::u8
        || has.inputs[input].mask != static_cast<int>(m))
      throw shape_error({.what = "a mask of the data set does not fit the network",
                         .where = net.name(masked[m]),
                         .expected = {"mask ", m, ": ", net[masked[m]].output[0], ", u8"},
                         .got = {"mask ", has.inputs[input].mask, ": ", to_string(mask.example), ", ",
                                 name_of(mask.type)}});
  }
}

/// Formats the first 8 names: "lily, rose, tulip".
std::string text_of_names(std::span<std::string const> names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > most ? text_of({text, ", … (", names.size(), " names)"}) : text;
}

/// Returns a list of names for each part; nothing if no part has names.
std::vector<std::vector<std::string>> names_of_parts(std::vector<tensor_description> const& parts,
                                                     std::vector<std::string> tensor_description::*list) {
  std::vector<std::vector<std::string>> names;
  for (tensor_description const& part : parts) names.push_back(part.*list);
  bool const any = std::ranges::any_of(names, [](auto const& some) { return !some.empty(); });
  return any ? names : std::vector<std::vector<std::string>>();
}

std::vector<std::vector<std::string>> feature_names_of(dataset const& data) {
  return names_of_parts(data.describe().inputs, &tensor_description::feature_names);
}

/// Returns whether all names are those of the columns of a table without names: c0, c1, ….
bool are_numbers_of_columns(std::span<std::string const> names) {
  return std::ranges::all_of(names, [](std::string const& name) {
    return name.size() > 1 && name[0] == 'c' && name.find_first_not_of("0123456789", 1) == name.npos;
  });
}

void check_feature_names(dataset const& data, std::vector<std::vector<std::string>> const& known,
                         char const* whose, char const* call) {
  if (known.size() != data.describe().inputs.size()) return;
  for (std::size_t i = 0; i < known.size(); ++i) {
    tensor_description const& given = data.describe().inputs[i];
    if (known[i].empty() || given.feature_names.empty()) continue;
    if (are_numbers_of_columns(known[i]) != are_numbers_of_columns(given.feature_names)) continue;
    auto const [x, y] = std::ranges::mismatch(known[i], given.feature_names);
    if (x == known[i].end() && y == given.feature_names.end()) continue;
    auto const at = static_cast<std::size_t>(x - known[i].begin());
    std::string const from = at < 8 ? "" : text_of({"from feature ", at, " on: "});
    std::size_t const first = at < 8 ? 0 : at;
    throw data_error({.what = {"the data set's columns differ from those of ", whose},
                      .where = {call, ", input ", given.name},
                      .expected = {from, text_of_names(std::span(known[i]).subspan(first)),
                                   ", in this order (table_examples::inputs, or a table_encoder)"},
                      .got = text_of_names(std::span(given.feature_names).subspan(first))});
  }
}

/// Requires rows prepared by the kept pipeline, with the columns of the kept encoder and of the last fit.
void check_features(training_state const& run, dataset const& data, char const* call) {
  for (tensor_description const& one : data.describe().inputs) {
    if (!run.preparation.pipeline || !one.pipeline) continue;
    if (*one.pipeline == 0)
      throw setting_error(
          {.what = "the rows are not prepared by the pipeline of the model",
           .where = {call, ", ", one.name},
           .expected = "kept_pipeline(run)->apply(rows) of cohort/transform/keep_pipeline.hpp",
           .got = "rows as in a file"});
    if (*one.pipeline != run.preparation.pipeline->fingerprint())
      refuse_pipeline(text_of({call, ", ", one.name}));
  }
  if (run.preparation.encoder)
    check_feature_names(data, run.preparation.encoder->feature_names(), "the kept encoder", call);
  check_feature_names(data, run.preparation.feature_names, "the training", call);
}

void check_inputs(training_state const& run, dataset const& data, char const* call) {
  graph_view const net = run.net;
  auto const inputs = net.with_role(layer_role::input);
  data_description const& has = data.describe();
  if (has.inputs.size() != inputs.size())
    throw shape_error({.what = "the data set's number of inputs differs from the network's",
                       .expected = {inputs.size()},
                       .got = {has.inputs.size()}});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(has.inputs[i].example == net[inputs[i]].output))
      throw shape_error(
          {.what = "the shape of the data set's examples differs from the network's input",
           .where = net.name(inputs[i]),
           .expected = to_string(net[inputs[i]].output),
           .got = {to_string(has.inputs[i].example), has.inputs[i].feature_names.empty() ? "" : ": ",
                   text_of_names(has.inputs[i].feature_names)}});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (has.inputs[i].type == element_type::i32 && !net.is_indices(inputs[i]))
      throw shape_error({.what = "an input of the data set has the wrong element type",
                         .where = net.name(inputs[i]),
                         .expected = "f32: only embeddings read indices (i32)",
                         .got = "i32"});
  check_masks(net, has);
  check_features(run, data, call);
}

void check_inputs(graph_view net, std::span<tensor_view const> given, std::span<tensor_view const> masks) {
  std::size_t inputs = 0;
  for (int id = 0; id < net.size(); ++id) {
    if (net.kind(id).role != layer_role::input || inputs++ >= given.size()) continue;
    shape const &wanted = net[id].output, &dims = given[inputs - 1].dims;
    element_type const type = given[inputs - 1].type;
    bool const numbers = type == element_type::f32 || type == element_type::f64 || type == element_type::bf16;
    if (bool const indices = !numbers && net.is_indices(id);
        !numbers && !(indices && type == element_type::i32))
      throw shape_error({.what = "an input of predict has the wrong element type",
                         .where = net.name(id),
                         .expected = indices ? "i32 or f32: indices"
                                     : type == element_type::u8
                                         ? "f32: bytes times the .scale of the data set"
                                         : "f32",
                         .got = {name_of(type)}});
    if (dims.rank > 0 && dims == wanted.batched(dims[0])) continue;
    throw shape_error({.what = "an input of predict has the wrong shape",
                       .where = net.name(id),
                       .expected = {"Nx", to_string(wanted), " for N examples"},
                       .got = to_string(dims)});
  }
  if (given.size() != inputs)
    throw shape_error({.what = "predict got the wrong number of inputs",
                       .expected = {inputs, ", one for each input of the network"},
                       .got = {given.size()}});
  std::vector<int> const masked = masked_inputs(net);
  if (!masks.empty() && masks.size() != masked.size())
    throw shape_error({.what = "predict got the wrong number of masks",
                       .expected = {masked.size(), ", one for each masked input of the network"},
                       .got = {masks.size()}});
  for (std::size_t m = 0; m < masks.size(); ++m)
    if (shape const wanted{given[0].dims[0], net[masked[m]].output[0]};
        masks[m].type != element_type::u8 || masks[m].dims != wanted)
      throw shape_error({.what = "a mask of predict has the wrong shape or element type",
                         .where = net.name(masked[m]),
                         .expected = {to_string(wanted), " x u8"},
                         .got = {to_string(masks[m].dims), " x ", name_of(masks[m].type)}});
}

/// Describes the class indices that a loss accepts for an example.
std::string class_indices(target_spec const& wanted) {
  return wanted.steps > 0 ? text_of({wanted.steps, " class indices, one per step, i32"})
                          : "one class index per example, i32";
}

std::vector<std::vector<std::string>> class_names_of(dataset const& data) {
  return names_of_parts(data.describe().targets, &tensor_description::label_names);
}

void check_class_names(training_state const& run, dataset const& data,
                       std::vector<std::vector<std::string>> const& known, char const* call) {
  auto const compare = [&](std::size_t t, std::vector<std::string> const& wanted, char const* whose,
                           char const* remedy) {
    tensor_description const& given = data.describe().targets[t];
    if (wanted.empty() || given.label_names.empty() || given.label_names == wanted) return;
    throw data_error({.what = {"the data set's classes have other names than those of ", whose},
                      .where = {call, ", target ", given.name},
                      .expected = text_of_names(wanted),
                      .got = {text_of_names(given.label_names), remedy}});
  };
  std::optional<table_encoder> const& encoder = run.preparation.encoder;
  for (std::size_t t = 0; t < data.describe().targets.size(); ++t) {
    if (t == 0 && encoder)
      compare(t, encoder->label_names(), "the kept encoder",
              "; a table_encoder encodes the classes of all tables alike");
    if (t < known.size()) compare(t, known[t], "the training", "");
  }
}

void check_dataset(training_state const& run, dataset const& data, char const* call) {
  check_inputs(run, data, call);
  graph_view const net = run.net;
  element_type const type = run.element();
  auto const losses = losses_of(net);
  data_description const& has = data.describe();
  if (has.targets.size() != losses.size())
    throw shape_error({.what = "the data set's number of targets differs from the network's number of losses",
                       .expected = {losses.size()},
                       .got = {has.targets.size()}});
  for (std::size_t t = 0; t < losses.size(); ++t) {
    target_spec const wanted = net.target(losses[t]);
    tensor_description const& given = has.targets[t];
    shape const of_one = given.example.batched(1);
    bool const index = wanted.takes_indices(given.type, of_one, 1);
    bool const numbers = wanted.takes_numbers(given.type, of_one, 1, type);
    if (!index && !numbers)
      throw shape_error(
          {.what = "the data set's target does not fit the loss",
           .where = net.name(losses[t]),
           .expected = {wanted.classes > 0 ? class_indices(wanted) : "",
                        wanted.classes > 0 && wanted.numbers ? ", or " : "",
                        wanted.numbers ? text_of_part(wanted.values, type) : "",
                        wanted.steps > 0 && of_one.rank < 3
                            ? "; for one target per example, put flatten or a pool after the steps"
                            : ""},
           .got = text_of_part(given.example, given.type)});
    if (index && given.classes > wanted.classes)
      throw shape_error(
          {.what = "the data set has more classes than the network",
           .where = net.name(losses[t]),
           .expected = {"at most ", wanted.classes},
           .got = {given.classes,
                   given.smallest_class == 1
                       ? "; no example has class 0: if the labels begin at 1, subtract 1, or read "
                         "the column as texts (text_columns)"
                       : ""}});
    if (index && !given.label_names.empty() && std::ssize(given.label_names) < wanted.classes)
      throw shape_error({.what = "the data set has fewer classes than the network has outputs",
                         .where = net.name(losses[t]),
                         .expected = {wanted.classes, " named classes"},
                         .got = {given.label_names.size(), ": ", text_of_names(given.label_names)}});
  }
}

/// The names of the classes of all targets that have names.
std::string text_of_class_names(dataset const& data) {
  std::string text;
  for (tensor_description const& one : data.describe().targets)
    if (!one.label_names.empty()) {
      text += text.empty() ? "" : "; ";
      for (std::size_t i = 0; i < one.label_names.size(); ++i)
        text += (i > 0 ? ", " : "") + one.label_names[i];
    }
  return text;
}

/// The names of the features of all inputs that have names.
std::string text_of_features(dataset const& data) {
  std::string text;
  for (std::vector<std::string> const& names : feature_names_of(data))
    for (std::string const& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Formats the parts of an example in a batch: "1x28x28 x f32, 1 x i32".
std::string shapes_of(data_description const& what) {
  std::string text;
  for (std::size_t p = 0; p < what.parts(); ++p)
    text += text_of({p == 0 ? "" : ", ", to_string(what.part(p).example), " x ", name_of(what.part(p).type)});
  return text;
}

std::string text_of_examples(dataset const& data, sharding how, std::int64_t epoch) {
  if (!data.indexed()) return "a stream";
  if (how == sharding::local) return "numbered examples";
  return text_of({data.size(), " examples, fingerprint ", data.size() > 0 ? fingerprint(data, epoch) : 0});
}

void check_sharding(communicator& world, dataset const& data, sharding how, std::int64_t epoch,
                    char const* where, training_state const* run) {
  if (world.size() == 1) return;
  std::string mine;
  all_or_none(world, where, "cannot read the data set", [&] { mine = text_of_examples(data, how, epoch); });
  std::vector<shared_fact> facts;
  if (run) facts.push_back({"network", text_of({run->net.hash()})});
  facts.push_back({"data set", mine});
  std::vector<std::string> const all = texts_of_all(world, where, encoded_facts(facts));
  std::vector<shared_fact> const different = differing_facts(all);
  if (different.empty()) return;
  if (different[0].name == "network") {
    add_differing_layer(*run, where, facts);
    require_same(world, where, facts);
  }
  throw setting_error(
      {.what = "the ranks' data sets differ",
       .where = where,
       .expected = "the same examples in the same order on every rank; each rank uses a part of them; if "
                   "each rank holds its own examples: .sharding = sharding::local",
       .got = different[0].value});
}

std::vector<std::int64_t> local_sizes(communicator& world, dataset const& data, sharding how) {
  if (how == sharding::global) return {};
  std::int64_t const mine = data.size();
  gathered const all = world.allgatherv(std::as_bytes(std::span(&mine, 1)));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r)
    std::memcpy(&sizes[static_cast<std::size_t>(r)], all.of(r).data(), sizeof mine);
  return sizes;
}

void add_fields(std::vector<shared_fact>& facts, std::vector<field_text> fields) {
  for (field_text& field : fields) facts.push_back({std::move(field.path), std::move(field.value)});
}

/// Facts of a run that must be equal on all ranks.
///
/// Errors    setting_error if the strategy does not synchronise the ranks.
std::vector<shared_fact> facts_of(training_state& run) {
  if (!run.exchange_strategy->agreed())
    throw setting_error(
        {.what = "the strategy does not synchronise the ranks",
         .where = "fit",
         .expected = "allreduce, parameter_averaging, or a strategy whose agreed() returns the votes",
         .got = run.exchange_strategy->describe()});
  std::vector<shared_fact> facts{{"library version", std::string(library_version)},
                                 {"network", text_of({run.net.hash()})},
                                 {"element type", std::string(name_of(run.parameters().type()))}};
  add_fields(facts, list_fields(run.settings, true));
  facts.insert(facts.end(),
               {{"normalisation", run.preparation.rescaling.empty()
                                      ? "none"
                                      : text_of({"hash ", fnv1a(run.preparation.rescaling.to_json())})},
                {"strategy", run.exchange_strategy->describe()}});
  return facts;
}

std::string beginning_of(training_state const& run, std::int64_t position) {
  return text_of({"step ", run.position.step, ", epoch ", run.position.epoch, ", position ", position});
}

/// Returns whether the run has one rank.
///
/// Errors    setting_error for a run without communicator in a launch of several ranks: each rank would train
///           a separate network.
bool has_single_rank(training_state const& run) {
  if (!run.has_given_world && launched_ranks > 1)
    throw setting_error(
        {.what = "a trainer without a communicator would train a separate network on each rank",
         .where = {"a launch of ", launched_ranks, " ranks"},
         .expected =
             "trainer<B>(net, world, allreduce{}); for separate networks trainer<B>(net, make_self(), "
             "std::make_unique<no_exchange>())",
         .got = "trainer<B>(net)"});
  return run.world->size() == 1;
}

std::vector<shared_fact> facts_of_fit(training_state& run, dataset const& data, fit_settings const& how) {
  std::vector<shared_fact> facts = facts_of(run);
  std::string metrics;
  for (metric const& one : how.metrics) metrics += (metrics.empty() ? "" : ", ") + one.name;
  std::string listeners;  // listeners with a name or settings, which must be equal
  for (listener const* const one : how.listeners) {
    std::string text = one ? one->name() : "";
    if (std::string const settings = one ? one->settings() : ""; !settings.empty())
      text = (text.empty() ? "a listener" : text) + " (" + settings + ")";
    if (!text.empty()) listeners += (listeners.empty() ? "" : ", ") + text;
  }
  add_fields(facts, list_fields(how, true));
  facts.insert(facts.end(), {{"validation", how.validation ? "yes" : "no"},
                             {"metrics", metrics},
                             {"listeners", listeners},
                             {"examples of the data set", shapes_of(data.describe())},
                             {"names of the classes", text_of_class_names(data)},
                             {"columns of the data set", text_of_features(data)},
                             {"beginning", beginning_of(run, data.indexed() ? run.position.position : 0)}});
  return facts;
}

/// Formats a layer: "dense_1 = dense: units 10, output 10, from flatten_1".
std::string text_of_layer(graph_view net, int id) {
  std::string text =
      text_of({net.name(id), " = ", layer_text(net, id), ", output ", to_string(net[id].output)});
  for (int const from : net.inputs(id)) text += ", from " + net.name(from);
  return text;
}

void add_differing_layer(training_state const& run, std::string_view call, std::vector<shared_fact>& facts) {
  if (are_equal(texts_of_all(*run.world, call, text_of({run.net.hash()})))) return;
  graph_view const net = run.net;
  std::string mine;
  for (int id = 0; id < net.size(); ++id) mine += text_of_layer(net, id) + '\n';
  std::vector<std::string> remaining = texts_of_all(*run.world, call, mine);
  while (!are_equal(remaining)) {
    std::vector<std::string> layers;
    for (std::string& text : remaining) {
      std::size_t const end = std::min(text.find('\n'), text.size());
      layers.push_back(text.substr(0, end));
      text.erase(0, end + 1);
    }
    if (are_equal(layers)) continue;
    facts.push_back({"first layer that differs", layers[static_cast<std::size_t>(run.world->rank())]});
    return;
  }
}

/// Requires equal facts on all ranks. Layers are exchanged only after a difference.
void require_same_run(training_state const& run, std::string_view call, std::vector<shared_fact> facts) {
  if (differing_facts(texts_of_all(*run.world, call, encoded_facts(facts))).empty()) return;
  add_differing_layer(run, call, facts);
  require_same(*run.world, call, facts);
}

void check_ranks(training_state& run, dataset const& data, fit_settings const& how, char const* call) {
  if (has_single_rank(run)) return;
  require_same_run(run, call, facts_of_fit(run, data, how));
  check_sharding(*run.world, data, how.sharding, run.position.epoch, call);
  if (how.validation)
    check_sharding(*run.world, *how.validation, how.sharding, run.position.epoch, "validation");
}

void check_run(training_state& run, char const* call) {
  if (has_single_rank(run)) return;
  std::vector<shared_fact> facts = facts_of(run);
  facts.push_back({"beginning", beginning_of(run, 0)});
  require_same_run(run, call, std::move(facts));
}

std::vector<int> losses_of(graph_view net) {
  std::vector<int> losses = net.with_role(layer_role::loss);
  if (losses.empty())
    throw graph_error({.what = "this network can be neither trained nor evaluated: it has no loss layer",
                       .expected = "a loss, for example `| softmax_cross_entropy{}`; or steps of a "
                                   "training_loop with gradients of the outputs",
                       .got = "outputs only"});
  return losses;
}

void check_batch_view(graph_view net, std::span<int const> losses, element_type type,
                      batch_view const& data) {
  auto const refuse = [](char const* what, std::string where, std::string expected, std::string got) {
    throw shape_error(
        {.what = what, .where = std::move(where), .expected = std::move(expected), .got = std::move(got)});
  };
  auto const inputs = net.with_role(layer_role::input);
  if (data.count == 0 && data.inputs.empty()) return;
  if (data.count == 0 && data.inputs[0].dims.rank > 0 && data.inputs[0].dims[0] > 0)
    refuse("the batch has tensors, but no number of examples", "batch_view::count",
           text_of({data.inputs[0].dims[0], ", as in its first input"}), "0");
  if (data.inputs.size() != inputs.size() || data.targets.size() != losses.size())
    refuse("the batch does not have the network's inputs and targets", "",
           text_of({inputs.size(), " inputs, ", losses.size(), " targets"}),
           text_of({data.inputs.size(), " inputs, ", data.targets.size(), " targets"}));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tensor_view const& given = data.inputs[i];
    shape const wanted = net[inputs[i]].output.batched(data.count);
    bool const indices = net.is_indices(inputs[i]);
    bool const known =
        given.type == element_type::f32 || given.type == type || (indices && given.type == element_type::i32);
    if (!(given.dims == wanted) || !known)
      refuse("an input of the batch does not fit the network", net.name(inputs[i]),
             text_of({to_string(wanted), ", ", indices ? "i32, " : "", "f32",
                      type == element_type::f32 ? "" : " or f64"}),
             text_of({to_string(given.dims), ", ", name_of(given.type)}));
  }
  std::vector<int> const masked = masked_inputs(net);
  if (!data.masks.empty() && data.masks.size() != masked.size())
    refuse("the batch has the wrong number of masks", "",
           text_of({masked.size(), ", one for each masked input of the network"}),
           text_of({data.masks.size()}));
  for (std::size_t m = 0; m < data.masks.size(); ++m)
    if (shape const wanted{data.count, net[masked[m]].output[0]};
        data.masks[m].type != element_type::u8 || data.masks[m].dims != wanted)
      refuse("a mask of the batch does not fit the network", net.name(masked[m]),
             text_of({to_string(wanted), ", u8"}),
             text_of({to_string(data.masks[m].dims), ", ", name_of(data.masks[m].type)}));
  for (std::size_t t = 0; t < losses.size(); ++t) {
    target_spec const wanted = net.target(losses[t]);
    tensor_view const& given = data.targets[t];
    if (!wanted.takes_indices(given.type, given.dims, data.count)
        && !wanted.takes_numbers(given.type, given.dims, data.count, type))
      refuse("a target of the batch does not fit the loss", net.name(losses[t]),
             text_of({wanted.classes > 0 ? text_of(
                          {to_string(wanted.index_shape().batched(data.count)), " class indices, i32"})
                                         : "",
                      wanted.classes > 0 && wanted.numbers ? ", or " : "",
                      wanted.numbers
                          ? text_of({to_string(wanted.values.batched(data.count)), ", ", name_of(type)})
                          : ""}),
             text_of({to_string(given.dims), ", ", name_of(given.type)}));
  }
  for (auto const& [list, size] :
       {std::pair("weights", data.weights.size()), std::pair("indices", data.indices.size())})
    if (size != 0 && size != static_cast<std::size_t>(data.count))
      refuse("the batch has the wrong number of elements in a list", list,
             text_of({data.count, ", one for each example"}), text_of({size}));
  for (std::size_t n = 0; n < data.weights.size(); ++n)
    checked_weight(data.weights[n], data.indices.empty() ? static_cast<std::int64_t>(n) : data.indices[n]);
}

void check_normalisation(graph_view net, normalisation const& how) {
  auto const check = [&](std::vector<std::vector<channel_scaling>> const& all, std::vector<int> const& nodes,
                         char const* kind, auto example_of) {
    auto const refuse = [](std::string where, clause expected, clause got) {
      throw shape_error({.what = "a normalisation does not fit the network",
                         .where = std::move(where),
                         .expected = std::move(expected),
                         .got = std::move(got)});
    };
    if (!all.empty() && all.size() != nodes.size()) refuse(kind, {nodes.size()}, {all.size()});
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].empty()) continue;
      std::optional<shape> const example = example_of(nodes[i]);
      if (!example) refuse(net.name(nodes[i]), "no maps for class labels", {all[i].size()});
      if (net.kind(nodes[i]) == kind_of<padded_input>)
        refuse(
            net.name(nodes[i]),
            "no maps for an input whose padding is marked by a value, which the maps would change: normalise "
            "the steps before they are padded",
            {all[i].size()});
      tensor_description const part{.example = *example};
      int const channels = example->rank == 0 ? 1 : channels_of(*example);
      if (!part.accepts(all[i].size()))
        refuse(net.name(nodes[i]),
               {channels, example->elements() > channels ? text_of({" or ", example->elements()}) : "",
                channels == 1 && example->elements() == 1 ? " map" : " maps"},
               {all[i].size()});
      for (channel_scaling const& one : all[i])
        if (!is_finite(one.scale) || !is_finite(one.offset) || one.scale == 0)
          throw setting_error({.what = "invalid scale or offset in a normalisation",
                               .where = net.name(nodes[i]),
                               .expected = "a finite scale other than 0 and a finite offset",
                               .got = {one.scale, " and ", one.offset}});
    }
  };
  check(how.inputs, net.with_role(layer_role::input), "inputs",
        [&](int node) { return std::optional(net[node].output); });
  check(how.targets, net.with_role(layer_role::loss), "targets", [&](int node) {
    target_spec const wanted = net.target(node);
    return wanted.numbers ? std::optional(wanted.values) : std::nullopt;
  });
}

void check_common_steps(training_state const& run, char const* what) {
  if (!run.is_in_uncommon_step) return;
  throw setting_error(
      {.what = "collective call in a step that not all ranks execute: some ranks have no more examples",
       .where = {what, " in a listener's on_step"},
       .expected = "collective calls in on_epoch, or in on_vote after training::request"});
}

}  // namespace cohort::detail
