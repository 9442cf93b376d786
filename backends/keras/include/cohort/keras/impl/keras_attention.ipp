// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/layers.hpp>

namespace cohort::detail {

namespace keras_heads {

/// Returns an input of an attention layer, passed by position or by keyword; null if there is none.
inline keras_value const* find(keras_layer_call const& c, std::size_t position, char const* name) {
  if (c.inputs.size() > position) return &c.inputs[position];
  auto const found = c.named_inputs.find(name);
  return found != c.named_inputs.end() && found->second.size() == 1 ? &found->second.front() : nullptr;
}

}  // namespace keras_heads

keras_translation::values keras_translation::multi_head_attention(call const& c) {
  keras_fields const& f = c.fields;
  keras_value const* const query = keras_heads::find(c, 0, "query");
  keras_value const* const values_in = keras_heads::find(c, 1, "value");
  keras_value const* keys = keras_heads::find(c, 2, "key");
  if (!query || !values_in)
    refuse("attention needs a query and a value", "a query and a value",
           std::to_string(c.inputs.size()) + " inputs");
  if (!keys) keys = values_in;
  bool causal = false;
  for (auto const& [name, given] : c.options) {
    if (name == "use_causal_mask")
      causal = given.boolean();
    else
      refuse("the call of the layer has an argument that is not imported", "use_causal_mask", name);
  }
  for (auto const& [name, given] : c.named_inputs)
    if (name != "query" && name != "value" && name != "key")
      refuse("the call of the layer has an argument that is not imported", "query, value or key", name);
  bool const is_grouped = c.class_name != "MultiHeadAttention";
  int const heads = f.integer({is_grouped ? "num_query_heads" : "num_heads"});
  int const key_heads = is_grouped ? f.integer({"num_key_value_heads"}) : heads;
  int const width = f.integer({is_grouped ? "head_dim" : "key_dim"});
  int const value_width = is_grouped ? width : f.integer({"value_dim"}, width);
  bool const bias = f.flag({"use_bias"}, true);
  if (heads < 1 || key_heads < 1 || heads > 4096 || width < 1 || width > 65536 || value_width < 1
      || value_width > 65536 || heads % key_heads != 0)
    refuse("the numbers of heads and their width are out of range",
           "1 to 4096 heads, a multiple of the heads of keys, with widths of 1 to 65536",
           std::to_string(heads) + " heads, " + std::to_string(key_heads) + " of keys, of widths "
               + std::to_string(width) + " and " + std::to_string(value_width));
  if (how_.training && !c.inference && f.number({"dropout"}, 0) != 0)
    refuse("Cohort has no dropout of attention weights", "dropout 0, or keras_options::training false",
           "dropout " + std::to_string(f.number({"dropout"}, 0)));
  f.expect_unset({"use_gate"}, "Cohort has no gate of attention");
  f.expect_unset({"sliding_window"}, "Cohort has no sliding window of attention");
  for (keras_value const* const one : {query, values_in, keys})
    if (one->dims.size() != 2)
      refuse("attention reads sequences", "steps and features", keras_text(one->dims));
  if (auto const axes = f.find({"attention_axes"});
      axes
      && !(axes->kind() == io::json_kind::array && axes->size() == 1
           && axes->at(std::size_t{0}).integer() == 1)
      && !(axes->kind() == io::json_kind::number && axes->integer() == 1))
    refuse("attention is over the steps in Cohort", "attention_axes None", "other axes");
  int outputs = query->dims[1];
  if (auto const found = f.find({"output_shape"})) {
    io::json_value const one =
        found->kind() == io::json_kind::array && found->size() == 1 ? found->at(std::size_t{0}) : *found;
    outputs = static_cast<int>(one.integer(1, keras_limits::largest_extent));
  }
  for (std::string_view const field : {"kernel_constraint", "bias_constraint"})
    if (how_.training && f.has(field))
      refuse("constraints of attention are not imported", "None", std::string(field));

  // Each projection has the arrays kernel and bias.
  auto const project = [&](keras_value const& x, char const* name, char const* part, int count, int size) {
    int const made = record(dense{.units = count * size, .bias = bias}, {id_of(x)}, name);
    weigh(made, "weights", {part, 0}, {x.dims[1], count, size}, {1, 2, 0});
    if (bias) weigh(made, "bias", {part, 1}, {count, size});
    override_layer(made, f, "kernel", "bias");
    return made;
  };
  if (causal && query->dims[0] != keys->dims[0])
    refuse("causal attention needs as many queries as keys in Cohort", keras_text(query->dims),
           keras_text(keys->dims));
  int const q = project(*query, "query", is_grouped ? "_query_dense" : "query_dense", heads, width);
  int k = project(*keys, "key", is_grouped ? "_key_dense" : "key_dense", key_heads, width);
  int v = project(*values_in, "value", is_grouped ? "_value_dense" : "value_dense", key_heads, value_width);
  if (key_heads != heads) {
    // Each head of keys and values is used by heads / key_heads query heads.
    auto const repeat = [&](int from, int size, std::string const& name) {
      std::vector<int> all;
      for (int head = 0; head < key_heads; ++head) {
        int const part = key_heads == 1 ? from
                                        : record(subset{.first = head * size, .last = (head + 1) * size},
                                                 {from}, name + "/head");
        for (int n = 0; n < heads / key_heads; ++n) all.push_back(part);
      }
      if (all.size() > 64)
        refuse("Cohort joins up to 64 tensors", "at most 64 heads", std::to_string(all.size()));
      return record(concatenate{}, all, name + "/heads");
    };
    k = repeat(k, width, "key");
    v = repeat(v, value_width, "value");
  }
  int const id = record(attention{.heads = heads, .causal = causal}, {q, k, v});
  int const made = record(dense{.units = outputs, .bias = bias}, {id}, "output");
  weigh(made, "weights", {is_grouped ? "_output_dense" : "output_dense", 0}, {heads, value_width, outputs},
        {2, 0, 1});
  if (bias) weigh(made, "bias", {is_grouped ? "_output_dense" : "output_dense", 1}, {outputs});
  override_layer(made, f, "kernel", "bias");
  return {value(made, {query->dims[0], outputs})};
}

/// Translates the layer Attention: softmax(q·kᵀ)·v without parameters.
keras_translation::values keras_translation::luong_attention(call const& c) {
  keras_fields const& f = c.fields;
  if (c.inputs.size() < 2 || c.inputs.size() > 3)
    refuse("Attention needs the inputs query, value and optionally key", "2 or 3",
           std::to_string(c.inputs.size()));
  bool causal = f.flag({"causal"}, false);
  for (auto const& [name, given] : c.options) {
    if (name == "use_causal_mask")
      causal = given.boolean();
    else
      refuse("the call of the layer has an argument that is not imported", "use_causal_mask", name);
  }
  if (!c.named_inputs.empty())
    refuse("the call of the layer has an argument that is not imported", "query, value and key only",
           c.named_inputs.begin()->first);
  f.expect_unset({"use_scale"}, "Cohort has no learned scale of attention");
  if (std::string const mode = f.text({"score_mode"}, "dot"); mode != "dot")
    refuse("Cohort has dot-product attention only", "dot", mode);
  if (how_.training && !c.inference && f.number({"dropout"}, 0) != 0)
    refuse("Cohort has no dropout of attention weights", "dropout 0, or keras_options::training false",
           "dropout " + std::to_string(f.number({"dropout"}, 0)));
  keras_value const &query = c.inputs[0], &values_in = c.inputs[1], &keys = c.inputs.back();
  for (keras_value const& one : c.inputs) {
    if (one.dims.size() != 2) refuse("attention reads sequences", "steps and features", keras_text(one.dims));
  }
  // Keras ignores a mask of the keys.
  if (keys.slot != values_in.slot) expect_no_mask(keys);
  if (causal && query.dims[0] != keys.dims[0])
    refuse("causal attention needs as many queries as keys in Cohort", keras_text(query.dims),
           keras_text(keys.dims));
  // Cohort divides by √columns, Keras does not.
  int const scaled =
      record(scale{.factor = std::sqrt(static_cast<double>(query.dims[1]))}, {id_of(query)}, "scaled");
  int const id = record(attention{.heads = 1, .causal = causal}, {scaled, id_of(keys), id_of(values_in)});
  return {value(id, {query.dims[0], values_in.dims[1]})};
}

}  // namespace cohort::detail
