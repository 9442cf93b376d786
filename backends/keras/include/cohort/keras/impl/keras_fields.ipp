// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/keras/detail/keras_fields.hpp>
#include <iterator>
#include <utility>

namespace cohort::detail {

void refuse_keras(std::string where, std::string what, std::string expected, std::string got,
                  std::string_view remedy) {
  throw data_error({.what = "cannot import the Keras model: " + what,
                    .where = std::move(where),
                    .expected = std::move(expected),
                    .got = std::move(got) + "; " + std::string(remedy)});
}

std::optional<keras_object> read_keras_object(io::json_value from) {
  if (from.is_null()) return {};
  if (from.kind() == io::json_kind::string) return keras_object{.class_name = std::string(from.string())};
  keras_object made{.class_name = std::string(from.at("class_name").string())};
  if (auto const module = from.find("module"); module && module->kind() == io::json_kind::string)
    made.module = module->string();
  made.config = from.find("config");
  if (made.config && made.config->is_null()) made.config.reset();
  // A function: {"class_name": "function", "config": "relu"}.
  if (made.class_name == "function" && made.config && made.config->kind() == io::json_kind::string) {
    made.class_name = made.config->string();
    made.config.reset();
  }
  return made;
}

std::optional<io::json_value> keras_fields::find(names of) const {
  if (!config_ || config_->kind() != io::json_kind::object) return {};
  std::optional<io::json_value> made;
  for (std::string_view const name : of)
    if (auto const found = config_->find(name); found && !found->is_null()) {
      read_->insert(found->key());
      if (!made) made = found;
    }
  return made;
}

bool keras_fields::has_null(std::string_view name) const {
  if (!config_ || config_->kind() != io::json_kind::object) return false;
  auto const found = config_->find(name);
  return found && found->is_null();
}

bool keras_fields::flag(names of, bool otherwise) const {
  auto const found = find(of);
  return found ? found->boolean() : otherwise;
}

std::int64_t keras_whole_number(io::json_value from, std::int64_t most) {
  double const number = from.number();
  // Checks the bound first, because converting a number that 64 bits cannot represent is undefined.
  if (!(std::abs(number) <= static_cast<double>(most)) || number != std::floor(number))
    from.refuse("a whole number of at most " + std::to_string(most));
  return static_cast<std::int64_t>(number);
}

namespace keras_numbers {

inline int keras_integer(io::json_value from) {
  return static_cast<int>(keras_whole_number(from, keras_limits::largest_extent));
}

inline bool is_unset(io::json_value value) {
  switch (value.kind()) {
    case io::json_kind::null:
      return true;
    case io::json_kind::boolean:
      return !value.boolean();
    case io::json_kind::number:
      return value.number() == 0;
    case io::json_kind::string:
      return value.string().empty();
    default:
      return value.size() == 0;
  }
}

/// Fields that do not change a layer's outputs, fields that other functions read, and initialisers.
inline constexpr std::string_view ignored[]{
    "adjustment",
    "arguments",
    "autocast",
    "batch_input_shape",
    "batch_shape",
    "batch_size",
    "build_config",
    "build_input_shape",
    "class_name",
    "concat_axis",
    "consume_less",
    "data_format",
    "dim_ordering",
    "dot_axes",
    "dtype",
    "flash_attention",
    "forget_bias_init",
    "fused",
    "gptq_unpacked_column_size",
    "implementation",
    "init",
    "inner_init",
    "input_dim",
    "input_dtype",
    "input_length",
    "input_shape",
    "key_shape",
    "lora_alpha",
    "lora_rank",
    "mode_type",
    "module",
    "name",
    "optional",
    "output_mask_type",
    "output_shape_type",
    "quantization_config",
    "quantization_mode",
    "query_shape",
    "registered_name",
    "renorm_clipping",
    "renorm_momentum",
    "seed",
    "shared_object_id",
    "supports_masking",
    "trainable",
    "unroll",
    "value_shape",
};

/// Fields that act in training only.
inline constexpr std::string_view of_training[]{"dropout", "dropout_U", "dropout_W", "recurrent_dropout",
                                                "virtual_batch_size"};

inline bool is_ignored(std::string_view field, bool predicts) {
  if (std::ranges::find(ignored, field) != std::end(ignored) || field.ends_with("_initializer")
      || field.ends_with("_init"))
    return true;
  return predicts
         && (field.ends_with("_regularizer") || field.ends_with("_constraint")
             || std::ranges::find(of_training, field) != std::end(of_training));
}

}  // namespace keras_numbers

void keras_fields::expect_read(bool predicts) const {
  if (!config_ || config_->kind() != io::json_kind::object) return;
  for (io::json_value const one : config_->items())
    if (!read_->contains(one.key()) && !keras_numbers::is_unset(one)
        && !keras_numbers::is_ignored(one.key(), predicts))
      refuse("the field " + std::string(one.key()) + " is not imported", "no such field, or null", "a value");
}

void keras_fields::mark_read() const {
  if (!config_ || config_->kind() != io::json_kind::object) return;
  for (io::json_value const one : config_->items()) read_->insert(one.key());
}

std::int64_t keras_fields::count(names of) const {
  auto const found = find(of);
  if (!found) refuse("the configuration has no field " + std::string(*of.begin()), "a value", "none");
  std::int64_t const made = keras_whole_number(*found, std::int64_t{1} << 53);
  if (made < 1) found->refuse("a whole number of at least 1");
  return made;
}

int keras_fields::integer(names of) const {
  auto const found = find(of);
  if (!found) refuse("the configuration has no field " + std::string(*of.begin()), "a value", "none");
  return keras_numbers::keras_integer(*found);
}

int keras_fields::integer(names of, int otherwise) const {
  auto const found = find(of);
  return found ? keras_numbers::keras_integer(*found) : otherwise;
}

double keras_fields::number(names of, double otherwise) const {
  auto const found = find(of);
  return found ? found->number() : otherwise;
}

std::string keras_fields::text(names of, std::string otherwise) const {
  auto const found = find(of);
  return found ? std::string(found->string()) : otherwise;
}

std::vector<int> keras_fields::numbers(names of, std::size_t count, std::vector<int> otherwise) const {
  auto const found = find(of);
  if (!found) return otherwise;
  if (found->kind() == io::json_kind::number)
    return std::vector<int>(count, keras_numbers::keras_integer(*found));
  std::vector<int> made;
  for (io::json_value const one : found->items()) made.push_back(keras_numbers::keras_integer(one));
  if (made.size() != count)
    found->refuse("a list of " + std::to_string(count) + " numbers", std::to_string(made.size()));
  return made;
}

std::optional<keras_object> keras_fields::object(names of) const {
  auto const found = find(of);
  return found ? read_keras_object(*found) : std::nullopt;
}

void keras_fields::expect_unset(names of, char const* reason) const {
  auto const found = find(of);
  if (!found || keras_numbers::is_unset(*found)) return;
  refuse(std::string(reason) + " (" + std::string(found->key()) + ')', "null or false", "a value");
}

void keras_fields::refuse(std::string what, std::string expected, std::string got) const {
  refuse_keras(where_, std::move(what), std::move(expected), std::move(got));
}

std::string keras_snake_case(std::string_view class_name) {
  auto const is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  // As in Keras: first an underscore before each capital that is followed by a small letter, then before each
  // capital that follows a small letter.
  std::string words;
  for (std::size_t i = 0; i < class_name.size();) {
    words += class_name[i++];
    if (i + 1 < class_name.size() && is_upper(class_name[i]) && is_lower(class_name[i + 1])) {
      words += '_';
      words += class_name[i++];
      while (i < class_name.size() && is_lower(class_name[i])) words += class_name[i++];
    }
  }
  std::string made;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && is_upper(words[i]) && is_lower(words[i - 1])) made += '_';
    made += is_upper(words[i]) ? static_cast<char>(words[i] - 'A' + 'a') : words[i];
  }
  return made;
}

}  // namespace cohort::detail
