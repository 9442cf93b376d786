// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/normalisation.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Mean, variance, smallest and largest value per feature of the parts that a normalisation rescales, without
/// padding. Each rank adds its examples; the ranks' sums are merged.
///
/// Exact     the same batches in the same order give the same bits; merged statistics equal the statistics of
///           all examples up to a relative difference of 1e-12.
/// Source    Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample variances,
///           1979.
class channel_statistics {
 public:
  explicit channel_statistics(data_description const& description, normalisation_settings const& how);

  void add(batch const& examples);
  /// Returns all sums, five per feature. The number of sums depends only on description and settings.
  std::vector<double> sums() const;
  /// Adds the sums of other statistics.  Before: `sums` has as many elements as sums().
  void merge(std::span<double const> sums);

  /// Returns the maps that normalise these features.  Errors: data_error if there are no examples, or if a
  /// map's scale would be 0 or a map would not be finite.
  normalisation result() const;

 private:
  struct part;
  struct feature {
    double count = 0, mean = 0, squares = 0, lowest = 0, highest = 0;  // squares: Σ (x − mean)²
    void merge(feature const& more);
    channel_scaling map(part const& of, std::size_t channel) const;
  };
  struct part {
    bool input;
    std::size_t which;  // index among the inputs or targets
    std::string name;
    rescaling how;
    std::size_t each;      // elements of a feature in an example
    std::size_t step;      // between these elements
    std::size_t distance;  // from a feature's first element to the next feature's first
    int mask;              // index of the part's mask in the batch; −1: none
    std::vector<feature> features;
  };

  template <class T>
  static void add_to(part& to, std::span<T const> values, std::uint8_t const* steps,
                     std::span<float const> weights);

  std::size_t inputs_;
  std::size_t targets_;
  std::vector<part> parts_;
};

}  // namespace cohort::detail
