// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <vector>

namespace cohort {

/// Settings of split and k_fold.
struct split_settings {
  std::uint64_t seed = 0;
  /// Whether each class of the first target is divided in the same proportion. This reads the label of every
  /// example, and the whole example if the data is neither in memory nor has a member label
  /// (indexed_dataset).
  bool stratified = false;
};

/// A data set in two parts: auto [training, held_out] = split(data, 0.8).
struct data_split {
  dataset training;
  dataset held_out;
};

/// Divides a data set randomly, without copies: `training_fraction` of the examples are for training. Both
/// parts keep the order of `data`, because loaders shuffle.
///
/// Shapes    training has round(training_fraction · size) examples; if stratified, it has this
///           fraction of each class, rounded up or down.
/// Errors    setting_error if the fraction is not between 0 and 1, if a part would be empty, if `data` is a
///           stream, or if `stratified` is set and the first target is not one class label. data_error for an
///           invalid label.
/// Exact     the parts depend only on (seed, fraction, size), and if stratified on the labels.
data_split split(dataset const& data, double training_fraction, split_settings const& settings = {});

/// Divides a data set into one part per fraction: split(data, {0.7, 0.15, 0.15}).
///
/// Errors    as for two parts. setting_error if the sum of the fractions is not 1.
std::vector<dataset> split(dataset const& data, std::vector<double> const& fractions,
                           split_settings const& settings = {});

/// Divides a data set for cross-validation: into k parts, each of which is held out once.
///
/// Shapes    the sizes of the parts differ by at most 1; if stratified, the parts' numbers of examples of
///           each class differ by at most 1, too.
/// Errors    as split. setting_error unless 2 ≤ k ≤ size.
std::vector<data_split> k_fold(dataset const& data, int k, split_settings const& settings = {});

}  // namespace cohort
