// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/data/channel_statistics.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>

namespace cohort::detail {

/// Count, mean, and sum of squared distances from the mean.
struct running_moments {
  double count = 0;
  double mean = 0;
  double squares = 0;

  template <class T>
  static running_moments of(T const* first, std::size_t n) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(first[i]);
    double const mean = sum / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      double const distance = static_cast<double>(first[i]) - mean;
      squares += distance * distance;
    }
    return {static_cast<double>(n), mean, squares};
  }
  /// Source    Chan, Golub and LeVeque, 1979.
  void merge(running_moments const& other) {
    double const whole = count + other.count, distance = other.mean - mean;
    squares += other.squares + distance * distance * count * other.count / whole;
    mean += distance * other.count / whole;
    count = whole;
  }
};

template <class T>
void add_examples(std::vector<running_moments>& channels, batch const& from) {
  T const* first = from.input().as<T>().data();
  std::size_t const places = static_cast<std::size_t>(from.inputs[0].example.elements()) / channels.size();
  for (int n = 0; n < from.count; ++n)
    for (running_moments& one : channels) {
      one.merge(running_moments::of(first, places));
      first += places;
    }
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE channel_normalisation channel_statistics(dataset const& data, int readers) {
  data_description const& what = data.describe();
  using enum element_type;
  if (what.inputs.empty() || what.inputs[0].example.rank == 0
      || (what.inputs[0].type != f32 && what.inputs[0].type != f64))
    throw shape_error({.what = "only numbers with channels have channel statistics",
                       .where = what.inputs.empty() ? "" : what.inputs[0].name,
                       .expected = "a first input of channels x ..., f32 or f64",
                       .got = what.inputs.empty() ? std::string("none")
                                                  : to_string(what.inputs[0].example) + " x "
                                                        + std::string(name_of(what.inputs[0].type))});
  std::vector<detail::running_moments> channels(static_cast<std::size_t>(what.inputs[0].example[0]));
  loader batches(data, {.shuffle = false, .readers = readers});
  batches.start(0);
  while (batch const* const next = batches.next())
    if (what.inputs[0].type == f32)
      detail::add_examples<float>(channels, *next);
    else
      detail::add_examples<double>(channels, *next);
  channel_normalisation made;
  for (detail::running_moments const& one : channels) {
    made.mean.push_back(one.mean);
    made.deviation.push_back(std::sqrt(one.squares / one.count));
  }
  return made;
}

}  // namespace cohort
