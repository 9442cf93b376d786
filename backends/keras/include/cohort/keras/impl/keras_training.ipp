// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/layers.hpp>

namespace cohort::detail {

// ---- losses ----------------------------------------------------------------------------------------------

namespace keras_losses {

/// Returns the canonical name of a loss: "categorical_crossentropy" for "CategoricalCrossentropy" and
/// abbreviations.
inline std::string name_of(std::string const& given) {
  std::string name = given.find('_') == std::string::npos ? keras_snake_case(given) : given;
  if (name == "mse" || given == "MSE") return "mean_squared_error";
  if (name == "mae" || given == "MAE") return "mean_absolute_error";
  if (name == "bce" || given == "BCE") return "binary_crossentropy";
  if (name == "kld" || given == "KLD" || name == "kl_divergence" || name == "kullback_leibler_divergence"
      || given == "KLDivergence")
    return "kl_divergence";
  return name;
}

}  // namespace keras_losses

int keras_translation::record_loss(keras_value const& output, keras_object const& loss, double weight,
                                   std::string const& name) {
  keras_fields const f(loss.config, origin_ + ", loss " + name, version_);
  std::string const reduction = f.text({"reduction"}, "sum_over_batch_size");
  if (reduction != "sum_over_batch_size" && reduction != "auto" && reduction != "mean"
      && reduction != "mean_with_sample_weight")
    f.refuse("Cohort's losses are means over the examples", "sum_over_batch_size", reduction);
  if (auto const type = f.object({"dtype"}))
    if (type->class_name != "float32" && type->class_name != "DTypePolicy")
      f.refuse("Cohort computes imported models in float32", "float32", type->class_name);
  std::string const kind = keras_losses::name_of(loss.class_name);
  // Keras 2.11 to 2.15 also write the class's function.
  if (auto const function = f.object({"fn"}); function && function->class_name != kind)
    f.refuse("the function of the loss is not that of its class", kind, function->class_name);
  bool const from_logits = f.flag({"from_logits"}, false);
  std::string const applied = output.slot->activation;
  // Returns the tensor before the activation `activation`, which the loss contains.
  auto const logits = [&](char const* activation) {
    if (from_logits) {
      if (!applied.empty())
        f.refuse("the loss expects logits, but its input has an activation", "from_logits=False", applied);
      return id_of(output);
    }
    if (applied != activation)
      f.refuse(
          std::string("Cohort's ") + kind + " contains its activation, which must be the last of the network",
          activation, applied.empty() ? "none" : applied);
    return output.slot->logits;
  };
  auto const axis = f.find({"axis"});
  if (axis && kind.ends_with("categorical_crossentropy")
      && !is_channel_axis(static_cast<int>(axis->integer(-8, 8)), output))
    f.refuse("Cohort's classes are the channels", "the channel axis", std::to_string(axis->integer(-8, 8)));
  keras_layer_state state;
  state.path = name;
  auto* const before = std::exchange(state_, &state);
  auto const suffix_before = std::exchange(suffix_, {});
  int id = -1;
  if (kind == "categorical_crossentropy" || kind == "sparse_categorical_crossentropy") {
    f.expect_unset({"ignore_class"}, "ignored classes are not imported");
    id = record(softmax_cross_entropy{.label_smoothing = f.number({"label_smoothing"}, 0), .weight = weight},
                {logits("softmax")}, "loss");
  } else if (kind == "binary_crossentropy") {
    f.expect_unset({"label_smoothing"}, "Cohort's binary cross-entropy has no label smoothing");
    id = record(binary_cross_entropy{.weight = weight}, {logits("sigmoid")}, "loss");
  } else if (kind == "kl_divergence") {
    id = record(kullback_leibler{.weight = weight}, {logits("softmax")}, "loss");
  } else if (kind == "mean_squared_error") {
    id = record(mean_squared_error{.weight = weight}, {id_of(output)}, "loss");
  } else if (kind == "mean_absolute_error") {
    id = record(mean_absolute_error{.weight = weight}, {id_of(output)}, "loss");
  } else if (kind == "huber") {
    id = record(huber{.delta = f.number({"delta"}, 1), .weight = weight}, {id_of(output)}, "loss");
  } else if (kind == "hinge") {
    id = record(hinge{.weight = weight}, {id_of(output)}, "loss");
  } else {
    f.refuse("Cohort has no loss " + loss.class_name,
             "cross-entropies, MSE, MAE, Huber, hinge or KL divergence; or keras_options::training false",
             loss.class_name);
  }
  f.expect_read(true);
  // If the loss contains the last activation, the loss node has the activation layer's output, so it is
  // published under that layer's name.
  bool const contains_activation = output.slot->id < 0 && output.slot->logits == net_.view().inputs(id)[0];
  if (contains_activation && !output.slot->name.empty()) publish(id, output.slot->name);
  suffix_ = suffix_before;
  state_ = before;
  return id;
}

void keras_translation::read_training(io::json_value compile, values& outputs,
                                      std::vector<std::string> const& names, std::vector<int>& ids) {
  // The losses of the outputs: one for all, a list, or by name.
  std::vector<std::optional<keras_object>> losses(outputs.size());
  std::vector<double> weights(outputs.size(), 1);
  auto const index_of = [&](io::json_value named) {
    auto const found = std::ranges::find(names, named.key());
    if (found == names.end()) named.refuse("the name of an output of the network", std::string(named.key()));
    return static_cast<std::size_t>(found - names.begin());
  };
  auto const loss = compile.find("loss");
  if (loss && !loss->is_null()) {
    bool const is_one = loss->kind() == io::json_kind::string
                        || (loss->kind() == io::json_kind::object && loss->find("class_name"));
    if (is_one) {
      for (auto& one : losses) one = read_keras_object(*loss);
    } else if (loss->kind() == io::json_kind::array) {
      if (loss->size() != outputs.size()) loss->refuse("one loss for each output");
      for (std::size_t i = 0; i < outputs.size(); ++i) losses[i] = read_keras_object(loss->at(i));
    } else {
      for (io::json_value const one : loss->items()) losses[index_of(one)] = read_keras_object(one);
    }
  }
  if (auto const given = compile.find("loss_weights"); given && !given->is_null()) {
    if (given->kind() == io::json_kind::array) {
      if (given->size() != outputs.size()) given->refuse("one weight for each output");
      for (std::size_t i = 0; i < outputs.size(); ++i) weights[i] = given->at(i).number();
    } else if (given->kind() == io::json_kind::number) {
      weights.assign(weights.size(), given->number());
    } else {
      for (io::json_value const one : given->items()) weights[index_of(one)] = one.number();
    }
  }
  std::size_t first_loss = outputs.size();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (losses[i]) first_loss = std::min(first_loss, i);
    ids.push_back(losses[i] ? record_loss(outputs[i], *losses[i], weights[i], names[i]) : id_of(outputs[i]));
  }
  bool const has_loss = first_loss < outputs.size();
  if (has_loss && how_.optimizer) read_optimizer(compile);
  if (has_loss && how_.metrics) read_metrics(compile, names, first_loss);
}

// ---- optimizers ------------------------------------------------------------------------------------------

rate_schedule keras_translation::read_rate(keras_fields const& of) const {
  auto const found = of.find({"learning_rate", "lr"});
  double const decay = of.number({"decay"}, 0);
  if (!found) of.refuse("the optimizer has no learning_rate", "a number or a schedule", "none");
  if (found->kind() == io::json_kind::number) {
    if (decay == 0) return found->number();
    return schedule::inverse{
        .initial = found->number(), .gamma = decay, .power = 1, .by = schedule::unit::step};
  }
  if (decay != 0)
    of.refuse("Keras multiplies the schedule by a decay, Cohort's schedules have none", "decay 0",
              "decay " + std::to_string(decay));
  auto const object = read_keras_object(*found);
  keras_fields const f(object->config, of.where() + ", learning_rate", version_);
  std::string const& name = object->class_name;
  auto const rate = [&] { return f.number({"initial_learning_rate"}, 0.01); };
  auto const steps = [&](std::string_view field) { return f.count({field}); };
  auto const with = [&](rate_schedule made) {
    f.expect_read(true);
    return made;
  };
  constexpr auto by = schedule::unit::step;
  if (name == "ExponentialDecay") {
    double const factor = f.number({"decay_rate"}, 0.96);
    if (f.flag({"staircase"}, false))
      return with(
          schedule::step{.initial = rate(), .factor = factor, .every = steps("decay_steps"), .by = by});
    return with(
        schedule::exponential{.initial = rate(),
                              .factor = std::pow(factor, 1 / static_cast<double>(steps("decay_steps"))),
                              .by = by});
  }
  if (name == "InverseTimeDecay") {
    f.expect_unset({"staircase"}, "Cohort has no inverse schedule in steps");
    return with(
        schedule::inverse{.initial = rate(),
                          .gamma = f.number({"decay_rate"}, 0) / static_cast<double>(steps("decay_steps")),
                          .power = 1,
                          .by = by});
  }
  if (name == "PolynomialDecay") {
    f.expect_unset({"cycle"}, "Cohort has no polynomial schedule with cycles");
    if (f.number({"end_learning_rate"}, 1e-4) != 0)
      f.refuse("Cohort's polynomial schedule ends at 0", "end_learning_rate 0",
               std::to_string(f.number({"end_learning_rate"}, 1e-4)));
    return with(schedule::polynomial{
        .initial = rate(), .length = steps("decay_steps"), .power = f.number({"power"}, 1), .by = by});
  }
  if (name == "CosineDecay") {
    // Without a target, Keras ignores warmup_steps.
    if (auto const target = f.find({"warmup_target"}))
      f.refuse("Keras decays after the warm-up, Cohort's schedule starts with it", "warmup_target None",
               "warmup_target " + std::to_string(target->number()));
    (void)f.find({"warmup_steps"});
    return with(schedule::cosine{.initial = rate(),
                                 .length = steps("decay_steps"),
                                 .floor = rate() * f.number({"alpha"}, 0),
                                 .by = by});
  }
  if (name == "CosineDecayRestarts") {
    if (f.number({"m_mul"}, 1) != 1)
      f.refuse("Cohort's restarts have the same initial rate", "m_mul 1",
               "m_mul " + std::to_string(f.number({"m_mul"}, 1)));
    return with(schedule::cosine{.initial = rate(),
                                 .length = steps("first_decay_steps"),
                                 .floor = rate() * f.number({"alpha"}, 0),
                                 .restarts = true,
                                 .growth = f.number({"t_mul"}, 2),
                                 .by = by});
  }
  if (name == "PiecewiseConstantDecay") {
    auto const boundaries = f.find({"boundaries"}), values = f.find({"values"});
    if (!boundaries || !values || values->size() != boundaries->size() + 1
        || values->size() > schedule::map::capacity)
      f.refuse("a piecewise schedule is imported only with up to 8 values", "boundaries, and one value more",
               values ? std::to_string(values->size()) + " values" : std::string("no values"));
    schedule::map made{.by = by};
    for (std::size_t i = 0; i < values->size(); ++i) {
      // The learning rate changes after the step with the number of the boundary.
      made.values[i].from = i == 0 ? 0 : keras_whole_number(boundaries->at(i - 1), std::int64_t{1} << 53) + 1;
      made.values[i].value = values->at(i).number();
    }
    return with(made);
  }
  f.refuse("the schedule " + name + " is not imported",
           "a number, or ExponentialDecay, InverseTimeDecay, PolynomialDecay, CosineDecay or "
           "PiecewiseConstantDecay",
           name);
}

void keras_translation::read_optimizer(io::json_value compile) {
  auto given = compile.find("optimizer");
  if (!given || given->is_null()) given = compile.find("optimizer_config");
  if (!given || given->is_null()) return;
  auto const object = read_keras_object(*given);
  std::string name = object->class_name;
  // Keras 2.11 to 2.15 write registered names into .h5 files.
  if (std::string_view const package = "Custom>"; name.starts_with(package)) name.erase(0, package.size());
  bool const is_named = !object->config.has_value();
  keras_fields const f(object->config, origin_ + ", optimizer " + name, version_);
  constexpr char const* instead = "keras_options::optimizer false, and training_settings of your own";
  std::string lower = name;
  for (char& letter : lower)
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  if (is_named && lower != "sgd" && lower != "adam" && lower != "adamw" && lower != "adamax")
    f.refuse("the optimizer is given by its name only", instead, name);
  f.expect_unset({"use_ema"}, "Cohort has no moving average of parameters");
  f.expect_unset({"gradient_accumulation_steps"}, "Cohort accumulates by fit_settings::accumulate");
  f.expect_unset({"loss_scale_factor"}, "Cohort computes in float32");
  double const decay = f.number({"weight_decay"}, 0);
  double const epsilon = f.number({"epsilon"}, 1e-7);
  if (!(epsilon > 0)) f.refuse("ε is not positive", "a number above 0", std::to_string(epsilon));
  bool const is_scheduled =
      f.find({"learning_rate", "lr"}) && f.find({"learning_rate", "lr"})->kind() != io::json_kind::number;
  rate_schedule const rate = is_named ? rate_schedule(lower == "sgd" ? 0.01 : 1e-3) : read_rate(f);
  double const beta1 = f.number({"beta_1"}, 0.9),
               beta2 = f.number({"beta_2"}, lower == "lion" ? 0.99 : 0.999);
  bool const decays_itself = lower == "adam" || lower == "adamw" || lower == "lion";
  if (decay != 0 && !decays_itself)
    f.refuse("weight_decay is imported only for Adam, AdamW and Lion", instead, name);
  if (lower == "sgd") {
    double const momentum = f.number({"momentum"}, 0);
    if (momentum != 0 && (is_scheduled || f.number({"decay"}, 0) != 0))
      f.refuse(
          "Keras multiplies the velocity's gradients by the rate of their step, Cohort the velocity by the "
          "rate of now",
          instead, "momentum and a schedule");
    if (momentum == 0)
      settings_.optimizer.rule = sgd{.learning_rate = rate};
    else if (f.flag({"nesterov"}, false))
      settings_.optimizer.rule = nesterov{.learning_rate = rate, .momentum = momentum};
    else
      settings_.optimizer.rule = cohort::momentum{.learning_rate = rate, .momentum = momentum};
  } else if (lower == "adam" || lower == "adamw") {
    double const own_decay = lower == "adamw" ? f.number({"weight_decay"}, 0.004) : decay;
    bool const is_amsgrad = f.flag({"amsgrad"}, false);
    if (is_amsgrad && own_decay != 0)
      f.refuse("Cohort's amsgrad has no weight decay", instead, "weight_decay " + std::to_string(own_decay));
    if (is_amsgrad)
      settings_.optimizer.rule = amsgrad{
          .learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = 0, .epsilon_hat = epsilon};
    else if (own_decay != 0)
      settings_.optimizer.rule = adamw{.learning_rate = rate,
                                       .beta1 = beta1,
                                       .beta2 = beta2,
                                       .epsilon = 0,
                                       .decay = own_decay,
                                       .epsilon_hat = epsilon};
    else
      settings_.optimizer.rule =
          adam{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = 0, .epsilon_hat = epsilon};
  } else if (lower == "adamax") {
    settings_.optimizer.rule =
        adamax{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon};
  } else if (lower == "adagrad") {
    // Keras adds ε under the root, which equals an initial value of the accumulators that is larger by ε.
    // Keras before 2.11 and the legacy optimizers of later versions, whose files lack is_legacy_optimizer,
    // add ε to the root. Keras without TensorFlow initialises the accumulators with 0.
    bool const is_since_2_11 = version_ == 3 || (version_ == 2 && keras_minor_ >= 11);
    bool const is_below_root = version_ == 3 || (is_since_2_11 && !f.flag({"is_legacy_optimizer"}, true));
    double const initial = f.number({"initial_accumulator_value"}, is_since_2_11 ? 0.1 : 0);
    constexpr double negligible = 1e-30;
    settings_.optimizer.rule =
        is_below_root ? adagrad{.learning_rate = rate, .epsilon = negligible, .initial = initial + epsilon}
                      : adagrad{.learning_rate = rate, .epsilon = epsilon, .initial = initial};
  } else if (lower == "adadelta") {
    settings_.optimizer.rule =
        adadelta{.learning_rate = rate, .rho = f.number({"rho"}, 0.95), .epsilon = epsilon};
  } else if (lower == "lion") {
    settings_.optimizer.rule = lion{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .decay = decay};
  } else if (lower == "lamb") {
    if (has_other_groups_)
      f.refuse("Keras' norms of the arrays of a GRU are of other groups than Cohort's", instead, name);
    settings_.optimizer.rule =
        lamb{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .decay = 0};
  } else if (lower == "rmsprop") {
    f.refuse("Keras' RMSprop adds ε below the root, Cohort's behind it", instead, name);
  } else if (lower == "nadam") {
    f.refuse("Keras' Nadam has a schedule of β₁, Cohort's has none", instead, name);
  } else {
    f.refuse("Cohort has no optimizer " + name, instead, name);
  }

  for (std::string_view const field :
       {"ema_momentum", "ema_overwrite_frequency", "is_legacy_optimizer", "jit_compile", "nesterov"})
    (void)f.find({field});
  double const by_value = f.number({"clipvalue"}, 0), by_norm = f.number({"clipnorm"}, 0),
               globally = f.number({"global_clipnorm"}, 0);
  f.expect_read(true);
  if (by_value != 0 || by_norm != 0 || globally != 0) {
    bool has_penalty = false;
    for (auto const& [node, row] : overrides_)
      has_penalty = has_penalty || row.l1 || row.l2 || row.bias_l1 || row.bias_l2;
    if (has_penalty)
      f.refuse("Keras clips the gradient with the penalties, Cohort without them", instead,
               "clipping and regularizers");
    if (by_norm != 0 && has_other_groups_)
      f.refuse("Keras clips the arrays of a GRU in other groups than Cohort", instead, "clipnorm");
    settings_.optimizer.normalisation =
        by_value != 0  ? gradient_normalisation(normalise::clip_elementwise{by_value})
        : by_norm != 0 ? gradient_normalisation(normalise::clip_l2_per_parameter{by_norm})
                       : gradient_normalisation(normalise::clip_global_norm{globally});
  }
}

// ---- metrics ---------------------------------------------------------------------------------------------

/// Reads the metrics. Cohort computes metrics for the first loss only.
void keras_translation::read_metrics(io::json_value compile, std::vector<std::string> const& names,
                                     std::size_t first_loss) {
  std::string const where = origin_ + ", metrics";
  constexpr char const* instead = "; or keras_options::metrics false";
  if (auto const weighted = compile.find("weighted_metrics");
      weighted && !weighted->is_null() && weighted->size() > 0)
    refuse_keras(where, "weighted metrics are not imported", std::string("no weighted_metrics") + instead,
                 std::to_string(weighted->size()));
  auto const given = compile.find("metrics");
  if (!given || given->is_null()) return;
  auto const is_metric = [](io::json_value at) {
    return at.kind() == io::json_kind::string
           || (at.kind() == io::json_kind::object && at.find("class_name"));
  };
  auto const add = [&](io::json_value at, std::string const& output) {
    if (at.is_null()) return;
    std::vector<io::json_value> all;
    if (is_metric(at))
      all.push_back(at);
    else if (at.kind() == io::json_kind::array)
      for (io::json_value const one : at.items()) all.push_back(one);
    else
      at.refuse("the names of metrics");
    for (io::json_value const one : all) {
      if (one.is_null()) continue;
      if (!is_metric(one)) one.refuse("the name of a metric");
      keras_object const metric = *read_keras_object(one);
      if (output != names[first_loss])
        refuse_keras(where, "the metrics are of several outputs",
                     "metrics of the first output with a loss, " + names[first_loss] + instead,
                     metric.class_name + " of " + output);
      metrics_.push_back(metric_of(metric));
    }
  };
  if (given->kind() == io::json_kind::object && !is_metric(*given)) {
    for (io::json_value const one : given->items()) add(one, std::string(one.key()));
    return;
  }
  if (names.size() == 1) {
    bool const is_nested = given->kind() == io::json_kind::array && given->size() == 1
                           && given->at(std::size_t{0}).kind() == io::json_kind::array;
    add(is_nested ? given->at(std::size_t{0}) : *given, names[0]);
    return;
  }
  // The list has one entry per output. In Keras 1 and 2, a flat list applies to each output.
  if (given->kind() != io::json_kind::array) given->refuse("a list of metrics, or metrics by output");
  bool const is_nested = given->size() > 0 && given->at(std::size_t{0}).kind() == io::json_kind::array;
  if (version_ < 3 && !is_nested) {
    for (std::string const& name : names) add(*given, name);
    return;
  }
  if (given->size() > names.size()) given->refuse("one entry for each output");
  for (std::size_t i = 0; i < given->size(); ++i) add(given->at(i), names[i]);
}

metric keras_translation::metric_of(keras_object const& from) const {
  std::string const where = origin_ + ", metric " + from.class_name;
  keras_fields const f(from.config, where, version_);
  // A function in a wrapper: {"class_name": "MeanMetricWrapper", "config": {"fn": …}}.
  if (from.class_name == "MeanMetricWrapper")
    if (auto const inner = f.object({"fn"})) {
      metric made = metric_of(*inner);
      f.expect_read(true);
      return made;
    }
  std::string const name = keras_losses::name_of(from.class_name);
  auto const is = [&](auto... names) { return ((name == names) || ...); };
  auto const with = [&](metric made) {
    f.expect_unset({"from_logits"}, "the metric reads logits, Cohort's read probabilities");
    f.expect_read(true);
    return made;
  };
  if (is("accuracy", "acc", "categorical_accuracy", "sparse_categorical_accuracy"))
    return with(cohort::metrics::accuracy);
  if (is("binary_accuracy")) {
    if (double const threshold = f.number({"threshold"}, 0.5); threshold != 0.5)
      f.refuse("Cohort's accuracy has the threshold 0.5", "threshold 0.5", std::to_string(threshold));
    return with(cohort::metrics::accuracy);
  }
  if (is("mean_absolute_error")) return with(cohort::metrics::mae);
  if (is("root_mean_squared_error")) return with(cohort::metrics::rmse);
  if (is("auc", "au_c")) {
    // Keras approximates the area with these thresholds. Cohort's area is exact.
    (void)f.find({"num_thresholds", "thresholds"});
    if (std::string const curve = f.text({"curve"}, "ROC"); curve != "ROC")
      f.refuse("Cohort has the area under the ROC curve", "curve ROC", curve);
    if (std::string const sum = f.text({"summation_method"}, "interpolation"); sum != "interpolation")
      f.refuse("Cohort computes the AUC by linear interpolation only", "summation_method interpolation", sum);
    return with(cohort::metrics::auc);
  }
  if (is("r2_score", "r2score")) {
    if (std::string const mean = f.text({"class_aggregation"}, "uniform_average"); mean != "uniform_average")
      f.refuse("Cohort's R2 is the mean over the outputs", "class_aggregation uniform_average", mean);
    return with(cohort::metrics::r2);
  }
  if (is("top_kcategorical_accuracy", "top_k_categorical_accuracy", "sparse_top_kcategorical_accuracy",
         "sparse_top_k_categorical_accuracy"))
    return with(cohort::metrics::top_k(f.integer({"k"}, 5)));
  if (is("categorical_crossentropy", "sparse_categorical_crossentropy")) {
    if (int const axis = f.integer({"axis"}, -1); axis != -1)
      f.refuse("Cohort's classes are the last axis", "axis -1", std::to_string(axis));
    return with(cohort::metrics::log_loss);
  }
  refuse_keras(origin_ + ", metrics", "the metric " + from.class_name + " is not imported",
               "accuracy, MAE, RMSE, AUC, R2 or top-k accuracy; or keras_options::metrics false",
               from.class_name);
}

}  // namespace cohort::detail
