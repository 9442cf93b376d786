// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/table_content.hpp>
#include <cohort/transform/column_schema.hpp>
#include <cohort/transform/detail/byte_coding.hpp>
#include <cohort/transform/transform_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

inline constexpr char const* schema_mismatch = "a value does not match the schema";

/// Formats the first 20 texts as a list for messages.
std::string listed_texts(std::vector<std::string> const& texts);

/// A column and its schema.
struct frame_column {
  column_schema schema;
  table_column values{};
};

/// The rows of a table while a pipeline changes them: numbers are f64, and every row keeps the number of its
/// record.
class row_frame {
 public:
  row_frame(std::string where, std::size_t rows);

  std::size_t rows() const { return static_cast<std::size_t>(content_->rows); }
  table_schema const& schema() const { return schema_; }
  table_content const& content() const { return *content_; }
  table_content& content() { return *content_; }
  table_column const& column(std::string_view name) const;
  table_column& column(std::string_view name);
  column_schema& schema_of(std::string_view name);

  /// Adds a column as the last one.  Before: the frame has no column of this name.
  void append(frame_column column);
  /// Replaces a column with new columns at the same place.  Before: no other column has a new column's name.
  void replace(std::string_view name, std::vector<frame_column> columns);
  void erase(std::string_view name);
  void rename(std::string_view from, std::string const& to);
  /// Removes all columns except `names`, and sorts the remaining columns in this order.
  void keep(std::vector<std::string> const& names);
  /// Removes the rows whose flag is set.
  void remove(std::vector<char> const& flags);

  /// Returns the rows as a table. The frame is empty afterwards.
  data_table release();

 private:
  std::size_t index(std::string_view name) const;
  void update_names();

  std::shared_ptr<table_content> content_;
  table_schema schema_;
};

/// Rows of a frame that are to be removed.
class row_removal {
 public:
  row_removal(row_frame& frame, transform_settings const& how, transform_report& report)
      : frame_(frame), how_(how), report_(report), flags_(frame.rows()) {}

  /// Marks a row that a filter removes.
  void filter(std::size_t row);
  /// Marks a row that does not match the schema.
  ///
  /// Errors    with bad_record::stop, data_error with file, column, row and rank.
  void refuse(std::size_t row, char const* what, std::string_view column, std::string expected,
              std::string got);
  /// Removes the rows.
  void finish();

 private:
  row_frame& frame_;
  transform_settings const& how_;
  transform_report& report_;
  std::vector<char> flags_;
  bool any_ = false;
};

/// Returns the number of a row in its file, from 1.
inline std::int64_t number_of_row(table_content const& rows, std::size_t row) {
  return rows.rows_before + rows.row_numbers[row];
}

/// Returns the place of a row for messages: "people.csv, column age, row 17, rank 2".
std::string place_of_row(std::string_view file, std::string_view column, std::int64_t row, int rank);

/// Writes a report, and reads it on another rank.
void write_report(byte_writer& out, transform_report const& report);
transform_report read_report(byte_reader& in);

/// Counts a row that does not match the schema.  Errors: with bad_record::stop data_error.
void refuse_row(transform_settings const& how, transform_report& report, refusal why);

/// Finds columns of times whose numbers may be dates of eight digits, such as 20241231, in place of seconds:
/// all numbers in the training rows of all ranks are such dates. A single row, or a piece of the rows, may
/// contain seconds that look like a date.
class date_check {
 public:
  explicit date_check(table_schema const& schema);

  /// Adds rows of this rank; `rank`: as transform_settings::rank.
  void add(data_table const& rows, int rank);
  void write(byte_writer& out) const;
  /// Adds the rows of another rank, as `write` wrote them.
  void merge(byte_reader& in);
  /// Throws data_error with the place of the first number of such a column.
  void check() const;

 private:
  struct column {
    std::string name{};
    bool has_seconds = false;      // a number is no date
    std::string where{}, first{};  // place and text of the first number; empty: none
  };

  std::vector<column> columns_{};
};

/// Returns a frame with the columns of `schema` in a table.
///
/// Errors    data_error naming the table if it lacks a column; with bad_record::stop for a row that does not
///           match the schema.
row_frame frame_of(data_table const& table, table_schema const& schema, transform_settings const& how,
                   transform_report& report);

}  // namespace cohort::detail
