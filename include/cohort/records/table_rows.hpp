// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/data_table.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/records/detail/implementation.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

namespace detail {
class table_row_examples;
}  // namespace detail

/// Settings of table_rows.
struct table_rows_settings {
  /// As for read_table; `missing` is refuse or keep.
  table_settings format = {};
  /// Folder in which the files' indices are cached; "": each process indexes the files again.
  std::string cache = io::cache_folder("indices");
  /// Size of a block: the text of the rows that are read and parsed together.
  std::uint64_t block_bytes = std::uint64_t{1} << 18;
  /// Capacity of the cache of encoded blocks. The least recently used block is dropped first.
  std::uint64_t max_block_bytes = std::uint64_t{64} << 20;
};

/// The rows of comma- or tab-separated files that may be larger than memory, with random access. Cheap to
/// copy.
///
///     table_rows const rows({"clicks-0.csv", "clicks-1.csv"},
///                           {.format = {.missing = missing_values::keep}});
///     table_encoder const encoder(rows.read(0, 100'000), {.target = "clicked", .other = true});
///     run.fit(rows.examples(encoder), {.blocks = {.block = 4096, .window = 65536}});
///
/// Order     rows are ordered by file as given, then by line.
/// Errors    setting_error without files, for missing_values::drop, block_bytes of 0, or numbers that are
///           neither f32 nor f64. file_error.
///           data_error if the files have different column names, a file has no rows (with `may_be_empty`,
///           the row of names suffices), or a row has more than 64 MiB, usually because of an unclosed quote.
/// Cost      constructing reads every file without a cached index once. The index has one entry for each
///           block of rows.
class table_rows {
 public:
  explicit table_rows(std::vector<std::string> paths, table_rows_settings const& settings = {});

  std::int64_t size() const;
  /// Returns the names of all columns.
  std::vector<std::string> const& columns() const&;
  std::vector<std::string> const& columns() const&& = delete;  // keep the rows in a variable

  /// Parses at most `count` rows, beginning with row `first`. All of them are in the file that contains row
  /// `first`. These rows decide which columns contain numbers and which contain texts.
  ///
  /// Cost      reads the blocks that contain the rows, and parses only the rows.
  /// Errors    setting_error if `first` or `count` is out of range; those of parse_table, with the line in
  ///           the file.
  data_table read(std::int64_t first, std::int64_t count) const;

  /// Passes the rows of all files to `use`, a block at a time: for passes over tables that are larger than
  /// memory, such as those of fitted_pipeline. `format` states for the columns that it names whether they
  /// contain numbers or texts; for any other column, the rows of each block decide.
  ///
  ///     fitted_pipeline const prepared(how, [&](auto const& use) { rows.for_each_block(use); });
  ///
  /// Before    if `use` comes from a fitted_pipeline, the settings' `format` is format_of(how.schema).
  /// Errors    as parse_table, with the line in the file; file_error if a file has changed its size.
  void for_each_block(std::function<void(data_table const&)> const& use) const;
  /// Like the overload above, but passes the data_error of a damaged block to `damaged` and continues with
  /// the next block. Errors of `use` end the call.
  void for_each_block(std::function<void(data_table const&)> const& use,
                      std::function<void(data_error const&)> const& damaged) const;

  /// Returns the rows as a data set, encoded by `encoder`, which decides which columns contain numbers and
  /// which contain texts.
  ///
  /// Shapes    those of the encoder's examples; without targets if the files do not have the encoder's target
  ///           column.
  /// Cost      for an example whose block is not cached, the whole block is read, parsed and encoded.
  ///           Therefore, shuffle with fit_settings::blocks.
  /// Errors    setting_error if a column does not exist. data_error without rows. get: as parse_table with
  ///           the line in the file, and as table_encoder::examples with the row in the file; file_error if a
  ///           file has changed its size.
  dataset examples(table_encoder const& encoder) const;

 private:
  friend class detail::table_row_examples;
  struct content;

  std::shared_ptr<content const> content_;
};

}  // namespace cohort
