// SPDX-License-Identifier: Apache-2.0
#include "caffe_run.hpp"
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cohort/caffe/detail/caffe_network.hpp>
#include <cohort/data/repeated.hpp>
#include <cohort/documents.hpp>
#include <cohort/io/file.hpp>
#include <cohort/training/metric.hpp>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace cohort_program {

namespace {

using cohort::prototxt_message;

/// Returns whether a value is written without quotation marks in the text format.
bool is_plain(std::string const& value) {
  double number = 0;
  auto const [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return value == "true" || value == "false" || (error == std::errc{} && stop == value.data() + value.size());
}

void replace(prototxt_message& message, std::string const& field, std::string const& value) {
  message.remove(field);
  message.add({.name = field, .text = value, .is_string = !is_plain(value)});
}

/// Sets a field of a data layer: of its transformation, or of its other parameters.
void set_field(cohort::caffe_data_layer& to, std::string const& field, std::string const& value) {
  auto const& transforms = cohort::detail::caffe_transform_fields;
  std::string name = "transform_param";
  if (std::ranges::find(transforms, field) == transforms.end())
    name = to.type == "Data"         ? "data_param"
           : to.type == "MemoryData" ? "memory_data_param"
           : to.type == "HDF5Data"   ? "hdf5_data_param"
           : to.type == "ImageData"  ? "image_data_param"
                                     : "cos_data_param";
  prototxt_message param = to.layer.message(name);
  replace(param, field, value);
  to.layer.remove(name);
  to.layer.add({.name = name, .message = {param}});
}

/// Returns the name of the data layers in the path of a setting, after the prefix: train, test, test2; empty:
/// the setting is a field of the solver.
std::string layers_of(std::string const& field) {
  std::string const name = field.substr(0, std::min(field.find('.'), field.size()));
  bool const is_layer =
      name == "train" || (name.starts_with("test") && name.find_first_not_of("0123456789", 4) == name.npos);
  return is_layer && name != field ? name : "";
}

/// Reads a solver whose fields the settings change.
cohort::caffe_solver read_solver(std::string const& path, std::vector<given_setting> const& settings) {
  prototxt_message message = cohort::read_prototxt(path);
  for (given_setting const& entry : settings) {
    if (!entry.path.starts_with(caffe_run::prefix)) continue;
    std::string const field = entry.path.substr(caffe_run::prefix.size());
    if (layers_of(field).empty()) replace(message, field, entry.value);
  }
  return cohort::caffe_solver::from(std::move(message));
}

}  // namespace

std::string name_of_test(std::size_t test) { return "test " + std::to_string(test + 1); }

std::int64_t steps_of_epoch(std::int64_t steps, std::int64_t interval) {
  if (interval >= steps) return steps;
  std::int64_t epoch = interval;
  while (steps % epoch != 0) --epoch;
  if (epoch * 10 < interval)
    throw usage_error("max_iter: expected a multiple of test_interval, " + std::to_string(interval) + ", got "
                      + std::to_string(steps)
                      + "; for example --set caffe.max_iter=" + std::to_string(steps - steps % interval));
  return epoch;
}

caffe_run::caffe_run(std::string const& path, document_call const& call, caffe_options options)
    : solver_(read_solver(path, call.settings())), options_(std::move(options)) {
  std::vector<given_setting> const settings = call.settings();
  if (options_.weights.empty() && !solver_.weights.empty()) options_.weights = solver_.weights[0];
  if (solver_.weights.size() > 1 || options_.weights.find(',') != std::string::npos)
    throw usage_error("weights: expected one .caffemodel, got several");
  train_ = open(solver_.train_net, solver_.train_state, {"train"}, settings);
  cohort::caffe_import_settings import_settings{.state = solver_.train_state};
  if (solver_.seed) import_settings.seed = *solver_.seed;
  bool const has_extents = train_->message.type == "MemoryData" || train_->message.type == "CoSData";
  for (caffe_top const& top : train_->data->tops())
    if (!has_extents && top.kind != caffe_top::kinds::label)
      import_settings.inputs.push_back(
          {top.name, top.kind == caffe_top::kinds::image ? top.extents : top.stored});
  net_ = cohort::import_caffe(solver_.train_net, options_.weights, import_settings);
  for (given_setting const& entry : settings) {
    if (!entry.path.starts_with(prefix)) continue;
    std::string const name = layers_of(entry.path.substr(prefix.size()));
    bool known = name.empty() || name == "train" || name == "test";
    for (std::size_t k = 0; k < solver_.tests.size(); ++k)
      known = known || name == "test" + std::to_string(k + 1);
    if (!known)
      throw usage_error(entry.path + ": expected a test from 1 to " + std::to_string(solver_.tests.size())
                        + ", got '" + name + "'");
  }
  bool const is_tested = solver_.tests[0].iterations > 0;
  for (std::size_t k = 0; k < solver_.tests.size() && (is_tested || options_.applies); ++k) {
    cohort::caffe_solver::test& test = solver_.tests[k];
    if (test.net.fields().empty()) test.net = solver_.train_net;
    if (cohort::caffe_data_layers(test.net, test.state).empty()) {
      if (is_tested)
        throw usage_error(
            "test_iter: expected a data layer in the phase TEST, got none; or --set caffe.test_iter=0");
      return;
    }
    tests_.push_back(open(test.net, test.state, {"test", "test" + std::to_string(k + 1)}, settings));
    import_settings.state = test.state;
    if (k == 0) accuracies_ = cohort::import_caffe(test.net, "", import_settings).accuracies;
  }
}

double caffe_run::loss_weight() const {
  for (cohort::detail::caffe_layer const& entry :
       cohort::detail::caffe_layers(solver_.train_net, solver_.train_state)) {
    std::vector<double> const weights = entry.message.numbers("loss_weight");
    if (!entry.type.ends_with("Loss") || (!weights.empty() && weights[0] == 0)) continue;  // no loss
    return weights.empty() ? 1 : weights[0];
  }
  return 1;
}

caffe_run::layer caffe_run::open(prototxt_message const& net, cohort::caffe_state const& state,
                                 std::vector<std::string> const& prefixes,
                                 std::vector<given_setting> const& settings) const {
  bool const is_training = state.phase == cohort::caffe_state::phases::train;
  std::vector<cohort::caffe_data_layer> found = cohort::caffe_data_layers(net, state);
  std::erase_if(found, [](cohort::caffe_data_layer const& entry) { return entry.type == "Input"; });
  if (found.size() != 1)
    throw usage_error(net.origin() + ": expected 1 data layer in the phase "
                      + (is_training ? "TRAIN" : "TEST") + ", got " + std::to_string(found.size()));
  layer result{.message = std::move(found[0])};
  for (std::string const& name : prefixes)
    for (given_setting const& entry : settings)
      if (std::string const start = std::string(prefix) + name + '.'; entry.path.starts_with(start))
        set_field(result.message, entry.path.substr(start.size()), entry.value);
  cohort::detail::expect_caffe_data_fields(result.message.layer);
  result.data.emplace(result.message, caffe_reading{.is_training = is_training,
                                                    .resizes = options_.resizes,
                                                    .seed = solver_.seed.value_or(123)});
  return result;
}

cohort::run_document caffe_run::document(document_call const& call) const {
  cohort::run_document run;
  run.network.layers = net_->model.network();
  run.training = net_->model.settings;
  run.training.optimizer = solver_.optimizer(*net_);
  if (solver_.seed) run.training.seed = *solver_.seed;
  std::int64_t const steps = solver_.max_iter;
  std::int64_t const epoch = steps == 0 ? 1 : steps_of_epoch(steps, epoch_limit());
  constexpr std::int64_t most_examples = std::int64_t{1} << 40, most_batch = 1 << 24;
  std::int64_t const batch = std::int64_t{train_->data->batch()} * solver_.iter_size;
  if (batch > most_batch)
    throw usage_error("iter_size: expected at most " + std::to_string(most_batch)
                      + " examples in iter_size batches, got " + std::to_string(batch));
  if (epoch > most_examples / batch)
    throw usage_error("test_interval: expected at most " + std::to_string(most_examples)
                      + " examples between two tests, got " + std::to_string(epoch) + " steps of "
                      + std::to_string(batch));
  run.fit.batch = static_cast<int>(batch);
  run.fit.accumulate = solver_.iter_size;
  run.fit.epochs = static_cast<int>(steps / epoch);
  run.fit.shuffle = false;
  run.fit.prefetch = 2;
  for (cohort::caffe_accuracy const& entry : accuracies_)
    run.evaluation.top = std::max(run.evaluation.top, entry.top_k);
  if (!tests_.empty()) run.evaluation.batch = tests_[0].data->batch();
  if (!solver_.uses_gpu) run.backend = "onednn";
  if (solver_.snapshot > 0 || solver_.snapshot_after_train)
    run.output.checkpoints = solver_.snapshot_prefix + ".checkpoints";
  run.output.checkpoint_every = solver_.snapshot;
  return call.document(std::move(run), prefix);
}

std::int64_t caffe_run::epoch_limit() const {
  constexpr std::int64_t without_tests = 1000;
  if (solver_.tests[0].iterations > 0) return solver_.test_interval;
  return solver_.snapshot > 0 ? std::min(solver_.snapshot, without_tests) : without_tests;
}

cohort::dataset caffe_run::test_set(std::size_t test, bool all, bool keyed) const {
  layer const& source = tests_[test];
  caffe_data const data = keyed ? caffe_data(source.message, {.is_training = false,
                                                              .resizes = options_.resizes,
                                                              .seed = solver_.seed.value_or(123),
                                                              .keyed = true})
                                : *source.data;
  cohort::dataset const examples = data.examples(*net_);
  int const iterations = solver_.tests[test].iterations;
  if (all || iterations == 0) return examples;
  return cohort::repeated(examples, std::int64_t{iterations} * data.batch());
}

cohort::evaluation_settings caffe_run::evaluation(cohort::run_document const& run, std::size_t test) const {
  cohort::evaluation_settings result = run.evaluation;
  if (test > 0) result.batch = tests_[test].data->batch();
  return result;
}

void caffe_run::print_notices() const {
  auto const print = [](std::vector<std::string> const& notices) {
    for (std::string const& notice : notices) std::fprintf(stderr, "%s\n", notice.c_str());
  };
  print(solver_.notices);
  print(train_->data->notices());
  for (layer const& entry : tests_) print(entry.data->notices());
}

void caffe_run::save(cohort::training& trained, std::string const& path) const {
  if (trained.world().rank() != 0) return;
  save_caffemodel(*net_, trained.parameters(), path);
  std::printf("model: %s\n", path.c_str());
}

std::string caffe_run::model() const {
  if (!options_.model.empty() || !solver_.snapshot_after_train) return options_.model;
  return solver_.snapshot_prefix + "_iter_" + std::to_string(solver_.max_iter) + ".caffemodel";
}

int caffe_run::train(cohort::run_document const& given, cohort::documents::checking checks) {
  if (solver_.max_iter == 0) throw usage_error("max_iter: expected at least 1 step, got 0");
  std::int64_t const epoch = solver_.max_iter / given.fit.epochs;
  std::string const model = this->model();
  std::atomic<int> ranks = 1;
  std::vector<cohort::dataset> tests;
  for (std::size_t k = 0; k < tests_.size(); ++k) tests.push_back(test_set(k, false, false));
  cohort::run_document run = given;
  for (std::size_t k = 1; k < tests.size(); ++k) {
    bool const has_classes = tests[k].describe().targets.at(0).classes > 0;
    for (cohort::metric const& measured :
         {cohort::metric(cohort::metrics::loss),
          cohort::metric(has_classes ? cohort::metrics::accuracy : cohort::metrics::rmse)}) {
      cohort::metric& added = run.fit.metrics.emplace_back(measured.on(tests[k], evaluation(run, k)));
      added.name = name_of_test(k) + ' ' + measured.name;
    }
    if (run.metrics.empty()) run.metrics = {has_classes ? "accuracy" : "rmse"};
  }
  auto const print_test = [&](cohort::training& training, std::size_t k, char const* when) {
    cohort::documents::test_report const results =
        cohort::documents::evaluate(training, tests[k], evaluation(run, k));
    if (training.world().rank() != 0) return;
    std::string const title = tests.size() > 1 ? name_of_test(k) + ", " + when : when;
    for (auto const& [name, value] : results.numbers)
      std::printf("%s: %s %.4g\n", title.c_str(), name.c_str(), value);
  };
  return cohort::run(run, {.checks = checks,
                           .title = "cohort train",
                           .output = cohort::documents::stdout_sink(),
                           .begin =
                               [&](cohort::communicator& world) {
                                 ranks = world.size();
                                 if (world.rank() != 0) return;
                                 print_notices();
                                 cohort::documents::require_writable({{model, "snapshot_prefix"}});
                               },
                           .load =
                               [&](cohort::communicator&) {
                                 cohort::documents::data_sets result{
                                     .train = cohort::repeated(train_->data->examples(*net_),
                                                               epoch * run.fit.batch * ranks),
                                     .where = train_->data->where()};
                                 if (!tests.empty()) result.test = tests[0];
                                 return result;
                               },
                           .start =
                               [&](cohort::training& training) {
                                 if (!options_.weights.empty())
                                   net_->model.read_known_parameters(training.parameters());
                                 if (!solver_.test_initialization || run.output.resume) return;
                                 for (std::size_t k = 0; k < tests.size(); ++k)
                                   print_test(training, k, "before training");
                               },
                           .finish =
                               [&](cohort::training& training) {
                                 for (std::size_t k = 1; k < tests.size(); ++k)
                                   print_test(training, k, "after training");
                                 if (!model.empty()) save(training, model);
                               }})
      .exit_status;
}

cohort::training caffe_run::load_model(cohort::run_document const& run, cohort::communicator& world) const {
  cohort::run_document applied = run;
  applied.strategy = cohort::automatic_strategy{};
  cohort::training model = cohort::documents::make_training(applied, *run.network.layers, world);
  net_->model.read_parameters(model.parameters());
  return model;
}

}  // namespace cohort_program
