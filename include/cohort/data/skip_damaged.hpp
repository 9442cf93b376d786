// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/batch_writer.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace cohort {

/// Reports of skip_damaged.
struct damage_reports {
  sink log{};  ///< receives the message of each skipped read, from one thread at a time
  /// Counts the skipped reads: an example that is read in two epochs counts twice. May be null.
  std::shared_ptr<std::atomic<std::int64_t>> skipped{};
};

namespace detail {

/// Checks examples, and replaces damaged ones.
class damage_guard {
 public:
  damage_guard(data_description description, damage_reports reports);

  data_description const& description() const { return description_; }
  void check(example_view const& example, std::int64_t index) const;
  void replace(data_error const& problem, example_view& example) const;

 private:
  data_description description_;
  batch_writer writer_;
  damage_reports reports_;
  std::shared_ptr<std::mutex> log_mutex_ = std::make_shared<std::mutex>();
};

}  // namespace detail

/// A data set whose damaged examples have weight 0. Created by skip_damaged.
template <indexed_dataset D>
class damage_skipping {
 public:
  damage_skipping(D data, damage_reports reports)
      : data_(std::move(data)), guard_(data_.describe(), std::move(reports)) {}

  data_description const& describe() const& { return guard_.description(); }
  data_description describe() && { return guard_.description(); }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
  std::optional<std::int64_t> label(std::int64_t i) const { return detail::label_in(data_, i); }
  std::optional<int> length(std::int64_t i) const { return detail::length_in(data_, i); }
  void get(std::int64_t i, example_view& out) const {
    try {
      detail::get_example(data_, i, out);
      guard_.check(out, i);
    } catch (data_error const& problem) {
      guard_.replace(problem, out);
    }
  }

 private:
  D data_;
  detail::damage_guard guard_;
};

/// Returns a data set in which damaged examples do not stop a run.
///
/// After     describe().weighted is true. If reading an example throws data_error, or its class label or
///           weight is not valid, the example has zeros and weight 0. It contributes to no loss, metric or
///           normalisation of the data, and means remain exact. With batch_norm, such an example changes the
///           outputs of the other examples in the batch.
/// Errors    get: all but data_error, for example file_error if a file cannot be read.
template <indexed_dataset D>
damage_skipping<D> skip_damaged(D data, damage_reports reports = {}) {
  return {std::move(data), std::move(reports)};
}

}  // namespace cohort
