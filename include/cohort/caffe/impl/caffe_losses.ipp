// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/detail/json_string.hpp>

namespace cohort::detail {

/// Returns the weight of the loss; none if it is 0, so that the loss has no effect.
std::optional<double> caffe_importer::loss_weight() const {
  std::vector<double> const weights = layer_->message.numbers("loss_weight");
  double const weight = weights.empty() ? 1 : weights[0];
  if (weight == 0) return {};
  if (!(weight > 0)) refuse("loss_weight is negative", "above 0", {weight});
  return weight;
}

/// Appends a loss whose target is bottom `labels`.
void caffe_importer::loss(std::string_view kind, int from, fields with, std::size_t labels, bool one_hot) {
  caffe_value const& target = bottom(labels);
  if (target.source.empty())
    refuse("the target of the loss is computed by the network", "a top of a data layer",
           {quote_for_error(layer_->bottoms[labels]), "; read the target from the data"});
  if (layer_->tops.size() > 1 && is_used(1)
      && readers_[static_cast<std::size_t>(versions_[which_].tops[1])] > 0)
    refuse("another layer reads the second top of the loss", "no reader", "a reader; add a Softmax layer");
  int const result = append(kind, {from}, with);
  targets_.push_back({result, {.top = target.source, .one_hot = one_hot}});
  if (!layer_->tops.empty()) set({.id = result, .dims = {}});
}

/// Returns the normalization of a loss_param: FULL, VALID, BATCH_SIZE or NONE. `otherwise`: without a field.
std::string caffe_importer::normalization(prototxt_message const& param, std::string_view otherwise) {
  static constexpr std::array<std::string_view, 3> names{"ignore_label", "normalization", "normalize"};
  static constexpr std::array<std::string_view, 4> modes{"FULL", "VALID", "BATCH_SIZE", "NONE"};
  param.expect_only(names);
  if (!param.has("normalization") && param.has("normalize"))
    return param.boolean("normalize", true) ? "VALID" : "BATCH_SIZE";
  std::string const mode = param.text("normalization", otherwise);
  for (std::size_t m = 0; m < modes.size(); ++m)
    if (mode == modes[m] || mode == std::to_string(m)) return std::string(modes[m]);
  param.refuse("normalization", "the value is unknown", "FULL, VALID, BATCH_SIZE or NONE",
               quote_for_error(mode));
}

/// Softmax and cross-entropy over one axis; labels are class indices. Normalisation: SoftmaxWithLossLayer.
void caffe_importer::cross_entropy(int id, around const& part, std::size_t labels) {
  std::optional<double> const weight = loss_weight();
  if (!weight) return;
  prototxt_message const param = layer_->message.message("loss_param");
  std::string const mode = normalization(param, "VALID");
  bool const ignores = param.has("ignore_label");
  bool const has_steps = part.before > 1 || part.after > 1;
  // BATCH_SIZE divides by the extents before the axis: by N for an axis 1.
  bool const sums_steps = mode == "BATCH_SIZE" && part.before == 1 && has_steps;
  if (mode == "NONE")
    refuse("the loss is not divided by the number of examples", "normalization VALID, FULL or BATCH_SIZE",
           "NONE; all losses here are means over examples");
  if (ignores && (mode == "FULL" || (mode == "BATCH_SIZE" && !sums_steps)))
    refuse("the loss ignores labels and counts them in its divisor", "normalization VALID",
           {mode, " with ignore_label"});
  if (part.along < 2) refuse("the loss has one class", "2 classes or more", {part.along});
  fields with{{"weight", {*weight}}};
  if (ignores) with.push_back({"ignore_index", {static_cast<double>(param.integer("ignore_label", 0))}});
  if (sums_steps) with.push_back({"sum_steps", {1}});
  loss("softmax_cross_entropy", id, with, labels);
}

void caffe_importer::softmax_loss() {
  expect_bottoms(2, 2);
  caffe_value const value = bottom(0);
  int const axis = axis_of(param_.integer("axis", 1), value.dims.size());
  around const part = split(value, axis);
  int id = -1;
  if (part.before == 1 && part.after > 1) {  // an image of classes: a class for each position
    id = append("permute", {as(value, {part.along, part.after})}, {{"order", {2, 1, 0}}});
  } else {
    id = over_channels(value, axis);
    if (shape_of(id).rank == 3) id = as(id, {part.along});
  }
  cross_entropy(id, part, 1);
}

void caffe_importer::multinomial_loss() {
  expect_bottoms(2, 2);
  caffe_value const value = bottom(0);
  bool const is_softmax = value.id >= 0 && net_.view().kind(value.id).name == "softmax"
                          && readers_[static_cast<std::size_t>(versions_[which_].bottoms[0])] == 1;
  if (!is_softmax)
    refuse("the probabilities are not those of a Softmax layer that only the loss reads",
           "a Softmax layer before the loss", "another layer; use SoftmaxWithLoss");
  if (layer_->message.message("loss_param").has("ignore_label"))
    refuse("Caffe's MultinomialLogisticLoss counts all labels", "no ignore_label, or SoftmaxWithLoss",
           "ignore_label");
  around const part = split(value, 1, static_cast<int>(value.dims.size()));
  int const logits = net_.view().inputs(value.id)[0];
  if (shape_of(logits).rank != 1) refuse("the probabilities have positions", "N x C", dims_text(value.dims));
  cross_entropy(logits, part, 1);
}

void caffe_importer::euclidean_loss() {
  expect_bottoms(2, 2);
  std::optional<double> const weight = loss_weight();
  if (!weight) return;
  std::size_t const target = bottom(1).source.empty() && !bottom(0).source.empty() ? 0 : 1;
  caffe_value const value = bottom(1 - target);
  if (value.dims.empty() || value.dims[0] != -1)
    refuse("the batch is not the first axis", "N x …", dims_text(value.dims));
  std::int64_t const count = elements_of(value.dims);
  loss("mean_squared_error", as(value, {count}), {{"weight", {*weight * static_cast<double>(count) / 2}}},
       target);
}

void caffe_importer::sigmoid_loss() {
  expect_bottoms(2, 2);
  std::optional<double> const weight = loss_weight();
  if (!weight) return;
  prototxt_message const param = layer_->message.message("loss_param");
  if (param.has("ignore_label"))
    refuse("no loss ignores numbers as targets", "no ignore_label", {param.integer("ignore_label", 0)});
  std::string const mode = normalization(param, "BATCH_SIZE");
  if (mode == "NONE")
    refuse("the loss is not divided by the number of examples", "normalization VALID, FULL or BATCH_SIZE",
           "NONE");
  bool const is_mean = mode != "BATCH_SIZE";
  caffe_value const value = bottom(0);
  if (value.dims.empty() || value.dims[0] != -1)
    refuse("the batch is not the first axis", "N x …", dims_text(value.dims));
  std::int64_t const count = elements_of(value.dims);
  loss("binary_cross_entropy", as(value, {count}),
       {{"weight", {is_mean ? *weight : *weight * static_cast<double>(count)}}}, 1);
}

void caffe_importer::hinge_loss() {
  expect_bottoms(2, 2);
  std::optional<double> const weight = loss_weight();
  if (!weight) return;
  if (choice("norm", {"", "L1", "L2"}, 1) == 2) refuse("no loss squares the hinge", "norm L1", "L2");
  caffe_value const value = bottom(0);
  if (value.dims.empty() || value.dims[0] != -1)
    refuse("the batch is not the first axis", "N x …", dims_text(value.dims));
  std::int64_t const count = elements_of(value.dims);
  loss("hinge", as(value, {count}), {{"weight", {*weight * static_cast<double>(count)}}}, 1, true);
}

void caffe_importer::accuracy() {
  expect_bottoms(2, 2);
  caffe_value const scores = bottom(0), labels = bottom(1);
  if (layer_->tops.size() > 1)
    refuse("the layer counts each class separately", "one top",
           {layer_->tops.size(), "; see the confusion matrix"});
  if (labels.source.empty())
    refuse("the labels are computed by the network", "a top of a data layer",
           quote_for_error(layer_->bottoms[1]));
  int const axis = axis_of(param_.integer("axis", 1), scores.dims.size());
  around const part = split(scores, axis);
  std::int64_t const top_k = param_.integer("top_k", 1);
  if (top_k < 1 || top_k > part.along) refuse("top_k is out of range", {"1 to ", part.along}, {top_k});
  caffe_accuracy result{.name = layer_->tops.empty() ? layer_->name : layer_->tops[0],
                        .labels = labels.source,
                        .top_k = static_cast<int>(top_k)};
  if (param_.has("ignore_label")) result.ignored = static_cast<int>(param_.integer("ignore_label", 0));
  scores_.push_back({std::move(result), node(scores), layer_, part.before == 1 && part.after > 1});
}

}  // namespace cohort::detail
