// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <limits>

namespace cohort::detail {

/// Kinds of the activations without attributes, indexed by the template argument of `simple`.
inline constexpr std::array<std::string_view, 6> simple_kinds{"relu",     "sigmoid",  "tanh",
                                                              "softplus", "softsign", "mish"};

template <int Op>
void onnx_importer::simple() {
  set(like(data(0), append(simple_kinds[Op], {data(0).id})));
}
void onnx_importer::leaky_relu() {
  set(like(data(0), append("leaky_relu", {data(0).id}, {{"slope", {real("alpha", 0.01F)}}})));
}
void onnx_importer::elu() {
  set(like(data(0), append("elu", {data(0).id}, {{"alpha", {real("alpha", 1)}}})));
}
void onnx_importer::selu() {
  constexpr double usual_alpha = 1.6732632423543772848, usual_gamma = 1.0507009873554804934;
  bool const is_old = version_ < 6;  // older sets round the defaults
  double const alpha = real("alpha", is_old ? 1.6732F : usual_alpha),
               gamma = real("gamma", is_old ? 1.0507F : usual_gamma);
  if (std::abs(alpha - usual_alpha) < 1e-6 && std::abs(gamma - usual_gamma) < 1e-6)
    return set(like(data(0), append("selu", {data(0).id})));
  int const curve = append("elu", {data(0).id}, {{"alpha", {alpha}}});
  set(like(data(0), append("scale", {curve}, {{"factor", {gamma}}})));
}
void onnx_importer::hard_sigmoid() {
  constexpr double usual_alpha = 0.2, usual_beta = 0.5;
  double const alpha = real("alpha", usual_alpha), beta = real("beta", usual_beta);
  if (!(alpha > 0))
    refuse("no layer has this slope", "an alpha above 0", {"alpha ", alpha}, onnx_remedy::replace);
  onnx_value x = data(0);
  if (std::abs(alpha - usual_alpha) > 1e-7) x = scaled(x, alpha / usual_alpha);
  if (std::abs(beta - usual_beta) > 1e-7) {
    tensor_float const offset{{}, {static_cast<float>((beta - usual_beta) / usual_alpha)}};
    x = affine(x, nullptr, &offset);
  }
  set(like(x, append("hard_sigmoid", {x.id})));
}
/// x·hard_sigmoid(x), with the slope 1/6.
void onnx_importer::hard_swish() {
  int const from = data(0).id, scaled = append("scale", {from}, {{"factor", {1 / 6.0 / 0.2}}});
  set(like(data(0), append("multiply", {from, append("hard_sigmoid", {scaled})})));
}
void onnx_importer::clip() {
  constexpr double most = std::numeric_limits<float>::max(), none = std::numeric_limits<double>::infinity();
  double const low = bound(1, "min").value_or(-none), high = bound(2, "max").value_or(none);
  onnx_value x = data(0);
  if (low == 0 && high == 6) return set(like(x, append("relu6", {x.id})));
  if (low == -1 && high == 1) return set(like(x, append("hard_tanh", {x.id})));
  auto const number = [](double value) { return tensor_float{{}, {static_cast<float>(value)}}; };
  if (low > -most) x = low == 0 ? like(x, append("relu", {x.id})) : at_least(x, number(low));
  set(high < most ? at_most(x, number(high)) : x);
}
void onnx_importer::prelu() {
  onnx_value const& x = data(0);
  tensor_float const slope = numbers(1);
  if (slope.values.size() == 1) {
    int const made = append("prelu", {x.id}, {{"per_channel", {0}}});
    store("slope", {1}, slope.values);
    return set(like(x, made));
  }
  std::size_t const rank = x.dims.size();
  if (slope.dims.size() > rank)
    refuse("the slope has more axes than the input", {"at most ", rank, " axes"}, input_text(1),
           onnx_remedy::check);
  int axis = version_ < 7 && slope.dims.size() == 1 ? 1 : -1;
  for (std::size_t i = 0; i < slope.dims.size() && axis < 0; ++i) {
    if (slope.dims[i] != 1) axis = static_cast<int>(rank - slope.dims.size() + i);
  }
  auto const [before, along, after] = split_at(x, axis);
  if (static_cast<std::size_t>(along) != slope.values.size())
    refuse("the slope varies along several axes, or does not fit the input",
           {along, " elements along axis ", axis}, input_text(1), onnx_remedy::replace);
  if (before > 1 && after > 1)
    refuse("the slope varies along a middle axis", "the first or last axis after the batch",
           {"axis ", axis, " of ", input_text(0)}, onnx_remedy::replace);
  int const channels = static_cast<int>(along);
  int const made = append(
      "prelu", {reshaped(x, before > 1 ? checked_shape({before, along}) : checked_shape({along, after, 1}))});
  store("slope", {channels}, slope.values);
  set(row_major(made, behind_batch_of(x), x.dims[0]));
}
void onnx_importer::gelu() {
  std::string const how = text("approximate", "none");
  if (how != "none" && how != "tanh")
    refuse("attribute approximate is unknown", "none or tanh", quote_for_error(how), onnx_remedy::check);
  set(like(data(0), append(how == "none" ? "gelu" : "gelu_tanh", {data(0).id})));
}
/// x·sigmoid(α·x)
void onnx_importer::swish() {
  double const alpha = real("alpha", 1);
  if (alpha == 0) refuse("no layer has this slope", "an alpha other than 0", {alpha}, onnx_remedy::replace);
  onnx_value const x = alpha == 1 ? data(0) : scaled(data(0), alpha),
                   curve = like(x, append("swish", {x.id}));
  set(alpha == 1 ? curve : scaled(curve, 1 / alpha));
}
/// max(x, 0) + min(α·(exp(x / α) − 1), 0)
void onnx_importer::celu() {
  double const alpha = real("alpha", 1);
  if (!(alpha > 0)) refuse("no layer has this slope", "an alpha above 0", {alpha}, onnx_remedy::replace);
  onnx_value const x = scaled(data(0), 1 / alpha);
  set(scaled(like(x, append("elu", {x.id}, {{"alpha", {1}}})), alpha));
}
void onnx_importer::softmax() { over_channels("softmax"); }
void onnx_importer::log_softmax() { over_channels("log_softmax"); }
/// Imports a softmax, or its logarithm, along an axis.
void onnx_importer::over_channels(std::string_view kind) {
  onnx_value const& x = data(0);
  int const axis = axis_of(integer("axis", version_ < 13 ? 1 : -1), x.dims.size());
  around part = split_at(x, axis);
  if (version_ < 13) part.along *= std::exchange(part.after, 1);
  if (part.before > 1 && part.after > 1) {  // the axis becomes the last one
    auto const place = static_cast<std::size_t>(axis);
    onnx_value const turned = moved(x, place, x.dims.size() - 1);
    int const rows = reshaped(turned, checked_shape({part.before * part.after, part.along}));
    onnx_value const result = row_major(append(kind, {rows}), behind_batch_of(turned), x.dims[0]);
    return set(moved(result, x.dims.size() - 1, place));
  }
  // Extents after the batch: C, T×C or C×P×1.
  bool const keeps = x.axes.back() == 1 && shape_of(x.id).rank == 2 && part.after == 1;
  if (keeps && shape_of(x.id)[1] == part.along) return set(like(x, append(kind, {x.id})));
  ::cohort::shape const dims = part.after > 1    ? checked_shape({part.along, part.after, 1})
                               : part.before > 1 ? checked_shape({part.before, part.along})
                                                 : checked_shape({part.along});
  set(row_major(append(kind, {reshaped(x, dims)}), behind_batch_of(x), x.dims[0]));
}

// ---- nodes that compute nothing ----
void onnx_importer::identity() { set(tensor(0)); }
/// Sets the padding of a sequence to 0: see fuse_masked_zeros.
void onnx_importer::where() {
  onnx_value const& x = data(0);
  check_mask(x);
  if (x.dims.size() != fused()->masked_rank || !is_row_major(x))
    refuse("the mask does not select steps of the value", {fused()->masked_rank, " axes, N and T first"},
           input_text(0), onnx_remedy::check);
  set(like(x, append("zero_masked", {x.id})));
}
void onnx_importer::dropout() {
  real("ratio", 0.5), integer("seed", 0);
  if (integer("is_test", 0) == 0 && version_ < 7)
    refuse("the node is in training mode", "is_test 1", "is_test 0", onnx_remedy::inference);
  if (is_used(1))
    refuse("the mask of the dropout is read", "no reader",
           {"readers of ", quote_for_error(node_->outputs[1])}, onnx_remedy::inference);
  if (has_input(2)) {
    onnx_value const& training = any(2);
    if (!training.constant || training.constant->raw != std::string(1, '\0'))
      refuse("the node is in training mode", "the constant false as input 2", input_text(2),
             onnx_remedy::inference);
  }
  set(tensor(0));
}
void onnx_importer::cast() {
  auto const to = static_cast<onnx_type>(integer("to", 0));
  onnx_value value = tensor(0);
  if (value.constant)
    refuse("the node casts a constant", "a value that depends on an input", input_text(0), onnx_remedy::fold);
  bool const to_integer = to == onnx_type::i32 || to == onnx_type::i64;
  if (!(to_integer || (to == onnx_type::f32 && !value.is_integer)))
    refuse("no layer casts to this type", "float to float, or to int32 or int64",
           {value.is_integer ? "integers" : "float", " to ", name_of(to)}, onnx_remedy::replace);
  // Cohort accepts indices as f32; an embedding refuses numbers that are not integers.
  value.is_integer = to_integer;
  set(value);
}
void onnx_importer::constant() {
  onnx_tensor made;
  if (onnx_attribute const* const value = attribute("value", onnx_attribute::tensor)) {
    made = value->t[0];
  } else if (onnx_attribute const* const f = attribute("value_float", onnx_attribute::real)) {
    made = onnx_tensor::of("", {}, {f->f});
  } else if (onnx_attribute const* const fs = attribute("value_floats", onnx_attribute::reals)) {
    made = onnx_tensor::of("", {static_cast<std::int64_t>(fs->floats.size())}, fs->floats);
  } else if (onnx_attribute const* const i = attribute("value_int", onnx_attribute::integer)) {
    made = onnx_tensor::of("", {i->i});
    made.dims.clear();
  } else if (onnx_attribute const* const is = attribute("value_ints", onnx_attribute::integers)) {
    made = onnx_tensor::of("", is->ints);
  } else {
    refuse(
        "the constant is not a tensor of numbers",
        "value, value_float, value_floats, value_int or value_ints",
        node_->attributes.empty() ? std::string("no attribute") : quote_for_error(node_->attributes[0].name),
        onnx_remedy::replace);
  }
  set_constant(std::move(made));
}

}  // namespace cohort::detail
