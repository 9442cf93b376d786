// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/binary_counts.hpp>

namespace cohort {

std::optional<double> binary_counts::precision() const {
  return ratio(number(true_positive), number(predicted()));
}

std::optional<double> binary_counts::recall() const { return ratio(number(true_positive), number(actual())); }

std::optional<double> binary_counts::f_beta(double beta) const {
  if (!(beta > 0 && beta < 1e100)) {
    throw setting_error({.what = "the beta of F-beta is out of range",
                         .where = "beta",
                         .expected = "above 0 and below 1e100",
                         .got = {beta}});
  }
  double const hits = (1 + beta * beta) * number(true_positive);
  return ratio(hits, hits + beta * beta * number(false_negative) + number(false_positive));
}

std::optional<double> binary_counts::g_measure() const {
  return ratio(number(true_positive), std::sqrt(number(predicted()) * number(actual())));
}

std::optional<double> binary_counts::mcc() const {
  double const tp = number(true_positive), fp = number(false_positive);
  double const fn = number(false_negative), tn = number(true_negative);
  return ratio(tp * tn - fp * fn, std::sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)));
}

binary_counts& binary_counts::operator+=(binary_counts const& other) {
  true_positive += other.true_positive;
  false_positive += other.false_positive;
  false_negative += other.false_negative;
  true_negative += other.true_negative;
  return *this;
}

std::optional<double> binary_counts::ratio(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace cohort
