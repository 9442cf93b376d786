// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/execution/sink.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::io {
class json_value;
}

namespace cohort::detail {
struct encoder_codec;
}

namespace cohort {

/// Replacement of missing numbers: none (an error), the mean or median of the training table, or a constant.
enum class imputation : std::uint8_t { refuse, mean, median, constant };

/// Settings of a table_encoder.
struct encoder_settings {
  std::vector<std::string> inputs = {};   ///< columns; empty: all except the target
  std::string target = {};                ///< empty: examples without target
  bool regression = false;                ///< the target is a number to predict, not a class
  std::vector<std::string> indexed = {};  ///< columns of texts that become indices for an `embedding`
  bool other = false;  ///< adds one slot for texts that are missing or not in the training table
  imputation impute = imputation::refuse;
  double constant = 0;  ///< value for imputation::constant
  /// Receives a message for each column of dates, of numbers with a unit or a comma, of mostly distinct
  /// texts, of both texts and numbers, with only one value, or with different integers that become the same
  /// f32. Empty: no messages.
  sink log{};
};

/// One input column of a table_encoder.
///
/// Units     width() is the number of the column's elements in the input: 1 for numbers; for texts the
///           vocabulary's size, plus 1 if `other` adds a slot. For an indexed column it is the number of
///           indices: the vocabulary size of its embedding.
struct encoded_column {
  std::string name;
  bool is_text = false;
  bool indexed = false;
  bool other = false;
  std::optional<double> fill{};           ///< replaces a missing number; nullopt: an error
  std::vector<std::string> vocabulary{};  ///< sorted
  bool operator==(encoded_column const&) const = default;
  int width() const { return is_text ? static_cast<int>(vocabulary.size()) + (other ? 1 : 0) : 1; }
};

/// Encodes tables as examples. Vocabularies, replacements of missing numbers, and classes are learned from a
/// training table. Columns are found by name, so their order does not matter and other columns are ignored.
///
/// Shapes    input "columns" (Σ width), f32: numbers, and texts as one-hot vectors, in the order of the
///           settings. One more input (1), f32, per indexed column, named after it: the index of the text.
///           Target named as its column: an i32 class label with label names, or f32 (1) for regression.
/// Errors    the constructor throws setting_error for a column that does not exist, or an indexed column
///           without texts. It throws data_error if there are no rows; with column and row for a missing
///           value or an invalid label; with line and column if most fields of a column of texts are
///           numbers.
class table_encoder {
 public:
  explicit table_encoder(data_table const& training, encoder_settings const& settings = {});

  /// Returns the examples of a table with the same columns. A table without the target's column gives
  /// examples without targets, for prediction. All values of a column of texts may be missing.
  ///
  /// Errors    setting_error for a missing column. data_error with column and row for an unknown label, a
  ///           missing number that is not imputed, or, without a slot for others, a text that is not in the
  ///           vocabulary.
  arrays examples(data_table const& table) const;
  /// Returns the examples without targets, for prediction. The table's target column is not read.
  arrays inputs(data_table const& table) const;

  std::vector<encoded_column> const& columns() const& { return columns_; }
  std::vector<encoded_column> const& columns() const&& = delete;  // keep the encoder in a variable
  /// Returns one list of names per input: for "columns" the names of its elements, such as "area" and
  /// "city=Rome"; for an indexed column the names of its indices.
  std::vector<std::vector<std::string>> feature_names() const;
  /// Returns one input column.  Errors: setting_error if there is no column of this name.
  encoded_column const& column(std::string_view name) const&;
  encoded_column const& column(std::string_view name) const&& = delete;  // keep the encoder in a variable
  std::string const& target() const& { return target_; }
  std::string const& target() const&& = delete;  // keep the encoder in a variable
  /// Returns the number of classes of the target; 0 for regression and without target.
  int classes() const { return classes_; }
  /// Returns the names of the classes; empty if the target is a column of numbers.
  std::vector<std::string> const& label_names() const& { return label_names_; }
  std::vector<std::string> const& label_names() const&& = delete;  // keep the encoder in a variable

  bool operator==(table_encoder const&) const = default;

 private:
  friend struct detail::encoder_codec;
  table_encoder() = default;

  arrays encoded(data_table const& table, bool with_target) const;

  std::vector<encoded_column> columns_;
  std::string target_;
  int classes_ = 0;
  std::vector<std::string> label_names_;
};

/// Serialises the encoder as one line of JSON, for example to keep it beside a model.
std::string to_json(table_encoder const& encoder);
/// Restores an encoder written by to_json.
///
/// Errors    data_error with the path of a field that is unknown, missing or invalid.
table_encoder table_encoder_from_json(io::json_value value);

}  // namespace cohort
