// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/channel_statistics.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <string>
#include <utility>

namespace cohort::detail {

inline constexpr std::size_t sums_of_channel = 5;

/// Number of channels of a part: its first axis; 1 for a scalar.
COHORT_CORE_INLINE std::size_t channels_of(tensor_description const& part) {
  return part.example.rank == 0 ? 1 : static_cast<std::size_t>(part.example[0]);
}

COHORT_CORE_INLINE channel_statistics::channel_statistics(data_description const& description,
                                                          normalisation_settings const& how)
    : inputs_(description.inputs.size()), targets_(description.targets.size()) {
  auto const add_parts = [&](std::vector<tensor_description> const& all, bool input, rescaling rescaled) {
    for (std::size_t which = 0; rescaled != rescaling::none && which < all.size(); ++which) {
      bool const numbers = all[which].type == element_type::f32 || all[which].type == element_type::f64;
      if (!numbers && !input)
        throw setting_error({.what = "class labels cannot be rescaled",
                             .where = {"target ", all[which].name},
                             .expected = "numbers, or normalisation_settings::targets = rescaling::none",
                             .got = std::string(name_of(all[which].type))});
      if (!numbers) continue;  // indices, for an embedding
      std::size_t const channels = channels_of(all[which]);
      auto const elements = static_cast<std::size_t>(all[which].example.elements());
      parts_.push_back({input, which, rescaled, elements / channels, std::vector<channel>(channels)});
    }
  };
  add_parts(description.inputs, true, how.inputs);
  add_parts(description.targets, false, how.targets);
}

COHORT_CORE_INLINE void channel_statistics::channel::merge(channel const& more) {
  if (!(more.count > 0)) return;
  if (!(count > 0)) {
    *this = more;
    return;
  }
  double const all = count + more.count, difference = more.mean - mean;
  squares += more.squares + difference * difference * (count * (more.count / all));
  mean += difference * (more.count / all);
  count = all;
  lowest = std::min(lowest, more.lowest);
  highest = std::max(highest, more.highest);
}

template <class T>
void channel_statistics::add_to(part& to, std::span<T const> values) {
  std::size_t const elements = to.each * to.channels.size();
  if (values.empty()) return;
  for (std::size_t c = 0; c < to.channels.size(); ++c) {
    channel batch{.lowest = static_cast<double>(values[c * to.each]),
                  .highest = static_cast<double>(values[c * to.each])};
    auto const for_each = [&](auto f) {
      for (std::size_t row = c * to.each; row < values.size(); row += elements)
        for (std::size_t i = row; i < row + to.each; ++i) f(static_cast<double>(values[i]));
    };
    double sum = 0;
    for_each([&](double x) {
      sum += x;
      batch.lowest = std::min(batch.lowest, x);
      batch.highest = std::max(batch.highest, x);
    });
    batch.count = static_cast<double>(values.size() / elements * to.each);
    batch.mean = sum / batch.count;
    for_each([&](double x) { batch.squares += (x - batch.mean) * (x - batch.mean); });
    to.channels[c].merge(batch);
  }
}

COHORT_CORE_INLINE void channel_statistics::add(batch const& examples) {
  for (part& one : parts_) {
    tensor_view const values = one.input ? examples.input(one.which) : examples.target(one.which);
    if (values.type == element_type::f64)
      add_to(one, values.as<double>());
    else
      add_to(one, values.as<float>());
  }
}

COHORT_CORE_INLINE std::vector<double> channel_statistics::sums() const {
  std::vector<double> all;
  for (part const& one : parts_)
    for (channel const& c : one.channels)
      all.insert(all.end(), {c.count, c.mean, c.squares, c.lowest, c.highest});
  return all;
}

COHORT_CORE_INLINE void channel_statistics::merge(std::span<double const> sums) {
  for (part& one : parts_)
    for (channel& c : one.channels) {
      c.merge({sums[0], sums[1], sums[2], sums[3], sums[4]});
      sums = sums.subspan(sums_of_channel);
    }
}

COHORT_CORE_INLINE normalisation channel_statistics::result() const {
  normalisation made;
  for (part const& one : parts_) {
    std::vector<channel_scaling> map;
    for (channel const& c : one.channels) {
      if (!(c.count > 0))
        throw data_error(
            {.what = "there are no examples to fit a normalisation to", .expected = "at least 1"});
      bool const standardised = one.how == rescaling::standardise;
      double const width = standardised ? std::sqrt(c.squares / c.count) : c.highest - c.lowest;
      double const scale =
          c.highest > c.lowest ? 1 / width : 1;  // of equal values, width is a rounding error
      map.push_back({scale, -(standardised && c.highest > c.lowest ? c.mean : c.lowest) * scale});
    }
    auto& list = one.input ? made.inputs : made.targets;
    list.resize(one.input ? inputs_ : targets_);
    list[one.which] = std::move(map);
  }
  return made;
}

}  // namespace cohort::detail
