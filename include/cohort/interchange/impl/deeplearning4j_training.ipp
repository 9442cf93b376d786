// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/layer/layers.hpp>

namespace cohort::detail {

namespace deeplearning4j_updaters {

inline constexpr char const* instead =
    "deeplearning4j_settings::optimizer false, and training_settings of your own";

}  // namespace deeplearning4j_updaters

// ---- losses ----------------------------------------------------------------------------------------------

/// Returns x behind the activation and the loss of an output layer; for predictions without the loss.
int deeplearning4j_translation::with_loss(object const& of, int x) {
  object const function = activation_of(of);
  if (!settings_.training) return activate(function, x, "");
  auto loss = of.object("lossFn", object::family::loss);
  if (!loss) loss = of.object("lossFunction", object::family::loss);  // up to 0.5
  if (!loss)
    of.refuse("the output layer has no loss", "lossFn, or deeplearning4j_settings::training false", "none");
  std::string const& name = loss->class_name();
  if (loss->has("weights"))
    loss->refuse("Cohort's losses have no weights of outputs",
                 "no weights, or deeplearning4j_settings::training false", "weights");
  if (dims(x).rank == 3)
    of.refuse("Cohort has no losses of images", "deeplearning4j_settings::training false", of.class_name());
  loss->expect_read(true);
  // Deeplearning4j's losses of sequences are sums over the steps.
  bool const sums = dims(x).rank == 2;
  double const outputs = channels_of(dims(x));
  double const batch = sums_gradients_ && settings_.batch > 0 ? settings_.batch : 1;
  auto const contained = [&](char const* activation) {
    if (function.class_name() != activation)
      of.refuse("Cohort's loss for " + name + " contains its activation",
                std::string(activation) + ", or deeplearning4j_settings::training false",
                function.class_name());
    function.expect_read(true);
    return x;
  };
  auto const activated = [&] { return activate(function, x, ""); };
  if (name == "LossMCXENT" || name == "LossNegativeLogLikelihood" || name == "LossSparseMCXENT")
    return record(softmax_cross_entropy{.weight = batch, .sum_steps = sums},
                  {contained("ActivationSoftmax")});
  if (name == "LossBinaryXENT")
    return record(binary_cross_entropy{.weight = batch * outputs, .sum_steps = sums},
                  {contained("ActivationSigmoid")});
  if (name == "LossKLD")
    return record(kullback_leibler{.weight = batch, .sum_steps = sums}, {contained("ActivationSoftmax")});
  if (name == "LossMSE" || name == "LossL2")
    return record(
        mean_squared_error{.weight = name == "LossMSE" ? batch : batch * outputs, .sum_steps = sums},
        {activated()});
  if (name == "LossMAE" || name == "LossL1")
    return record(
        mean_absolute_error{.weight = name == "LossMAE" ? batch : batch * outputs, .sum_steps = sums},
        {activated()});
  if (name == "LossHinge") return record(hinge{.weight = batch * outputs, .sum_steps = sums}, {activated()});
  loss->refuse("Cohort has no loss " + name,
               "MCXENT, NegativeLogLikelihood, SparseMCXENT, BinaryXENT, KLD, MSE, L2, MAE, L1 or Hinge; or "
               "deeplearning4j_settings::training false",
               name);
}

// ---- updaters --------------------------------------------------------------------------------------------

rate_schedule deeplearning4j_translation::read_schedule(object const& from) const {
  std::string const& name = from.class_name();
  std::string const type = from.text("scheduleType", "ITERATION");
  schedule::unit const by = type == "EPOCH" ? schedule::unit::epoch : schedule::unit::step;
  auto const initial = [&] { return from.number("initialValue", 0); };
  auto const whole = [&](char const* field) {
    double const value = from.number(field, 0);
    if (!(value >= 1 && value <= 0x1p53) || std::floor(value) != value)
      from.refuse(std::string("the ") + field + " of a schedule is not a whole number", "1 or more",
                  std::to_string(value));
    return static_cast<std::int64_t>(value);
  };
  auto const complete = [&](rate_schedule const& result) {
    from.expect_read(true);
    return result;
  };
  if (name == "FixedSchedule") return complete(from.number("value", 0));
  if (name == "StepSchedule")
    return complete(schedule::step{
        .initial = initial(), .factor = from.number("decayRate", 1), .every = whole("step"), .by = by});
  if (name == "ExponentialSchedule")
    return complete(schedule::exponential{.initial = initial(), .factor = from.number("gamma", 1), .by = by});
  if (name == "InverseSchedule")
    return complete(schedule::inverse{
        .initial = initial(), .gamma = from.number("gamma", 0), .power = from.number("power", 1), .by = by});
  if (name == "SigmoidSchedule")
    return complete(schedule::sigmoid{
        .initial = initial(), .gamma = -from.number("gamma", 0), .middle = whole("stepSize"), .by = by});
  if (name == "MapSchedule") {
    auto const values = from.find("values");
    if (!values || values->size() == 0 || values->size() > schedule::map::capacity)
      from.refuse("a MapSchedule is imported only with up to 8 values", "1 to 8 values", "another number");
    std::map<std::int64_t, double> sorted;
    for (io::json_value const value : values->items()) {
      std::int64_t key = 0;
      for (char const digit : value.key()) {
        if (digit < '0' || digit > '9' || key > std::int64_t{1} << 40)
          value.refuse("a step or an epoch as key");
        key = 10 * key + (digit - '0');
      }
      sorted[key] = value.number();
    }
    schedule::map result{.by = by};
    std::size_t i = 0;
    for (auto const& [key, value] : sorted) result.values[i++] = {key, value};
    return complete(result);
  }
  from.refuse(
      "the schedule " + name + " is not imported",
      "FixedSchedule, StepSchedule, ExponentialSchedule, InverseSchedule, SigmoidSchedule or MapSchedule",
      name);
}

rate_schedule deeplearning4j_translation::read_rate(object const& from, std::string_view number,
                                                    std::string_view schedule, double otherwise) const {
  auto const given = from.object(schedule);
  double const fixed = from.number(number, otherwise);  // marks the field as read
  return given ? read_schedule(*given) : rate_schedule(fixed);
}

deeplearning4j_updater deeplearning4j_translation::read_updater(object const& from) const {
  std::string const& name = from.class_name();
  deeplearning4j_updater result{.text = from.text()};
  auto const rate = [&](double otherwise) {
    return read_rate(from, "learningRate", "learningRateSchedule", otherwise);
  };
  auto const beta1 = [&] { return from.number("beta1", 0.9); };
  auto const beta2 = [&] { return from.number("beta2", 0.999); };
  auto const epsilon = [&](double otherwise) { return from.number("epsilon", otherwise); };
  if (name == "Sgd") {
    result.rule = sgd{.learning_rate = rate(1e-3)};
  } else if (name == "NoOp") {
    result.rule = no_op{};
  } else if (name == "Nesterovs") {
    rate_schedule const step = rate(0.1);
    auto const momentum = from.object("momentumISchedule");
    rate_schedule const factor = momentum ? read_schedule(*momentum) : from.number("momentum", 0.9);
    if (from.has("momentumSchedule") || step.depends_on_epochs())
      from.refuse("the velocity has the rate of its last step, which a schedule by epochs does not define",
                  deeplearning4j_updaters::instead,
                  from.has("momentumSchedule") ? "momentumSchedule" : "a schedule by epochs");
    (void)from.number("momentum", 0.9);
    double const last = step.value(position_ ? std::max<std::int64_t>(position_->step - 1, 0) : 0, 0);
    result.rule = nesterov{.learning_rate = step, .momentum = factor, .rate_in_velocity = !step.is_fixed()};
    result.arrays = 1;
    result.state_factor = last == 0 ? 0 : -1 / last;
  } else if (name == "Adam" || name == "AMSGrad") {
    // ε is added to √v before the correction of the bias.
    if (name == "Adam")
      result.rule = adam{.learning_rate = rate(1e-3),
                         .beta1 = beta1(),
                         .beta2 = beta2(),
                         .epsilon = 0,
                         .epsilon_hat = epsilon(1e-8)};
    else
      result.rule = amsgrad{.learning_rate = rate(1e-3),
                            .beta1 = beta1(),
                            .beta2 = beta2(),
                            .epsilon = 0,
                            .epsilon_hat = epsilon(1e-8)};
    result.arrays = name == "Adam" ? 2 : 3;
  } else if (name == "AdaMax") {
    (void)epsilon(1e-8);  // Deeplearning4j adds 1e-32 instead
    result.rule = adamax{.learning_rate = rate(1e-3), .beta1 = beta1(), .beta2 = beta2(), .epsilon = 1e-32};
    result.arrays = 2;
  } else if (name == "AdaGrad") {
    result.rule = adagrad{.learning_rate = rate(0.1), .epsilon = epsilon(1e-6), .initial = epsilon(1e-6)};
    result.arrays = 1;
  } else if (name == "RmsProp") {
    result.rule =
        rmsprop{.learning_rate = rate(0.1), .rho = from.number("rmsDecay", 0.95), .epsilon = epsilon(1e-8)};
    result.arrays = 1;
  } else if (name == "AdaDelta") {
    result.rule = adadelta{.rho = from.number("rho", 0.95), .epsilon = epsilon(1e-6)};
    result.arrays = 2;
  } else if (name == "Nadam" || name == "AdaBelief") {
    from.refuse(name + ": Cohort corrects the bias of the second moment, Deeplearning4j adds ε before it",
                deeplearning4j_updaters::instead, name);
  } else {
    from.refuse("the updater is unknown", deeplearning4j_updaters::instead, name);
  }
  from.expect_read(true);
  return result;
}

/// Reads the updater of a layer of 0.8 and earlier, whose fields are those of the layer.
deeplearning4j_updater deeplearning4j_translation::read_old_updater(object const& of) const {
  std::string const name = of.text("updater", "");
  double const rate = of.number("learningRate", 0.1), beta1 = of.number("adamMeanDecay", 0.9),
               beta2 = of.number("adamVarDecay", 0.999), momentum = of.number("momentum", 0.9);
  auto const epsilon = [&](double otherwise) { return of.number("epsilon", otherwise); };
  deeplearning4j_updater result{.text = name};
  for (char const* const field :
       {"learningRate", "adamMeanDecay", "adamVarDecay", "momentum", "epsilon", "rho", "rmsDecay"})
    result.text += ' ' + std::to_string(of.number(field, -1));
  if (of.has("momentumSchedule") && of.find("momentumSchedule")->size() > 0)
    of.refuse("schedules of old versions are not imported", deeplearning4j_updaters::instead,
              "momentumSchedule");
  if (double const own = of.number("biasLearningRate", rate); own != rate && own != 0)
    of.refuse("a learning rate of biases of an old version is not imported", deeplearning4j_updaters::instead,
              "biasLearningRate");
  if (name == "SGD") {
    result.rule = sgd{.learning_rate = rate};
  } else if (name == "NONE") {
    result.rule = no_op{};
  } else if (name == "NESTEROVS") {
    result.rule = nesterov{.learning_rate = rate, .momentum = momentum};
    result.arrays = 1;
    result.state_factor = rate == 0 ? 0 : -1 / rate;
  } else if (name == "ADAM") {
    result.rule = adam{
        .learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = 0, .epsilon_hat = epsilon(1e-8)};
    result.arrays = 2;
  } else if (name == "ADAMAX") {
    result.rule = adamax{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = 1e-32};
    result.arrays = 2;
  } else if (name == "ADAGRAD") {
    result.rule = adagrad{.learning_rate = rate, .epsilon = epsilon(1e-6), .initial = epsilon(1e-6)};
    result.arrays = 1;
  } else if (name == "RMSPROP") {
    result.rule =
        rmsprop{.learning_rate = rate, .rho = of.number("rmsDecay", 0.95), .epsilon = epsilon(1e-8)};
    result.arrays = 1;
  } else if (name == "ADADELTA") {
    result.rule = adadelta{.rho = of.number("rho", 0.95), .epsilon = epsilon(1e-6)};
    result.arrays = 2;
  } else {
    of.refuse("the updater is not imported", deeplearning4j_updaters::instead, name.empty() ? "none" : name);
  }
  return result;
}

int deeplearning4j_translation::updater_of(object const& of, bool is_bias) {
  auto own = is_bias ? of.object("biasUpdater") : std::nullopt;
  if (!own) own = of.object("iupdater");
  deeplearning4j_updater found = own ? read_updater(*own) : read_old_updater(of);
  for (std::size_t i = 0; i < updaters_.size(); ++i)
    if (updaters_[i].text == found.text) return static_cast<int>(i);
  updaters_.push_back(std::move(found));
  return static_cast<int>(updaters_.size()) - 1;
}

// ---- penalties and clipping ------------------------------------------------------------------------------

/// Adds the penalties of a layer's weights or biases to l1 and l2, or a decay to the rule.
void deeplearning4j_translation::add_penalties(object const& of, bool is_bias, optimizer_rule& rule,
                                               double& l1, double& l2) const {
  double decay = 0;
  bool is_scaled = true;  // the decay is multiplied by the rate
  if (auto const list = of.find(is_bias ? "regularizationBias" : "regularization")) {
    if (list->size() > 8) list->refuse("at most 8 penalties");
    for (io::json_value const entry : list->items()) {
      auto const penalty = object::read(entry, of.where());
      if (!penalty) continue;
      auto const coefficient = [&](char const* field) {
        auto const schedule = penalty->object(field);
        rate_schedule const value = schedule ? read_schedule(*schedule) : rate_schedule(0);
        if (!value.is_fixed())
          penalty->refuse("Cohort's penalties have no schedules", deeplearning4j_updaters::instead,
                          schedule->class_name());
        return value.value(0, 0);
      };
      if (penalty->class_name() == "L1Regularization") {
        l1 += coefficient("l1");
      } else if (penalty->class_name() == "L2Regularization") {
        l2 += coefficient("l2");
      } else if (penalty->class_name() == "WeightDecay") {
        decay += coefficient("coeff");
        is_scaled = penalty->flag("applyLR", true);
      } else {
        penalty->refuse("the penalty is unknown", "L1Regularization, L2Regularization or WeightDecay",
                        penalty->class_name());
      }
    }
  } else {
    // Files up to 1.0.0-beta3. As in Deeplearning4j 1.0.0, their l2 is subtracted without the learning rate.
    l1 += of.number(is_bias ? "l1Bias" : "l1", 0);
    decay += of.number(is_bias ? "l2Bias" : "l2", 0);
    is_scaled = false;
  }
  if (decay == 0) return;
  rate_schedule const& rate = rule.learning_rate();
  if (!is_scaled && (!rate.is_fixed() || !(rate.value(0, 0) > 0)))
    of.refuse("Deeplearning4j subtracts this weight decay without the learning rate, Cohort with it",
              "a fixed rate above 0; or " + std::string(deeplearning4j_updaters::instead), "a schedule");
  double const factor = is_scaled ? decay : decay / rate.value(0, 0);
  if (rule.name() == "sgd") {
    l2 += factor;
  } else if (rule.name() == "adam") {
    rule = adamw{.learning_rate = rate,
                 .beta1 = rule.number("beta1"),
                 .beta2 = rule.number("beta2"),
                 .epsilon = rule.number("epsilon"),
                 .decay = factor,
                 .epsilon_hat = rule.number("epsilon_hat")};
  } else {
    of.refuse("weight decay (l2 of files before 1.0.0-beta4) is imported only for Sgd and Adam",
              deeplearning4j_updaters::instead, std::string(rule.name()));
  }
}

void deeplearning4j_translation::read_clipping(object const& of, weights_as as) {
  std::string const name = of.text("gradientNormalization", "None");
  double const threshold = of.number("gradientNormalizationThreshold", 1);
  gradient_normalisation found;
  if (name == "RenormalizeL2PerLayer")
    found = normalise::renormalize_l2_per_layer{};
  else if (name == "RenormalizeL2PerParamType")
    found = normalise::renormalize_l2_per_parameter{};
  else if (name == "ClipElementWiseAbsoluteValue")
    found = normalise::clip_elementwise{.at = threshold};
  else if (name == "ClipL2PerLayer")
    found = normalise::clip_l2_per_layer{.at = threshold};
  else if (name == "ClipL2PerParamType")
    found = normalise::clip_l2_per_parameter{.at = threshold};
  else if (name != "None")
    of.refuse("the gradientNormalization is unknown", deeplearning4j_updaters::instead, name);
  if (clipping_ && *clipping_ != found)
    of.refuse("Cohort has one gradient normalisation for all layers", "the same in all layers", name);
  if (found.norm() != gradient_normalisation::scope::nothing
      && (as == weights_as::parts || as == weights_as::statistics))
    of.refuse("the norm of the layer's gradient is over other elements in Cohort",
              "None or ClipElementWiseAbsoluteValue; or " + std::string(deeplearning4j_updaters::instead),
              name);
  clipping_ = found;
}

/// Records the optimizer settings of a layer with parameters.
void deeplearning4j_translation::train(object const& of, int node, weights_as as) {
  if (!settings_.training) return;
  trained_layer layer{.node = node, .frozen = is_frozen_};
  if (settings_.optimizer && !is_frozen_) {
    if (auto const constraints = of.find("constraints"); constraints && constraints->size() > 0)
      of.refuse("constraints are not imported, because Deeplearning4j adds 1e-6 to their norms",
                deeplearning4j_updaters::instead, "constraints");
    auto const rule_of = [&](bool is_bias) {
      return updaters_[static_cast<std::size_t>(updater_of(of, is_bias))].rule;
    };
    layer.rule = rule_of(false);
    layer.bias_rule = as == weights_as::statistics || as == weights_as::bias ? layer.rule : rule_of(true);
    if (as == weights_as::bias) {
      add_penalties(of, false, layer.bias_rule, layer.bias_l1, layer.bias_l2);
    } else if (as != weights_as::statistics) {
      add_penalties(of, false, layer.rule, layer.l1, layer.l2);
      add_penalties(of, true, layer.bias_rule, layer.bias_l1, layer.bias_l2);
    }
    read_clipping(of, as);
  }
  for (char const* const field : {"gradientNormalization",
                                  "gradientNormalizationThreshold",
                                  "regularization",
                                  "regularizationBias",
                                  "l1",
                                  "l2",
                                  "l1Bias",
                                  "l2Bias",
                                  "iupdater",
                                  "biasUpdater",
                                  "updater",
                                  "learningRate",
                                  "biasLearningRate",
                                  "momentum",
                                  "adamMeanDecay",
                                  "adamVarDecay",
                                  "rho",
                                  "rmsDecay",
                                  "epsilon",
                                  "constraints"})
    (void)of.has(field);
  trained_.push_back(std::move(layer));
}

/// Makes the settings: those of the first trained layer for the network, and rows for the layers that differ.
void deeplearning4j_translation::set_optimizer() {
  optimizer_settings& to = run_settings_.optimizer;
  auto const first = std::ranges::find(trained_, false, &trained_layer::frozen);
  bool const has_rules = settings_.optimizer && first != trained_.end();
  if (has_rules) {
    to.rule = first->rule;
    if (first->bias_rule != first->rule) to.bias_rule = first->bias_rule;
    to.l1 = first->l1, to.l2 = first->l2, to.bias_l1 = first->bias_l1, to.bias_l2 = first->bias_l2;
    if (clipping_) to.normalisation = *clipping_;
  }
  for (trained_layer const& layer : trained_) {
    layer_override row;
    if (layer.frozen) {
      row.frozen = true;
    } else if (has_rules) {
      if (layer.rule != to.rule) row.rule = layer.rule;
      optimizer_rule const& otherwise = to.bias_rule ? *to.bias_rule : layer.rule;
      if (layer.bias_rule != otherwise) row.bias_rule = layer.bias_rule;
      if (layer.l1 != to.l1) row.l1 = layer.l1;
      if (layer.l2 != to.l2) row.l2 = layer.l2;
      if (layer.bias_l1 != to.bias_l1) row.bias_l1 = layer.bias_l1;
      if (layer.bias_l2 != to.bias_l2) row.bias_l2 = layer.bias_l2;
    }
    if (row == layer_override()) continue;
    row.layer = std::string(net_.view().given_name(layer.node));
    to.layers.push_back(std::move(row));
  }
}

}  // namespace cohort::detail
