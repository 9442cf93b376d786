// SPDX-License-Identifier: Apache-2.0
#pragma once
// The points of a hyperparameter search.
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cohort_program {

/// Writes a parsed value again.
inline void write_value(cohort::io::json_writer& out, cohort::io::json_value value) {
  using kind = cohort::io::json_kind;
  switch (value.kind()) {
    case kind::null:
      out.value(nullptr);
      return;
    case kind::boolean:
      out.value(value.boolean());
      return;
    case kind::string:
      out.value(value.string());
      return;
    case kind::number:
      if (value.is_whole() && value.number() > 0)
        out.value(value.unsigned_integer());
      else if (constexpr double exact = 0x1p53; value.is_whole() && value.number() >= -exact)
        out.value(value.integer());
      else
        out.value(value.number());
      return;
    case kind::array:
      out.begin_array();
      for (cohort::io::json_value const element : value.items()) write_value(out, element);
      out.end_array();
      return;
    case kind::object:
      out.begin_object();
      for (cohort::io::json_value const field : value.items()) write_value(out.key(field.key()), field);
      out.end_object();
  }
}

/// Returns a value as JSON on one line.
template <class Value>
std::string json_of(Value const& value) {
  cohort::io::json_writer out;
  if constexpr (std::is_same_v<Value, cohort::io::json_value>)
    write_value(out, value);
  else
    out.value(value);
  return out.text();
}

/// An interval of numbers, both ends included. `points`: how many values the grid takes; 0: not set.
struct number_range {
  enum class distribution { uniform, log_uniform, integer } kind = distribution::uniform;
  double lowest = 0;
  double highest = 0;
  int points = 0;

  /// Returns the number at a fraction in [0, 1] of the interval, as JSON.
  std::string at_fraction(double fraction) const {
    if (kind != distribution::integer && (fraction == 0 || fraction == 1))
      return json_of(fraction == 0 ? lowest : highest);  // not rounded
    auto const between = [&](double value) { return json_of(std::clamp(value, lowest, highest)); };
    switch (kind) {
      case distribution::uniform:
        return between(lowest + fraction * (highest - lowest));
      case distribution::log_uniform: {
        double const first = std::log(lowest);
        return between(std::exp(first + fraction * (std::log(highest) - first)));
      }
      case distribution::integer:
        break;
    }
    return json_of(static_cast<std::int64_t>(std::llround(lowest + fraction * (highest - lowest))));
  }
};

/// One field of the document, and the values that the search tries: JSON texts, or numbers of an interval.
struct search_parameter {
  std::string path;
  std::variant<std::vector<std::string>, number_range> values;
};

/// The values of one run as JSON, in the order of the parameters.
using search_point = std::vector<std::string>;

/// The hyperparameters of a search.
///
///     {"optimizer.rule.adam.learning_rate": {"log_uniform": [1e-4, 1], "grid": 5},
///      "training.batch": [16, 32]}
///
/// Errors    data_error with line and column for a file that is not such an object; setting_error for a grid
///           with an interval without "grid", or with more than 100,000 points.
/// Exact     the points are the same on every machine with the same math library.
class search_space {
 public:
  explicit search_space(cohort::io::json_value root) : text_(json_of(root)) {
    for (cohort::io::json_value const field : root.items()) {
      if (field.key().empty()) field.refuse("the path of a field as name, such as training.batch");
      parameters_.push_back({std::string(field.key()), values_of(field)});
    }
    if (parameters_.empty()) root.refuse("at least one field");
  }

  std::vector<search_parameter> const& parameters() const { return parameters_; }
  /// Returns the space as JSON.
  std::string const& text() const { return text_; }

  /// Returns all combinations of values. The values of the last parameter change fastest.
  std::vector<search_point> grid() const {
    constexpr std::size_t most = 100'000;
    std::vector<search_point> points{{}};
    for (search_parameter const& parameter : parameters_) {
      std::vector<std::string> const values = grid_values(parameter);
      if (points.size() > most / values.size())
        throw cohort::setting_error(
            {.what = "the grid has too many points",
             .where = parameter.path,
             .expected = "at most 100000; use --method random",
             .got = std::to_string(points.size()) + " times " + std::to_string(values.size())});
      std::vector<search_point> longer;
      for (search_point const& point : points)
        for (std::string const& value : values) {
          longer.push_back(point);
          longer.back().push_back(value);
        }
      points = std::move(longer);
    }
    return points;
  }

  /// Returns the first `count` different points of the sequence of a seed. Returns fewer if the space has
  /// fewer points, or if the rest is not found in 1000 draws for each point.
  std::vector<search_point> sample(std::uint64_t seed, int count) const {
    constexpr std::uint64_t draws = 1000;
    std::vector<search_point> points;
    std::set<search_point> known;
    for (std::uint64_t draw = 0;
         std::cmp_less(points.size(), count) && draw < draws * static_cast<std::uint64_t>(count); ++draw) {
      search_point point;
      for (search_parameter const& parameter : parameters_)
        point.push_back(drawn(parameter, cohort::random_stream(seed, "tune " + parameter.path), draw));
      if (known.insert(point).second) points.push_back(std::move(point));
    }
    return points;
  }

 private:
  static std::variant<std::vector<std::string>, number_range> values_of(cohort::io::json_value from) {
    if (from.kind() == cohort::io::json_kind::array) {
      std::vector<std::string> choices;
      for (cohort::io::json_value const choice : from.items()) choices.push_back(json_of(choice));
      if (choices.empty()) from.refuse("at least one value");
      return choices;
    }
    constexpr char const* forms =
        R"(a list of values, or {"uniform": [a, b]}, {"log_uniform": [a, b]} or {"integer": [a, b]}, with or without "grid")";
    if (from.kind() != cohort::io::json_kind::object) from.refuse(forms);
    from.expect_only({"uniform", "log_uniform", "integer", "grid"});
    auto const points = from.find("grid");
    if (from.size() != (points ? 2U : 1U)) from.refuse(forms);
    number_range range;
    constexpr int most_points = 10'000;
    if (points) range.points = static_cast<int>(points->integer(1, most_points));
    auto const read = [&](char const* name, number_range::distribution kind) {
      auto const ends = from.find(name);
      if (!ends) return;
      if (ends->kind() != cohort::io::json_kind::array || ends->size() != 2)
        ends->refuse("a list of two numbers");
      range.kind = kind;
      bool const whole = kind == number_range::distribution::integer;
      constexpr std::int64_t largest = std::int64_t{1} << 53;  // exact as double
      auto const number = [&](std::size_t index) {
        json_value const end = ends->at(index);
        return whole ? static_cast<double>(end.integer(-largest, largest)) : end.number();
      };
      range.lowest = number(0);
      range.highest = number(1);
      if (!(range.lowest <= range.highest)) ends->refuse("the smaller number first");
      if (kind == number_range::distribution::log_uniform && !(range.lowest > 0))
        ends->refuse("numbers above 0");
      if (!std::isfinite(range.highest - range.lowest)) ends->refuse("a finite interval");
    };
    read("uniform", number_range::distribution::uniform);
    read("log_uniform", number_range::distribution::log_uniform);
    read("integer", number_range::distribution::integer);
    return range;
  }

  static std::vector<std::string> grid_values(search_parameter const& parameter) {
    if (auto const* const choices = std::get_if<std::vector<std::string>>(&parameter.values)) return *choices;
    auto const& range = std::get<number_range>(parameter.values);
    if (range.points == 0)
      throw cohort::setting_error({.what = "a grid needs the number of values of each interval",
                                   .where = parameter.path,
                                   .expected = R"("grid": N beside the interval)",
                                   .got = "none"});
    std::vector<std::string> values;
    for (int k = 0; k < range.points; ++k) {
      std::string value =
          range.at_fraction(range.points == 1 ? 0.5 : static_cast<double>(k) / (range.points - 1));
      if (values.empty() || values.back() != value) values.push_back(std::move(value));  // rounded integers
    }
    return values;
  }

  static std::string drawn(search_parameter const& parameter, cohort::random_stream const& numbers,
                           std::uint64_t draw) {
    if (auto const* const choices = std::get_if<std::vector<std::string>>(&parameter.values))
      return (*choices)[numbers.below(draw, choices->size())];
    auto const& range = std::get<number_range>(parameter.values);
    if (range.kind != number_range::distribution::integer)
      return range.at_fraction(numbers.uniform01<double>(draw));
    auto const count = static_cast<std::uint64_t>(range.highest - range.lowest) + 1;
    return json_of(static_cast<std::int64_t>(range.lowest)
                   + static_cast<std::int64_t>(numbers.below(draw, count)));
  }

  using json_value = cohort::io::json_value;
  std::vector<search_parameter> parameters_;
  std::string text_;
};

/// One stage of a search: the number of runs, and the epochs that each one has trained at the end.
struct search_rung {
  int runs = 0;
  int epochs = 0;  ///< 0: those of the document
};

/// Returns the rungs of successive halving: the last one trains `epochs` epochs, and each rung has 1/`factor`
/// of the runs of the rung before and `factor` times its epochs. There are as many rungs as `runs` and
/// `epochs` permit.
///
/// Source    Jamieson and Talwalkar, AISTATS 2016; the rungs of a bracket of Li et al., Hyperband, JMLR 2018.
inline std::vector<search_rung> halving_rungs(int runs, int epochs, int factor) {
  std::vector<search_rung> rungs;
  int divisor = 1;  // factor to the power of the number of rungs after the first one
  while (runs / divisor >= factor && epochs / divisor >= factor) divisor *= factor;
  for (int done = 1; divisor >= 1; divisor /= factor, done *= factor)
    rungs.push_back({runs / done, epochs / divisor});
  return rungs;
}

}  // namespace cohort_program
