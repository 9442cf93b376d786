// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/io/json.hpp>
#include <cohort/layer/field.hpp>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Readers of configurations of Keras 1, 2 and 3.
namespace cohort::detail {

namespace keras_limits {

/// Largest extent; the product of three extents fits into 64 bits.
inline constexpr int largest_extent = 1 << 20;
/// Largest stride and dilation; the product of a dilation and a kernel extent of 4096 fits into 31 bits.
inline constexpr int largest_window = (1 << 15) - 1;
/// Largest number of elements of a tensor of one example.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 30;

}  // namespace keras_limits

/// Remedy for a refused model, the last part of an error message.
inline constexpr std::string_view keras_remedy =
    "change the model in Keras and save it again (docs/keras.md lists what is imported)";

/// Throws data_error: "cannot import the Keras model: what (where): expected …, got …; remedy".
[[noreturn]] void refuse_keras(std::string where, std::string what, std::string expected, std::string got,
                               std::string_view remedy = keras_remedy);

/// A serialised object of Keras: {"class_name": …, "config": …}, or its name alone.
struct keras_object {
  std::string class_name{};
  std::string module{};
  std::optional<io::json_value> config{};
};

/// Reads an object or a name. Returns nullopt for null.
std::optional<keras_object> read_keras_object(io::json_value from);

/// The fields of one object's configuration.
///
/// Order     `names`: the field's name in Keras 3, then its names in earlier versions. A field that is null
///           counts as missing. Copies share the set of fields that were read.
class keras_fields {
 public:
  using names = std::initializer_list<std::string_view>;

  /// `where`: name of the layer in errors.
  keras_fields(std::optional<io::json_value> config, std::string where, int version)
      : config_(config), where_(std::move(where)), version_(version) {}

  /// Returns the major version of Keras: 1, 2 or 3.
  int version() const { return version_; }
  std::string const& where() const { return where_; }

  std::optional<io::json_value> find(names of) const;
  bool has(std::string_view name) const { return find({name}).has_value(); }
  /// Returns whether a field exists and is null.
  bool has_null(std::string_view name) const;
  bool flag(names of, bool otherwise) const;
  int integer(names of) const;
  int integer(names of, int otherwise) const;
  double number(names of, double otherwise) const;
  /// Returns a required whole number from 1 to 2^53.
  std::int64_t count(names of) const;
  std::string text(names of, std::string otherwise) const;
  /// Returns a list of `count` numbers. If the file has a single number, all elements have this value.
  std::vector<int> numbers(names of, std::size_t count, std::vector<int> otherwise) const;
  std::optional<keras_object> object(names of) const;

  /// Refuses the model if the field has another value than null, false, 0, "" or an empty list.
  void expect_unset(names of, char const* reason) const;
  /// Refuses the model if a field is set but was not read, unless the field cannot change the layer's
  /// outputs. `predicts`: whether fields that act in training only are also ignored.
  void expect_read(bool predicts) const;
  /// Marks all fields as read.
  void mark_read() const;
  [[noreturn]] void refuse(std::string what, std::string expected, std::string got) const;

 private:
  std::optional<io::json_value> config_;
  std::string where_;
  int version_;
  std::shared_ptr<std::set<std::string_view>> read_ = std::make_shared<std::set<std::string_view>>();
};

/// Reads an integer of at most `most` in magnitude. Keras writes 2 or 2.0.
std::int64_t keras_whole_number(io::json_value from, std::int64_t most);

/// Returns a class name in Keras' snake case, used for groups in weight files: "conv_lstm2d" for
/// "ConvLSTM2D".
std::string keras_snake_case(std::string_view class_name);

/// Returns extents as text: "(8, 8, 3)".
template <class Extent>
std::string keras_text(std::vector<Extent> const& dims) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    text += (axis > 0 ? ", " : "") + std::to_string(dims[axis]);
  return text + ')';
}

}  // namespace cohort::detail
