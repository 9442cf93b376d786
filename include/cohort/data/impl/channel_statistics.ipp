// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/channel_statistics.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <limits>
#include <string>
#include <utility>

namespace cohort::detail {

inline constexpr std::size_t sums_of_feature = 5;

channel_statistics::channel_statistics(data_description const& description, normalisation_settings const& how)
    : inputs_(description.inputs.size()), targets_(description.targets.size()) {
  auto const add_parts = [&](std::vector<tensor_description> const& all, bool input, rescaling rescaled) {
    for (std::size_t which = 0; rescaled != rescaling::none && which < all.size(); ++which) {
      tensor_description const& what = all[which];
      bool const numbers = what.type == element_type::f32 || what.type == element_type::f64;
      if (!numbers || what.features == feature_axis::none) continue;  // labels, or indices for an embedding
      shape const& dims = what.example;
      bool const sequence = dims.rank == 2;
      auto const features = static_cast<std::size_t>(dims.rank == 0 ? 1 : channels_of(dims));
      std::size_t const each = static_cast<std::size_t>(dims.elements()) / features;
      parts_.push_back({input, which, what.name, rescaled, each, sequence ? features : 1, sequence ? 1 : each,
                        what.mask, std::vector<feature>(features)});
    }
  };
  add_parts(description.inputs, true, how.inputs);
  std::size_t const of_inputs = parts_.size();
  add_parts(description.targets, false, how.targets);
  if (how.targets == rescaling::none || description.targets.empty() || parts_.size() > of_inputs) return;
  tensor_description const& first = description.targets.front();
  bool const labels = first.type == element_type::i32;
  throw setting_error(
      {.what = labels ? "class labels cannot be rescaled" : "this target cannot be rescaled",
       .where = {"target ", first.name},
       .expected = "numbers without bounds, or normalisation_settings::targets = rescaling::none",
       .got = labels ? "class labels" : "probabilities, or numbers without features"});
}

void channel_statistics::feature::merge(feature const& more) {
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

channel_scaling channel_statistics::feature::map(part const& of, std::size_t channel) const {
  if (!(count > 0))
    throw data_error({.what = "there are no examples to fit a normalisation to",
                      .where = "fit_normalisation",
                      .expected = "at least 1",
                      .got = "0"});
  bool const is_constant = !(highest > lowest);  // the deviation would be a rounding error
  bool const standardises = of.how == rescaling::standardise && !is_constant;
  double const unit = is_constant ? 1 : standardises ? std::sqrt(squares / count) : highest - lowest;
  channel_scaling const made = channel_scaling::from(standardises ? mean : lowest, unit);
  if (made.scale == 0 || !is_finite(made.scale) || !is_finite(made.offset) || !is_finite(mean))
    throw data_error({.what = "numbers cannot be rescaled",
                      .where = {of.input ? "input " : "target ", of.name, ", channel ", channel},
                      .expected = "finite numbers; deviation, range and their reciprocals must be finite",
                      .got = {"mean ", mean, ", ", standardises ? "deviation " : "range ", unit}});
  return made;
}

template <class T>
void channel_statistics::add_to(part& to, std::span<T const> values, std::uint8_t const* steps,
                                std::span<float const> weights) {
  std::size_t const elements = to.each * to.features.size();
  for (std::size_t f = 0; f < to.features.size(); ++f) {
    auto const for_each = [&](auto visit) {
      std::uint8_t const* step = steps;
      for (std::size_t row = f * to.distance; row < values.size(); row += elements) {
        bool const counts = weights.empty() || weights[row / elements] != 0;
        for (std::size_t i = 0; i < to.each; ++i)
          if ((!step || *step++ != 0) && counts) visit(static_cast<double>(values[row + i * to.step]));
      }
    };
    feature batch{.lowest = std::numeric_limits<double>::infinity(),
                  .highest = -std::numeric_limits<double>::infinity()};
    double sum = 0;
    for_each([&](double x) {
      sum += x;
      ++batch.count;
      batch.lowest = std::min(batch.lowest, x);
      batch.highest = std::max(batch.highest, x);
    });
    if (batch.count == 0) continue;
    batch.mean = sum / batch.count;
    for_each([&](double x) { batch.squares += (x - batch.mean) * (x - batch.mean); });
    to.features[f].merge(batch);
  }
}

void channel_statistics::add(batch const& examples) {
  for (part& one : parts_) {
    tensor_view const values = one.input ? examples.input(one.which) : examples.target(one.which);
    auto const* const steps =
        one.mask < 0
            ? nullptr
            : reinterpret_cast<std::uint8_t const*>(examples.mask(static_cast<std::size_t>(one.mask)).data);
    if (values.type == element_type::f64)
      add_to(one, values.as<double>(), steps, examples.weights);
    else
      add_to(one, values.as<float>(), steps, examples.weights);
  }
}

std::vector<double> channel_statistics::sums() const {
  std::vector<double> all;
  for (part const& one : parts_)
    for (feature const& f : one.features)
      all.insert(all.end(), {f.count, f.mean, f.squares, f.lowest, f.highest});
  return all;
}

void channel_statistics::merge(std::span<double const> sums) {
  for (part& one : parts_)
    for (feature& f : one.features) {
      f.merge({sums[0], sums[1], sums[2], sums[3], sums[4]});
      sums = sums.subspan(sums_of_feature);
    }
}

normalisation channel_statistics::result() const {
  normalisation made;
  for (part const& one : parts_) {
    std::vector<channel_scaling> maps;
    for (feature const& f : one.features) maps.push_back(f.map(one, maps.size()));
    auto& list = one.input ? made.inputs : made.targets;
    list.resize(one.input ? inputs_ : targets_);
    list[one.which] = std::move(maps);
  }
  return made;
}

}  // namespace cohort::detail
