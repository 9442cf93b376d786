// SPDX-License-Identifier: Apache-2.0
#include <cohort/caffe/caffe_model.hpp>
#include <utility>

namespace cohort {

training_settings caffe_model::settings_with(std::function<optimizer_rule(double)> const& rule,
                                             double weight_decay) const {
  training_settings result = model.settings;
  result.optimizer.rule = rule(1);
  result.optimizer.l2 = result.optimizer.bias_l2 = weight_decay;
  for (caffe_rates const& each : rates) {
    if (each.is_constant) continue;  // frozen by `model.settings`
    layer_override row{.layer = each.layer};
    if (each.weights_rate != 1) row.rule = rule(each.weights_rate);
    if (each.weights_rate != 1 || each.bias_rate != 1) row.bias_rule = rule(each.bias_rate);
    if (each.weights_decay != 1) row.l2 = weight_decay * each.weights_decay;
    if (each.bias_decay != 1) row.bias_l2 = weight_decay * each.bias_decay;
    result.optimizer.layers.push_back(std::move(row));
  }
  return result;
}

}  // namespace cohort
