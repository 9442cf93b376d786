// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/io/json.hpp>
#include <cohort/layer/field.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Readers of configuration.json of Deeplearning4j.
namespace cohort::detail {

/// Last part of an error message about a model.
inline constexpr std::string_view deeplearning4j_remedy =
    "change the model in Deeplearning4j and save it again (docs/deeplearning4j.md lists what is imported)";

/// Throws data_error: "cannot import the Deeplearning4j model: problem (where): expected …, got …; remedy".
[[noreturn]] void refuse_deeplearning4j(std::string where, std::string problem, std::string expected,
                                        std::string got, std::string_view remedy = deeplearning4j_remedy);

/// An object of configuration.json: its class without the package, and its fields.
///
/// Order     the class is stored as "@class" (from 1.0.0-beta on), as the only key of an object around the
///           fields (up to 1.0.0-alpha), or as a text without fields. Names of the second form are replaced
///           with the names of the classes: "dense" becomes "DenseLayer".
/// After     a field that is null counts as missing. Copies share the set of fields that were read.
class deeplearning4j_object {
 public:
  /// The types whose old names differ from the names of the classes.
  enum class family : std::uint8_t { layer, preprocessor, activation, loss, other };

  /// Returns nullopt for null. `where`: name of the layer in errors.
  static std::optional<deeplearning4j_object> read(std::optional<io::json_value> from, std::string where,
                                                   family is = family::other);

  std::string const& class_name() const { return class_name_; }
  std::string const& where() const { return where_; }
  void rename(std::string where) { where_ = std::move(where); }
  /// The fields as one text, to compare objects.
  std::string text() const;

  std::optional<io::json_value> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::string text(std::string_view name, std::string_view otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  /// Returns an integer from 0 to 2^20.
  int integer(std::string_view name, int otherwise) const;
  /// Returns a required integer from 1 to 2^20.
  int count(std::string_view name) const;
  /// Returns a number; Java's NaN counts as missing.
  double number(std::string_view name, double otherwise) const;
  /// Returns a list of integers; a single number is a list of one element.
  std::vector<int> integers(std::string_view name) const;
  /// Returns the first two numbers of a list (the number itself twice).
  extent2 extents(std::string_view name, extent2 otherwise) const;
  std::optional<deeplearning4j_object> object(std::string_view name, family is = family::other) const;

  /// Refuses the model if a field is set and was not read, unless it cannot change outputs. `trains`: false
  /// also ignores the fields that act in training only.
  void expect_read(bool trains) const;
  /// Marks all fields as read.
  void mark_read() const;
  [[noreturn]] void refuse(std::string problem, std::string expected, std::string got) const;

 private:
  deeplearning4j_object(std::string class_name, std::optional<io::json_value> fields, std::string where)
      : class_name_(std::move(class_name)), fields_(fields), where_(std::move(where)) {}

  std::string class_name_;
  std::optional<io::json_value> fields_;
  std::string where_;
  std::shared_ptr<std::set<std::string_view>> read_ = std::make_shared<std::set<std::string_view>>();
};

}  // namespace cohort::detail
