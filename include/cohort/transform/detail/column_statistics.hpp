// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/column_check.hpp>
#include <cohort/data/detail/table_content.hpp>
#include <cohort/transform/detail/byte_coding.hpp>
#include <cohort/transform/detail/exact_sum.hpp>
#include <cohort/transform/detail/pass_plan.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cohort::detail {

/// Kind of a column's statistics. moments: count, sum, sum of squares and range of the column's numbers.
/// numbers, texts: number of occurrences of each value.
enum class counted : std::uint8_t { moments, numbers, texts };

/// Statistics of a column, accumulated over pieces of rows and merged over ranks.
///
/// Exact     sums are not rounded and counts are exact, so the results do not depend on the division of the
///           rows.
class column_statistics {
 public:
  /// Parameters  `place`: for messages. `max_distinct`: transform_settings.
  column_statistics(counted what, std::string place, std::size_t max_distinct)
      : what_(what), place_(std::move(place)), max_distinct_(max_distinct) {}

  /// Adds the values of a column; missing ones are not counted.
  ///
  /// Errors    data_error if there are more than max_distinct different values.
  void add(table_column const& column);
  void write(byte_writer& out) const;
  /// Adds the statistics that `write` has written on this or another rank.  Errors: data_error.
  void merge(byte_reader& in);

  /// Returns the mean.  Errors: data_error if no value was counted; the functions below have the same error.
  double mean() const;
  /// Returns the standard deviation of the population.
  double deviation() const;
  double lowest() const;
  double highest() const;
  double median() const;
  double most_frequent_number() const;
  std::string most_frequent_text() const;
  /// Returns the texts, sorted.
  std::vector<std::string> values() const;
  /// Returns the facts that check_column needs.  Before: moments or texts are counted.
  column_facts facts() const;

 private:
  void count_number(double value, std::uint64_t times);
  void count_text(std::string const& text, std::uint64_t times);
  void require_values(bool any) const;
  void require_room(std::size_t size) const;
  std::vector<double> sorted_numbers() const;

  counted what_;
  std::string place_;
  std::size_t max_distinct_;
  std::uint64_t count_ = 0, missing_ = 0;
  double lowest_ = 0, highest_ = 0;
  exact_sum sum_{}, squares_{};
  std::unordered_map<double, std::uint64_t> numbers_{};
  text_map<std::uint64_t> texts_{};
};

/// Statistics that a step needs, accumulated over the rows of a pass.
class step_statistics {
 public:
  /// Before    program.learns(step). `schema` contains the step's columns.
  step_statistics(pipeline_program const& program, std::size_t step, table_schema const& schema,
                  std::size_t max_distinct);

  std::size_t step() const { return step_; }
  void add(table_content const& rows);
  void write(byte_writer& out) const;
  void merge(byte_reader& in);
  /// Errors    data_error naming step and column if a column has no values, or numbers that cannot be
  ///           rescaled.
  std::vector<fitted_column> result() const;
  /// Checks the columns of categories and normalise, as a table_encoder checks its columns.
  void check(std::vector<std::string>& notices) const;

 private:
  fitted_column rescaled(std::size_t column, rescaling how) const;

  transform_step step_value_;
  std::size_t step_;
  std::string place_;
  std::vector<std::string> names_;
  std::vector<char> is_text_;
  std::vector<column_statistics> columns_;
};

}  // namespace cohort::detail
