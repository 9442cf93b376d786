// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/random/stream.hpp>
#include <numeric>

namespace cohort::detail {

/// Initial values by a filler of Caffe (filler.hpp), for a blob with these extents.
caffe_importer::filling caffe_importer::filled(prototxt_message const& filler, extents const& dims) {
  static constexpr std::array<std::string_view, 8> names{"type", "value", "min",    "max",
                                                         "mean", "std",   "sparse", "variance_norm"};
  filler.expect_only(names);
  std::string const type = filler.text("type", "constant");
  std::int64_t const count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  if (count < 1 || count > max_caffe_elements)
    refuse("a parameter is too large, or empty", {"1 to ", max_caffe_elements, " elements"}, dims_text(dims));
  if (type == "constant") {
    double const value = filler.number("value", 0);
    expect_f32(value, "value");
    return {.rule = init::constant{value}};
  }
  auto const checked = [&](initialiser rule) {
    if (!std::isfinite(rule.parameter) || rule.parameter < 0)
      filler.refuse("type", "the filler is out of range", "a finite range or deviation of at least 0",
                    {rule.parameter});
    return filling{.rule = rule};
  };
  double const fan_in = static_cast<double>(count / dims[0]),
               fan_out = static_cast<double>(dims.size() > 1 ? count / dims[1] : count);
  std::string const norm = filler.text("variance_norm", "FAN_IN");
  double const fan = norm == "AVERAGE" || norm == "2"   ? (fan_in + fan_out) / 2
                     : norm == "FAN_OUT" || norm == "1" ? fan_out
                                                        : fan_in;
  if (norm != "AVERAGE" && norm != "FAN_OUT" && norm != "FAN_IN" && norm != "0" && norm != "1" && norm != "2")
    filler.refuse("variance_norm", "the value is unknown", "FAN_IN, FAN_OUT or AVERAGE",
                  quote_for_error(norm));
  double const least = filler.number("min", 0), most = filler.number("max", 1),
               mean = filler.number("mean", 0), deviation = filler.number("std", 1);
  expect_f32(least, "min"), expect_f32(most, "max"), expect_f32(mean, "mean"), expect_f32(deviation, "std");
  std::int64_t const sparse = filler.integer("sparse", -1);
  if (sparse >= 0 && type != "gaussian")
    filler.refuse("sparse", "only the filler gaussian is sparse", "type gaussian", quote_for_error(type));
  if (type == "xavier") return checked(init::uniform{std::sqrt(3 / fan)});
  if (type == "msra") return checked(init::normal{std::sqrt(2 / fan)});
  if (type == "uniform" && least == -most) return checked(init::uniform{most});
  if (type == "gaussian" && mean == 0 && sparse < 0) return checked(init::normal{deviation});

  filling result{.has_initialiser = false};
  std::vector<float>& values = result.values;
  count_computed(static_cast<std::size_t>(count));
  values.resize(static_cast<std::size_t>(count));
  random_stream const stream(settings_.seed, "caffe filler", fillings_++);
  std::size_t const row = values.size() / static_cast<std::size_t>(dims[0]);
  auto const each = [&](auto element) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(element(i));
  };
  if (type == "uniform") {
    each([&](std::size_t i) { return least + (most - least) * stream.uniform01<double>(i); });
  } else if (type == "gaussian") {
    each([&](std::size_t i) { return mean + deviation * stream.normal<double>(i); });
    random_stream const kept(settings_.seed, "caffe sparsity", fillings_);
    double const share = static_cast<double>(sparse) / static_cast<double>(dims[0]);
    for (std::size_t i = 0; sparse >= 0 && i < values.size(); ++i)
      if (kept.uniform01<double>(i) >= share) values[i] = 0;
  } else if (type == "positive_unitball") {
    each([&](std::size_t i) { return stream.uniform01<double>(i); });
    for (std::size_t r = 0; r < values.size(); r += row) {
      float const sum = std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(r),
                                        values.begin() + static_cast<std::ptrdiff_t>(r + row), 0.0F);
      for (std::size_t i = r; i < r + row; ++i) values[i] /= sum;
    }
  } else if (type == "bilinear") {
    if (dims.size() != 4 || dims[2] != dims[3])
      filler.refuse("type", "a bilinear filler needs square kernels", "K x C x R x R", dims_text(dims));
    std::size_t const width = static_cast<std::size_t>(dims[3]);
    double const f = std::ceil(static_cast<double>(width) / 2),
                 c = (static_cast<double>(width) - 1) / (2 * f);
    each([&](std::size_t i) {
      double const x = static_cast<double>(i % width), y = static_cast<double>(i / width % width);
      return (1 - std::abs(x / f - c)) * (1 - std::abs(y / f - c));
    });
  } else {
    filler.refuse("type", "the filler is unknown",
                  "constant, uniform, gaussian, xavier, msra, positive_unitball or bilinear",
                  quote_for_error(type));
  }
  return result;
}

/// The initialiser of a filling; none if its values are computed at import.
std::optional<initialiser> caffe_importer::initial(filling const& from) {
  return from.has_initialiser ? std::optional(from.rule) : std::nullopt;
}

void caffe_importer::count_computed(std::size_t values) {
  computed_ += values;
  if (computed_ > max_caffe_computed)
    refuse("too many parameters are computed at import", {"at most ", max_caffe_computed},
           {computed_, "; use fillers that are initialisers: docs/caffe.md"});
}

/// Replaces an initialiser by values.
void caffe_importer::compute(filling& fill, extents const& dims) {
  if (!fill.has_initialiser) return;
  std::int64_t const count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  fill.has_initialiser = false;
  count_computed(static_cast<std::size_t>(count));
  fill.values.resize(static_cast<std::size_t>(count));
  cohort::fill(fill.rule, std::span<float>(fill.values), 1, 1, checked_shape({count}),
               random_stream(settings_.seed, "caffe filler", fillings_++));
}

/// Returns the node whose parameters the current layer shares by their names; −1: its own. `transposed`: how
/// the blob of the current layer's weights is stored, see caffe_parameter_blob.
int caffe_importer::shared_owner(std::size_t blobs, bool transposed) const {
  int owner = -1;
  std::size_t found_names = 0;
  auto const params = layer_->message.messages("param");
  for (std::size_t p = 0; p < params.size() && p < blobs; ++p) {
    std::string const name = params[p]->text("name");
    auto const found = name.empty() ? shared_.end() : shared_.find(name);
    if (found == shared_.end()) continue;
    ++found_names;
    if ((owner >= 0 && owner != found->second.first) || found->second.second != p)
      refuse("the layer shares parameters with several layers", "the parameters of one layer, in its order",
             quote_for_error(name));
    owner = found->second.first;
  }
  if (owner >= 0 && found_names != blobs)
    refuse("the layer shares some of its parameters", {"all of its ", blobs, " parameters"}, {found_names});
  for (caffe_parameter_blob const& each : parameters_)
    if (each.node == owner && each.index == 0 && each.transposed != transposed)
      refuse("the layer shares weights that it uses transposed", "layers of one type, with equal transpose",
             quote_for_error(each.layer));
  return owner;
}

/// Registers parameter `name` of a node as blob `index` of the current layer.
void caffe_importer::parameter(int id, std::string_view name, std::size_t index, extents dims,
                               filling const& fill, caffe_parameter_blob form) {
  form.layer = layer_->name;
  form.type = layer_->type;
  form.index = index;
  form.node = id;
  form.parameter = name;
  for (parameter_spec const& spec : net_.view().parameters(id))
    if (spec.name == name) form.parameter_dims = spec.dims;
  std::int64_t const count = elements_of(dims);
  if (!form.transposed && form.total == 1 && form.rows == 1) form.rows = count;
  form.dims = std::move(dims);
  if (!fill.has_initialiser) filled_.emplace_back(form, fill.values);
  auto const params = layer_->message.messages("param");
  if (index < params.size())
    if (std::string const shared = params[index]->text("name"); !shared.empty())
      shared_.try_emplace(shared, id, index);
  parameters_.push_back(std::move(form));
}

void caffe_importer::constant(int id, std::string_view name, std::vector<float> values) {
  constants_.emplace_back(id, std::string(name), std::move(values));
}
void caffe_importer::constant(int id, std::string_view name, float value) {
  for (parameter_spec const& spec : net_.view().parameters(id))
    if (spec.name == name) {
      count_computed(static_cast<std::size_t>(spec.dims.elements()));
      constant(id, name, std::vector<float>(static_cast<std::size_t>(spec.dims.elements()), value));
    }
}

void caffe_importer::set_rates(int id, caffe_rates own) {
  if (!(own == caffe_rates{})) rates_.emplace_back(id, std::move(own));
}

/// Reads lr_mult and decay_mult of the current layer's blobs from `which` on. `is_bias`: for each of them.
void caffe_importer::rates(int id, std::initializer_list<bool> is_bias, std::size_t which) {
  auto const params = layer_->message.messages("param");
  caffe_rates own;
  std::array<bool, 2> seen{};
  for (bool const bias : is_bias) {
    prototxt_message const* const param = which < params.size() ? params[which] : nullptr;
    ++which;
    double const rate = param ? param->number("lr_mult", 1) : 1,
                 decay = param ? param->number("decay_mult", 1) : 1;
    if (!(rate >= 0 && decay >= 0 && rate < 1e9 && decay < 1e9))
      param->refuse("lr_mult", "lr_mult or decay_mult is out of range", "at least 0", {rate, " and ", decay});
    double& own_rate = bias ? own.bias_rate : own.weights_rate;
    double& own_decay = bias ? own.bias_decay : own.weights_decay;
    if (seen[bias] && (own_rate != rate || own_decay != decay))
      refuse("parameters of one role have different lr_mult or decay_mult", {own_rate, " and ", own_decay},
             {rate, " and ", decay});
    seen[bias] = true;
    own_rate = rate, own_decay = decay;
  }
  set_rates(id, own);
}

void caffe_importer::store_parameters(caffe_model& result, std::vector<caffe_trained_layer> const& trained,
                                      std::string const& weights) const {
  std::map<std::string_view, caffe_trained_layer const*> layers;
  for (caffe_trained_layer const& each : trained)
    if (!layers.try_emplace(each.name, &each).second)
      throw data_error({.what = "two layers of the .caffemodel have the same name",
                        .where = weights,
                        .expected = "unique names",
                        .got = quote_for_error(each.name)});
  auto const name_of = [&](int id, std::string const& parameter) { return names_.at(id) + '.' + parameter; };
  std::map<std::string, std::pair<shape, std::vector<float>>> values;
  std::map<std::string_view, std::size_t> counts;
  for (caffe_parameter_blob const& each : parameters_) {
    std::size_t const blobs = each.index + (each.divided ? 3 - each.index : 1);
    counts[each.layer] = std::max(counts[each.layer], blobs);
  }
  auto const fill_in = [&](caffe_parameter_blob const& each, std::span<float const> blob, float factor) {
    auto& [dims, into] = values[name_of(each.node, each.parameter)];
    dims = each.parameter_dims;
    into.resize(static_cast<std::size_t>(dims.elements()));
    each.store(blob, factor, into);
  };
  for (auto const& [each, blob] : filled_)
    if (!layers.contains(each.layer)) fill_in(each, blob, 1);
  for (caffe_parameter_blob const& each : parameters_) {
    result.parameters.push_back(each);
    result.parameters.back().parameter = name_of(each.node, each.parameter);
    auto const found = layers.find(each.layer);
    if (found == layers.end()) continue;
    std::vector<caffe_blob> const& blobs = found->second->blobs;
    auto const refuse_blobs = [&](clause problem, clause expected, clause got) {
      throw data_error({.what = std::move(problem),
                        .where = {weights, ", layer ", quote_for_error(each.layer), ", blob ", each.index},
                        .expected = std::move(expected),
                        .got = std::move(got)});
    };
    if (blobs.size() != counts[each.layer])
      refuse_blobs("the .caffemodel has another number of blobs than the network", {counts[each.layer]},
                   {blobs.size()});
    caffe_blob const& blob = blobs[each.index];
    extents have = blob.dims;
    if (blob.is_legacy && have.size() > each.dims.size())  // older files have four extents for all blobs
      while (have.size() > each.dims.size() && have[0] == 1) have.erase(have.begin());
    if (have != each.dims)
      refuse_blobs("the blob of the .caffemodel has another shape than the network", dims_text(each.dims),
                   dims_text(blob.dims));
    float factor = 1;
    if (each.divided) {
      if (blobs[2].values.size() != 1)
        refuse_blobs("the factor of BatchNorm is no number", "1 value", {blobs[2].values.size()});
      factor = blobs[2].values[0] == 0 ? 0 : 1 / blobs[2].values[0];
    }
    fill_in(each, blob.values, factor);
  }
  for (auto const& [id, parameter, constants] : constants_)
    for (parameter_spec const& spec :
         result.model.network().view().parameters(result.model.network().view().find(names_.at(id))))
      if (spec.name == parameter) values[name_of(id, parameter)] = {spec.dims, constants};
  for (auto& [name, value] : values) result.model.set(name, value.first, std::move(value.second));
}

// ---- layers with parameters per channel ----
void caffe_importer::prelu() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  bool const is_shared = param_.boolean("channel_shared", false);
  prototxt_message filler = param_.message("filler");
  if (!param_.has("filler")) filler.add({.name = "value", .text = "0.25"});
  int const from = over_channels(value, axis_of(1, value.dims.size()));
  extents const dims{is_shared ? 1 : value.dims[1]};
  filling const slope = filled(filler, dims);
  int const owner = shared_owner(1);
  int const result = append("prelu", {from}, {{"per_channel", {is_shared ? 0.0 : 1.0}}},
                            owner >= 0 ? layer_settings{} : layer_settings{.bias = initial(slope)}, owner);
  if (owner < 0) {
    parameter(result, "slope", 0, is_shared ? extents{} : dims, slope);
    rates(result, {true});
  }
  set(value, result);
}

void caffe_importer::batch_norm() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  if (value.dims.size() < 2)
    refuse("the bottom has no channels", "N x C or more axes", dims_text(value.dims));
  std::int64_t const channels = value.dims[1];
  if (shared_owner(3) >= 0)
    refuse("the layer shares its statistics", "statistics of its own", "shared parameters");
  int const result = append("batch_norm", {over_channels(value, axis_of(1, value.dims.size()))},
                            {{"momentum", {param_.number("moving_average_fraction", 0.999)}},
                             {"epsilon", {param_.number("eps", 1e-5)}}});
  filling const none;
  parameter(result, "running_mean", 0, {channels}, none, {.divided = true});
  parameter(result, "running_variance", 1, {channels}, none, {.divided = true});
  constant(result, "scale", 1);
  constant(result, "shift", 0);
  bool const is_frozen =
      settings_.state.phase == caffe_state::phases::train && param_.boolean("use_global_stats", false);
  set_rates(
      result,
      {.weights_rate = 0, .weights_decay = 0, .bias_rate = 0, .bias_decay = 0, .is_constant = is_frozen});
  if (settings_.state.phase == caffe_state::phases::test && param_.has("use_global_stats")
      && !param_.boolean("use_global_stats", true))
    refuse("the layer normalises by the batch at prediction", "use_global_stats true in the phase TEST",
           "false");
  norms_[result] = {which_, versions_[which_].tops.empty() ? -1 : versions_[which_].tops[0]};
  set(value, result);
}

/// Makes Scale a part of the batch_norm before it, if no other layer reads the normalised blob.
bool caffe_importer::fuse_scale(prototxt_message const& param) {
  caffe_value const value = bottom(0);
  auto const norm = norms_.find(value.id);
  auto const version = versions_[which_].bottoms[0];
  if (norm == norms_.end() || norm->second.second != version
      || readers_[static_cast<std::size_t>(version)] != 1 || !param.boolean("bias_term", false)
      || param.integer("axis", 1) != 1 || param.integer("num_axes", 1) != 1 || shared_owner(2) >= 0)
    return false;
  auto const params = layer_->message.messages("param");
  auto const rate = [&](std::size_t p, char const* name) {
    return p < params.size() ? params[p]->number(name, 1) : 1;
  };
  for (auto const* const each : params)
    if (each->has("name")) return false;
  if (rate(0, "lr_mult") != rate(1, "lr_mult") || rate(0, "decay_mult") != rate(1, "decay_mult"))
    return false;
  auto const own = std::ranges::find(rates_, value.id, &std::pair<int, caffe_rates>::first);
  if (own != rates_.end() && own->second.is_constant) return false;
  prototxt_message filler = param.message("filler");
  if (!param.has("filler")) filler.add({.name = "value", .text = "1"});
  extents const dims{value.dims[1]};
  filling const scale = filled(filler, dims), shift = filled(param.message("bias_filler"), dims);
  auto const is_constant = [](filling const& fill, double wanted) {
    return fill.has_initialiser && fill.rule == initialiser(init::constant{wanted});
  };
  if (!is_constant(scale, 1) || !is_constant(shift, 0)) return false;  // batch_norm starts at these values
  rates_.erase(own);
  std::erase_if(constants_, [&](auto const& each) { return std::get<0>(each) == value.id; });
  parameter(value.id, "scale", 0, dims, scale);
  parameter(value.id, "shift", 1, dims, shift);
  rates(value.id, {true, true});
  norms_.erase(norm);
  set(value, value.id);
  return true;
}

/// Refuses a second bottom unless its extents are the first extents of the other bottom, with the batch.
void caffe_importer::expect_prefix(caffe_value const& value, caffe_value const& by) const {
  int const axis = axis_of(param_.integer("axis", 1), value.dims.size());
  bool const fits = axis == 0 && !by.dims.empty() && by.dims[0] == -1 && by.dims.size() <= value.dims.size()
                    && std::equal(by.dims.begin(), by.dims.end(), value.dims.begin());
  if (!fits)
    refuse("the second bottom does not begin with the batch",
           {"axis 0 and the first extents of ", dims_text(value.dims)},
           {"axis ", axis, " and ", dims_text(by.dims)});
}

void caffe_importer::scale() {
  expect_bottoms(1, 2);
  if (bottoms() == 1) {
    if (!fuse_scale(param_)) learned_affine(param_, true, param_.boolean("bias_term", false));
    return;
  }
  if (param_.boolean("bias_term", false))
    refuse("the factor is a blob, and the bias is learned", "bias_term false, and a Bias layer",
           "bias_term true");
  caffe_value const value = bottom(0), by = bottom(1);
  expect_prefix(value, by);
  std::int64_t const own = elements_of(by.dims), rest = elements_of(value.dims) / own;
  set(value, append("multiply", {as(value, {own, rest, 1}), as(by, {own, 1, 1})}));
}

void caffe_importer::bias() {
  expect_bottoms(1, 2);
  if (bottoms() == 1) return learned_affine(param_, false, true);
  caffe_value const value = bottom(0), by = bottom(1);
  expect_prefix(value, by);
  std::int64_t const own = elements_of(by.dims), rest = elements_of(value.dims) / own;
  set(value, append("add", {as(value, {own, rest, 1}), as(by, {own, 1, 1})}));
}

/// A learned factor, a learned summand, or both, per channel: a convolution of each channel with a kernel of
/// 1.
void caffe_importer::learned_affine(prototxt_message const& param, bool has_factor, bool has_bias) {
  caffe_value const value = bottom(0);
  std::size_t const rank = value.dims.size();
  int const axis = axis_of(param.integer("axis", 1), rank);
  std::int64_t const given = param.integer("num_axes", 1);
  std::int64_t const last = given == -1 ? static_cast<std::int64_t>(rank) : axis + given;
  if (given == 0 || given < -1 || last > static_cast<std::int64_t>(rank))
    refuse("num_axes is out of range", {"1 to ", rank - static_cast<std::size_t>(axis), ", or -1"}, {given});
  around const part = split(value, axis, static_cast<int>(last));
  if (part.before > 1)
    refuse("the layer has axes before its axis", "the first axis besides the batch",
           {"axis ", axis, " of ", dims_text(value.dims)});
  extents const dims(value.dims.begin() + axis, value.dims.begin() + last);
  prototxt_message filler = param.message("filler");
  if (has_factor && !param.has("filler")) filler.add({.name = "value", .text = "1"});
  filling const first = filled(filler, dims),
                shift = has_factor ? filled(param.message("bias_filler"), dims) : first;
  int const owner = shared_owner(has_factor && has_bias ? 2 : 1);
  bool const is_image = dims.size() == 1 && rank == 4 && axis == 1;
  int const from = is_image ? as(value, inner(value)) : as(value, {part.along, part.after, 1});
  double const channels = static_cast<double>(part.along);
  if (!has_bias) {
    int const result = append("scale", {from}, {{"learned", {1}}},
                              owner >= 0 ? layer_settings{} : layer_settings{.bias = initial(first)}, owner);
    if (owner < 0) {
      parameter(result, "factor", 0, dims, first);
      rates(result, {true});
    }
    return set(value, result);
  }
  int const result = append(
      "conv2d", {from}, {{"filters", {channels}}, {"kernel", {1, 1}}, {"groups", {channels}}},
      owner >= 0 ? layer_settings{} : layer_settings{.weights = initial(first), .bias = initial(shift)},
      owner);
  if (owner < 0) {
    if (has_factor) {
      parameter(result, "weights", 0, dims, first);
      parameter(result, "bias", 1, dims, shift);
      rates(result, {false, true});
    } else {
      constant(result, "weights", 1);
      parameter(result, "bias", 0, dims, shift);
      rates(result, {true});
      auto const own = std::ranges::find(rates_, result, &std::pair<int, caffe_rates>::first);
      caffe_rates fixed = own == rates_.end() ? caffe_rates{} : own->second;
      if (own != rates_.end()) rates_.erase(own);
      fixed.weights_rate = fixed.weights_decay = 0;
      set_rates(result, fixed);
    }
  }
  set(value, result);
}

}  // namespace cohort::detail
