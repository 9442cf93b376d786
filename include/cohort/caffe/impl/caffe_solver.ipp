// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/caffe/caffe_solver.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

namespace cohort {

namespace detail {

inline constexpr std::array<std::string_view, 6> caffe_solver_types{"SGD",     "Nesterov", "AdaGrad",
                                                                    "RMSProp", "AdaDelta", "Adam"};

/// The fields of SolverParameter.
inline constexpr std::array<std::string_view, 42> caffe_solver_fields{"net",
                                                                      "net_param",
                                                                      "train_net",
                                                                      "test_net",
                                                                      "train_net_param",
                                                                      "test_net_param",
                                                                      "train_state",
                                                                      "test_state",
                                                                      "test_iter",
                                                                      "test_interval",
                                                                      "test_compute_loss",
                                                                      "test_initialization",
                                                                      "base_lr",
                                                                      "display",
                                                                      "average_loss",
                                                                      "max_iter",
                                                                      "iter_size",
                                                                      "lr_policy",
                                                                      "gamma",
                                                                      "power",
                                                                      "momentum",
                                                                      "weight_decay",
                                                                      "regularization_type",
                                                                      "stepsize",
                                                                      "stepvalue",
                                                                      "clip_gradients",
                                                                      "snapshot",
                                                                      "snapshot_prefix",
                                                                      "snapshot_diff",
                                                                      "snapshot_format",
                                                                      "solver_mode",
                                                                      "device_id",
                                                                      "random_seed",
                                                                      "type",
                                                                      "delta",
                                                                      "momentum2",
                                                                      "rms_decay",
                                                                      "debug_info",
                                                                      "snapshot_after_train",
                                                                      "solver_type",
                                                                      "layer_wise_reduce",
                                                                      "weights"};

/// Returns an integer field that is in [least, most].
std::int64_t integer_in(prototxt_message const& from, std::string_view name, std::int64_t otherwise,
                        std::int64_t least, std::int64_t most = std::numeric_limits<int>::max()) {
  std::int64_t const value = from.integer(name, otherwise);
  if (value < least || value > most)
    from.refuse(name, {"a field of the solver is out of range"}, {least, " to ", most}, {value});
  return value;
}

/// Refuses a real number that no setting of Cohort accepts, by the field of the solver.
void expect_reals(prototxt_message const& from) {
  struct range {
    std::string_view name;
    double least, below;
  };
  constexpr double most = 3e38;
  double const least_gamma = from.text("lr_policy") == "sigmoid" ? -most : 0;
  for (auto const& [name, least, below] : {range{"base_lr", 0, most},
                                           {"gamma", least_gamma, most},
                                           {"power", 0, most},
                                           {"momentum", 0, 1},
                                           {"momentum2", 0, 1},
                                           {"rms_decay", 0, 1},
                                           {"delta", 0, most},
                                           {"weight_decay", 0, most},
                                           {"clip_gradients", -most, most}})
    if (double const value = from.number(name, 0); !(value >= least && value < below))
      from.refuse(name, {"a field of the solver is out of range"}, {least, " or more, and below ", below},
                  {value});
}

/// Returns the index of the solver's type in caffe_solver_types.
std::size_t type_of(prototxt_message const& from) {
  if (from.has("type") && from.has("solver_type"))
    from.refuse("solver_type", {"the solver has two types"}, {"type or solver_type"}, {"both"});
  std::string const name = from.text("type", from.has("solver_type") ? "" : "SGD");
  constexpr std::array<std::string_view, 6> old{"SGD", "NESTEROV", "ADAGRAD", "RMSPROP", "ADADELTA", "ADAM"};
  for (std::size_t k = 0; k < old.size(); ++k)
    if (name == caffe_solver_types[k] || from.text("solver_type") == old[k]
        || from.text("solver_type") == std::to_string(k))
      return k;
  bool const is_new = from.has("type");
  std::string const got = is_new ? name : from.text("solver_type");
  from.refuse(is_new ? "type" : "solver_type", {"unknown type of a solver"},
              {"one of ", is_new ? names_and_nearest(got, caffe_solver_types) : names_and_nearest(got, old)},
              quote_for_error(got));
}

/// Returns the learning rate over time for a layer with this factor. Steps count from 0.
rate_schedule rate_of(prototxt_message const& from, double factor) {
  constexpr schedule::unit by = schedule::unit::step;
  if (factor == 0) return 0.0;  // fixed, so that clip_gradients does not count the gradient
  double const base = factor * from.number("base_lr", 0), gamma = from.number("gamma", 0),
               power = from.number("power", 0);
  auto const step_size = [&] {
    if (!from.has("stepsize"))
      from.refuse("lr_policy", {"the policy of the learning rate needs the field stepsize"}, {"stepsize"},
                  {"none"});
    return integer_in(from, "stepsize", 0, 1);
  };
  std::string const policy = from.text("lr_policy");
  if (policy == "fixed") return base;
  if (policy == "step") return schedule::step{base, gamma, step_size(), by};
  if (policy == "exp") return schedule::exponential{base, gamma, by};
  if (policy == "inv") return schedule::inverse{base, gamma, power, by};
  if (policy == "poly") return schedule::polynomial{base, integer_in(from, "max_iter", 0, 1), power, by};
  if (policy == "sigmoid") return schedule::sigmoid{base, -gamma, step_size(), by};
  if (policy == "multistep") {
    schedule::map result{.values = {{0, base}}, .by = by};
    std::vector<std::int64_t> const steps = from.integers("stepvalue");
    if (steps.size() >= schedule::map::capacity)
      from.refuse("stepvalue", {"the policy of the learning rate has too many steps"},
                  {"at most ", schedule::map::capacity - 1, " values"}, {steps.size()});
    double rate = base;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (steps[k] <= (k == 0 ? 0 : steps[k - 1]))
        from.refuse("stepvalue", {"steps of the learning rate do not increase"},
                    {"increasing positive steps"}, {steps[k]});
      result.values[k + 1] = {steps[k], rate *= gamma};
    }
    return result;
  }
  constexpr std::array<std::string_view, 7> policies{"fixed", "step",      "exp",    "inv",
                                                     "poly",  "multistep", "sigmoid"};
  from.refuse("lr_policy", {"unknown policy of the learning rate"},
              {"one of ", names_and_nearest(policy, policies)},
              {policy.empty() ? std::string("none") : quote_for_error(policy)});
}

/// Returns the update rule for a factor of the learning rate.
optimizer_rule rule_of(prototxt_message const& from, double factor) {
  rate_schedule const rate = rate_of(from, factor);
  double const mu = from.number("momentum", 0), delta = from.number("delta", 1e-8);
  std::size_t const type = type_of(from);
  bool const changes = !rate.is_fixed();
  auto const refuse_momentum = [&] {
    if (mu != 0) from.refuse("momentum", {caffe_solver_types[type], " has no momentum"}, {"0"}, {mu});
  };
  switch (type) {
    case 0:
      if (mu == 0) return sgd{rate};
      return momentum{.learning_rate = rate, .momentum = mu, .rate_in_velocity = changes};
    case 1:
      return nesterov{.learning_rate = rate, .momentum = mu, .rate_in_velocity = changes};
    case 2:
      refuse_momentum();
      return adagrad{.learning_rate = rate, .epsilon = delta, .initial = 0};
    case 3:
      refuse_momentum();
      return rmsprop{.learning_rate = rate, .rho = from.number("rms_decay", 0.99), .epsilon = delta};
    case 4:
      return adadelta{.learning_rate = rate, .rho = mu, .epsilon = delta};
    default:
      return adam{.learning_rate = rate,
                  .beta1 = mu,
                  .beta2 = from.number("momentum2", 0.999),
                  .epsilon = 0,
                  .epsilon_hat = delta};
  }
}

/// Returns the states of a phase in the solver.
std::vector<caffe_state> states_of(prototxt_message const& from, std::string_view name,
                                   caffe_state::phases phase) {
  std::vector<caffe_state> result;
  constexpr std::array<std::string_view, 3> fields{"phase", "level", "stage"};
  bool const trains = phase == caffe_state::phases::train;
  for (prototxt_message const* const state : from.messages(name)) {
    state->expect_only(fields);
    std::string const expected = trains ? "TRAIN" : "TEST", given = state->text("phase", expected);
    if (given != expected && given != (trains ? "0" : "1"))
      state->refuse("phase", {"a state has another phase than its network"}, {expected},
                    quote_for_error(given));
    result.push_back(
        {.phase = phase,
         .level = static_cast<int>(integer_in(*state, "level", 0, std::numeric_limits<int>::min())),
         .stages = state->texts("stage")});
  }
  return result;
}

/// Reads a network at its path, or in the folder of the solver.
prototxt_message network_at(std::string const& path, std::string const& solver) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (fs::exists(path, unknown)) return read_prototxt(path);
  fs::path const beside = fs::path(solver).parent_path() / fs::path(path).filename();
  return read_prototxt(fs::exists(beside, unknown) ? beside.string() : path);
}

/// Returns the networks in the fields PREFIXnet_param and PREFIXnet.
std::vector<prototxt_message> networks_of(prototxt_message const& from, std::string const& prefix) {
  std::vector<prototxt_message> result;
  for (prototxt_message const* const net : from.messages(prefix + "net_param")) result.push_back(*net);
  for (std::string const& path : from.texts(prefix + "net"))
    result.push_back(network_at(path, from.origin()));
  return result;
}

/// Returns the network of the training: the field net_param, net, or the phase's own.
prototxt_message training_network_of(prototxt_message const& from) {
  for (char const* const prefix : {"train_", ""}) {
    std::string const path = std::string(prefix) + "net";
    std::size_t const count = from.count(path) + from.count(path + "_param");
    if (count > 1)
      from.refuse(from.has(path) ? path : path + "_param", {"the solver has several networks for training"},
                  {"1 of ", path, " and ", path, "_param"}, {count});
    if (count == 1) return std::move(networks_of(from, prefix)[0]);
  }
  from.refuse("", {"the solver has no network"}, {"the field net, net_param, train_net or train_net_param"},
              {"none"});
}

/// Returns the tests: at least one, which has no batches if the solver tests nothing.
std::vector<caffe_solver::test> tests_of(prototxt_message const& from) {
  std::vector<caffe_state> const states = states_of(from, "test_state", caffe_state::phases::test);
  std::vector<std::int64_t> batches = from.integers("test_iter");
  if (from.integer("test_interval", 0) == 0) batches.clear();
  for (std::int64_t const count : batches)
    if (count < (batches.size() > 1 ? 1 : 0) || count > std::numeric_limits<int>::max())
      from.refuse("test_iter", {"a field of the solver is out of range"},
                  {batches.size() > 1 ? 1 : 0, " to ", std::numeric_limits<int>::max()}, {count});
  if (batches.empty() || batches[0] == 0) return {{.state = states.empty() ? caffe_state{} : states[0]}};
  std::vector<prototxt_message> nets = networks_of(from, "test_");
  if (nets.size() < batches.size()) {
    std::vector<prototxt_message> const shared = networks_of(from, "");
    if (!shared.empty()) nets.resize(batches.size(), shared[0]);
  }
  if (nets.size() != batches.size())
    from.refuse("test_iter", {"the solver has another number of test networks"},
                {nets.size(), " test_iter, one for each test network"}, {batches.size()});
  if (!states.empty() && states.size() != batches.size())
    from.refuse("test_state", {"the solver has another number of states"},
                {"none, or ", batches.size(), ", one for each test_iter"}, {states.size()});
  std::vector<caffe_solver::test> result;
  for (std::size_t k = 0; k < batches.size(); ++k)
    result.push_back({.net = std::move(nets[k]),
                      .state = states.empty() ? caffe_state{} : states[k],
                      .iterations = static_cast<int>(batches[k])});
  return result;
}

/// Returns one sentence for each field whose value has no effect.
std::vector<std::string> notices_of(prototxt_message const& from) {
  std::vector<std::string> result;
  auto const add = [&](std::string_view field, char const* text) {
    result.push_back(from.where(field) + ", " + std::string(field) + ": " + text);
  };
  if (from.text("snapshot_format", "BINARYPROTO") == "HDF5" || from.text("snapshot_format") == "0")
    add("snapshot_format", "HDF5 is not written; .caffemodel files are binary Protocol Buffers");
  if (from.boolean("debug_info", false)) add("debug_info", "not printed");
  if (from.integer("device_id", 0) > 0)
    add("device_id", "not used; CUDA_VISIBLE_DEVICES selects the GPU of a process");
  return result;
}

}  // namespace detail

optimizer_settings caffe_solver::optimizer() const {
  std::string const kind = message.text("regularization_type", "L2");
  if (kind != "L1" && kind != "L2")
    message.refuse("regularization_type", {"unknown regularization"}, {"L1 or L2"},
                   detail::quote_for_error(kind));
  double const decay = message.number("weight_decay", 0), limit = message.number("clip_gradients", -1);
  optimizer_settings result{.rule = detail::rule_of(message, 1)};
  (kind == "L1" ? result.l1 : result.l2) = decay;
  (kind == "L1" ? result.bias_l1 : result.bias_l2) = decay;
  if (limit >= 0) result.normalisation = normalise::clip_global_norm{.at = limit / iter_size};
  result.check();
  return result;
}

optimizer_settings caffe_solver::optimizer(caffe_model const& net) const {
  optimizer_settings result = optimizer();
  graph_view const graph = net.model.network();
  for (caffe_rates const& factors : net.rates) {
    layer_override row{.layer = factors.layer};
    int const id = graph.find(factors.layer);
    bool const has_statistics = id >= 0 && graph.kind(id).name == batch_norm::kind_name;
    if (factors.is_constant || (factors.weights_rate == 0 && factors.bias_rate == 0 && !has_statistics)) {
      row.frozen = true;
    } else {
      row.rule = detail::rule_of(message, factors.weights_rate);
      row.bias_rule = detail::rule_of(message, factors.bias_rate);
      if (result.l1 != 0) {
        row.l1 = result.l1 * factors.weights_decay;
        row.bias_l1 = result.l1 * factors.bias_decay;
      } else {
        row.l2 = result.l2 * factors.weights_decay;
        row.bias_l2 = result.l2 * factors.bias_decay;
      }
    }
    result.layers.push_back(std::move(row));
  }
  result.check();
  return result;
}

caffe_solver caffe_solver::read(std::string const& path) { return from(read_prototxt(path)); }

caffe_solver caffe_solver::from(prototxt_message message) {
  using detail::integer_in;
  message.expect_only(detail::caffe_solver_fields);
  if (message.boolean("snapshot_diff", false))
    message.refuse("snapshot_diff", {"snapshots with gradients are not written"}, {"false"}, {"true"});
  if (!message.has("base_lr"))
    message.refuse("", {"the solver has no learning rate"}, {"the field base_lr"}, {"none"});
  detail::expect_reals(message);
  constexpr std::int64_t most_steps = std::int64_t{1} << 53;
  caffe_solver result{.max_iter = integer_in(message, "max_iter", 0, 0, most_steps),
                      .iter_size = static_cast<int>(integer_in(message, "iter_size", 1, 1)),
                      .test_interval = integer_in(message, "test_interval", 0, 0),
                      .test_initialization = message.boolean("test_initialization", true),
                      .snapshot = integer_in(message, "snapshot", 0, 0),
                      .snapshot_after_train = message.boolean("snapshot_after_train", true),
                      .snapshot_prefix = message.text("snapshot_prefix"),
                      .weights = message.texts("weights"),
                      .notices = detail::notices_of(message)};
  if (std::int64_t const seed = message.integer("random_seed", -1); seed >= 0)
    result.seed = static_cast<std::uint64_t>(seed);
  std::string const mode = message.text("solver_mode", "GPU");
  if (mode != "GPU" && mode != "1" && mode != "CPU" && mode != "0")
    message.refuse("solver_mode", {"unknown mode"}, {"CPU or GPU"}, detail::quote_for_error(mode));
  result.uses_gpu = mode == "GPU" || mode == "1";
  std::filesystem::path prefix = result.snapshot_prefix, stem = message.origin();
  stem.replace_extension();
  if (prefix.empty()) result.snapshot_prefix = stem.string();
  std::error_code unknown;
  if (!prefix.empty() && std::filesystem::is_directory(prefix, unknown))
    result.snapshot_prefix = (prefix / stem.filename()).string();

  std::vector<caffe_state> const states =
      detail::states_of(message, "train_state", caffe_state::phases::train);
  if (states.size() > 1)
    message.refuse("train_state", {"the solver has several states"}, {"1 state"}, {states.size()});
  if (!states.empty()) result.train_state = states[0];
  result.train_net = detail::training_network_of(message);
  result.tests = detail::tests_of(message);
  result.message = std::move(message);
  result.optimizer();  // throws for an invalid setting
  return result;
}

}  // namespace cohort
