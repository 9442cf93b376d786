// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/listener.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Measurements of each complete epoch of a fit, as columns of numbers.
///
/// Shapes    one row per epoch; columns "epoch" (from 1, counted over all fits), "loss" (training),
///           "examples" and "seconds" (training of the epoch, without validation), then the numbers of
///           fit_settings::validation: "validation loss" and the names of the metrics.
/// Exact     all numbers except the seconds are the same on every rank.
class fit_history {
 public:
  /// Number of epochs.
  std::size_t size() const { return columns_[0].size(); }
  std::span<std::string const> names() const&;
  std::span<std::string const> names() const&& = delete;  // keep the history in a variable
  /// The numbers of one column: history["accuracy"].
  ///
  /// Errors    setting_error for an unknown name, with the known names.
  std::span<double const> operator[](std::string_view name) const&;
  std::span<double const> operator[](std::string_view name) const&& = delete;  // keep it in a variable

  /// CSV text: a header and one line per epoch. Numbers have enough digits to be read back to the same bits;
  /// an undefined number is an empty field.
  std::string csv() const;

  /// Adds a row. The first row determines the columns.
  ///
  /// Errors    setting_error if the names of the metrics differ from those of the first row.
  void add(epoch_report const& done);

 private:
  std::vector<std::string> names_{"epoch", "loss", "examples", "seconds"};
  std::vector<std::vector<double>> columns_ = std::vector<std::vector<double>>(4);
};

}  // namespace cohort
