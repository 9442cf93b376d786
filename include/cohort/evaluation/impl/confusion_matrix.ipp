// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/confusion_matrix.hpp>
#include <string>

namespace cohort {

confusion_matrix::confusion_matrix(int classes, zero_division undefined)
    : classes_(classes), undefined_(undefined) {
  if (classes < 2 || classes > 100'000) {
    throw setting_error({.what = "cannot create a confusion matrix",
                         .where = "classes",
                         .expected = "2 to 100000",
                         .got = {classes}});
  }
  counts_.resize(at(classes) * at(classes));
}

void confusion_matrix::add(int actual, int predicted) {
  ++counts_[at(actual) * at(classes_) + at(predicted)];
  ++examples_;
}

void confusion_matrix::merge(confusion_matrix const& other) {
  if (classes_ != other.classes_) {
    throw setting_error({.what = "cannot merge confusion matrices",
                         .where = "classes",
                         .expected = {classes_},
                         .got = {other.classes_}});
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  examples_ += other.examples_;
}

void confusion_matrix::write(detail::report_writer& out) const {
  out.natural(static_cast<std::uint64_t>(examples_));
  std::size_t next = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    out.natural(i - next).natural(static_cast<std::uint64_t>(counts_[i]));
    next = i + 1;
  }
}

void confusion_matrix::read(detail::report_reader& in, std::int64_t most) {
  std::int64_t const examples = in.count("examples", 0, most);
  for (std::size_t next = 0; examples_ < examples; ++next) {
    if (next == counts_.size())
      in.refuse("counts", detail::text_of({examples, " examples in all"}), std::to_string(examples_));
    next += in.natural("empty counts", 0, counts_.size() - 1 - next);
    counts_[next] = in.count("count", 1, examples - examples_);
    examples_ += counts_[next];
  }
}

void confusion_matrix::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  examples_ = 0;
}

std::int64_t confusion_matrix::count(int actual, int predicted) const {
  return counts_[at(actual) * at(classes_) + at(predicted)];
}

binary_counts confusion_matrix::of(int c) const {
  binary_counts result;
  result.true_positive = count(c, c);
  for (int other = 0; other < classes_; ++other) {
    if (other == c) continue;
    result.false_negative += count(c, other);
    result.false_positive += count(other, c);
  }
  result.true_negative = examples_ - result.predicted() - result.false_negative;
  return result;
}

std::int64_t confusion_matrix::correct() const {
  std::int64_t sum = 0;
  for (int c = 0; c < classes_; ++c) sum += count(c, c);
  return sum;
}

std::optional<double> confusion_matrix::accuracy() const {
  if (examples_ == 0) return std::nullopt;
  return static_cast<double>(correct()) / static_cast<double>(examples_);
}

std::optional<double> confusion_matrix::precision(averaging how) const {
  return average(how, [](auto const& c) { return c.precision(); }).value;
}

std::optional<double> confusion_matrix::recall(averaging how) const {
  return average(how, [](auto const& c) { return c.recall(); }).value;
}

std::optional<double> confusion_matrix::f_beta(averaging how, double beta) const {
  return average(how, [&](auto const& c) { return c.f_beta(beta); }).value;
}

std::optional<double> confusion_matrix::g_measure(averaging how) const {
  return average(how, [](auto const& c) { return c.g_measure(); }).value;
}

std::optional<double> confusion_matrix::mcc(averaging how) const {
  return average(how, [](auto const& c) { return c.mcc(); }).value;
}

std::optional<double> confusion_matrix::mcc() const {
  double const s = static_cast<double>(examples_);
  double both = 0, predicted = 0, actual = 0;
  for (int k = 0; k < classes_; ++k) {
    binary_counts const c = of(k);
    double const p = static_cast<double>(c.predicted()), t = static_cast<double>(c.actual());
    both += p * t, predicted += p * p, actual += t * t;
  }
  double const whole = std::sqrt((s * s - predicted) * (s * s - actual));
  if (!(whole > 0)) return std::nullopt;
  return (static_cast<double>(correct()) * s - both) / whole;
}

}  // namespace cohort
