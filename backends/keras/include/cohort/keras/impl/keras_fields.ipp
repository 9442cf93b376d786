// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/keras/detail/keras_fields.hpp>
#include <limits>
#include <utility>

namespace cohort::detail {

COHORT_KERAS_INLINE void refuse_keras(std::string where, std::string what, std::string expected,
                                      std::string got) {
  throw data_error({.what = "cannot import the Keras model: " + what,
                    .where = std::move(where),
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

COHORT_KERAS_INLINE std::optional<keras_object> read_keras_object(io::json_value from) {
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

COHORT_KERAS_INLINE std::optional<io::json_value> keras_fields::find(names of) const {
  if (!config_ || config_->kind() != io::json_kind::object) return {};
  for (std::string_view const name : of)
    if (auto const found = config_->find(name); found && !found->is_null()) return found;
  return {};
}

COHORT_KERAS_INLINE bool keras_fields::has_null(std::string_view name) const {
  if (!config_ || config_->kind() != io::json_kind::object) return false;
  auto const found = config_->find(name);
  return found && found->is_null();
}

COHORT_KERAS_INLINE bool keras_fields::flag(names of, bool otherwise) const {
  auto const found = find(of);
  return found ? found->boolean() : otherwise;
}

namespace keras_numbers {

/// Keras writes whole numbers as 2 or as 2.0.
inline int keras_integer(io::json_value from) {
  double const number = from.number();
  if (number != static_cast<double>(static_cast<std::int64_t>(number))
      || number < -keras_limits::largest_extent || number > keras_limits::largest_extent)
    from.refuse("a whole number of at most 1048576");
  return static_cast<int>(number);
}

}  // namespace keras_numbers

COHORT_KERAS_INLINE int keras_fields::integer(names of) const {
  auto const found = find(of);
  if (!found) refuse("the configuration has no field " + std::string(*of.begin()));
  return keras_numbers::keras_integer(*found);
}

COHORT_KERAS_INLINE int keras_fields::integer(names of, int otherwise) const {
  auto const found = find(of);
  return found ? keras_numbers::keras_integer(*found) : otherwise;
}

COHORT_KERAS_INLINE double keras_fields::number(names of, double otherwise) const {
  auto const found = find(of);
  return found ? found->number() : otherwise;
}

COHORT_KERAS_INLINE std::string keras_fields::text(names of, std::string otherwise) const {
  auto const found = find(of);
  return found ? std::string(found->string()) : otherwise;
}

COHORT_KERAS_INLINE std::vector<int> keras_fields::numbers(names of, std::size_t count,
                                                           std::vector<int> otherwise) const {
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

COHORT_KERAS_INLINE std::optional<keras_object> keras_fields::object(names of) const {
  auto const found = find(of);
  return found ? read_keras_object(*found) : std::nullopt;
}

COHORT_KERAS_INLINE void keras_fields::expect_unset(names of, char const* reason) const {
  auto const found = find(of);
  if (!found) return;
  switch (found->kind()) {
    case io::json_kind::boolean:
      if (!found->boolean()) return;
      break;
    case io::json_kind::number:
      if (found->number() == 0) return;
      break;
    case io::json_kind::string:
      if (found->string().empty()) return;
      break;
    case io::json_kind::array:
      if (found->size() == 0) return;
      break;
    default:
      break;
  }
  refuse(std::string(reason) + " (" + std::string(found->key()) + ')');
}

COHORT_KERAS_INLINE void keras_fields::refuse(std::string what, std::string expected, std::string got) const {
  refuse_keras(where_, std::move(what), std::move(expected), std::move(got));
}

COHORT_KERAS_INLINE std::string keras_snake_case(std::string_view class_name) {
  auto const is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  // As Keras: first an underscore before each capital that small letters follow, then before each capital
  // behind a small letter.
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

COHORT_KERAS_INLINE std::string keras_text(std::vector<int> const& dims) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    text += (axis > 0 ? ", " : "") + std::to_string(dims[axis]);
  return text + ')';
}

}  // namespace cohort::detail
