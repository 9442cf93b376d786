// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

namespace detail {
struct sequence_content;
}  // namespace detail

/// Settings of keyed_sequences::examples.
struct sequence_examples {
  std::vector<std::string> inputs = {};  ///< columns of numbers; empty: all but target, keys and order
  std::string target = {};               ///< a category, or a column of numbers
  bool regression = false;               ///< the target is a number to predict, not a class
  bool per_step = false;                 ///< one target per row; false: the target in a sequence's last row
  /// Number of classes of a numeric target; 0: the highest value of its schema + 1, or the largest label of
  /// this rank + 1. If the schema has no highest value and there are several ranks, `classes` must be set.
  int classes = 0;
  int length = 0;  ///< steps of each example in a batch; 0: as many as the longest sequence of all ranks
};

/// The sequences that a pipeline with group_by_key makes of rows: one per key, or the windows of these
/// sequences.
///
/// Order     sequences are sorted by key (numbers by value, texts by bytes), windows by their first row. The
///           constructors with a communicator are collective. These constructors send each row to one rank,
///           which depends only on the key and the number of ranks. Every sequence is therefore complete on
///           its rank. Use the data set with sharding::local. Without `order`, rows of a key are sorted by
///           rank, and then in the order in which the rank reads them.
/// Moves     each row is sent at most once.
/// Errors    those of fitted_pipeline::apply. setting_error for a pipeline without group_by_key. Unless rows
///           are skipped, data_error for a row without key or order, and for the second of two rows with the
///           same key and order, with file, row and rank of both. If rows are skipped, only the first of
///           these two rows is used. If one rank throws, all ranks throw.
/// Exact     if `order` is given and no two rows have the same key and order, the sequences of all ranks
///           together are bitwise equal for any number of ranks and any division of the rows.
class keyed_sequences {
 public:
  keyed_sequences(fitted_pipeline const& fitted, data_table const& rows, transform_settings const& how = {});
  keyed_sequences(fitted_pipeline const& fitted, table_pieces const& rows,
                  transform_settings const& how = {});
  /// Makes sequences of the rows of all ranks. Each rank passes a part, which may be empty.
  keyed_sequences(fitted_pipeline const& fitted, data_table const& part, communicator& world,
                  transform_settings const& how = {});
  keyed_sequences(fitted_pipeline const& fitted, table_pieces const& part, communicator& world,
                  transform_settings const& how = {});

  /// Returns the number of this rank's sequences; may be 0.
  std::int64_t size() const;
  /// Returns the key of sequence i; the values of several key columns are joined by ", ".
  ///
  /// Before    0 ≤ i < size(), here and below.
  std::string const& key(std::int64_t i) const&;
  std::string const& key(std::int64_t i) const&& = delete;  // keep the sequences in a variable
  /// Returns the number of rows of sequence i.
  int length(std::int64_t i) const;
  /// Returns the index of the first row of sequence i in rows(); the sequence's rows are consecutive.
  int first_row(std::int64_t i) const;
  /// Returns all rows, sorted by key and order. Windows may overlap.
  data_table const& rows() const&;
  data_table const& rows() const&& = delete;  // keep the sequences in a variable
  /// Returns the counts of the rows that all ranks have read.
  transform_report const& report() const&;
  transform_report const& report() const&& = delete;  // keep the sequences in a variable

  /// Returns a data set of the sequences, with masks.
  ///
  /// Shapes    input "input" T×C, f32; mask T. The target has the name of its column. Without `per_step`, it
  ///           is an i32 class label, or f32 (1) for regression; with `per_step`, T class labels, or T×1
  ///           numbers. T is `length`. A category
  ///           has its values as label names, sorted by bytes.
  /// Errors    setting_error for a column that does not exist or occurs twice, or without target; data_error,
  ///           with file, column, row and rank, for a missing value, a value out of the range of f32 or an
  ///           invalid label; setting_error if a sequence is longer than `length`.
  dataset examples(sequence_examples const& settings) const;

 private:
  void read(fitted_pipeline const& fitted, table_pieces const& rows, communicator* world,
            transform_settings const& how);

  std::shared_ptr<detail::sequence_content> content_;
};

}  // namespace cohort
