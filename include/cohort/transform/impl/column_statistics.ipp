// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/column_statistics.hpp>
#include <numeric>
#include <utility>

namespace cohort::detail {

void column_statistics::require_room(std::size_t size) const {
  if (size > max_distinct_)
    throw data_error({.what = "a column has too many different values to count",
                      .where = place_,
                      .expected = {"at most ", max_distinct_, " (transform_settings::max_distinct)"},
                      .got = "more"});
}

void column_statistics::require_values(bool any) const {
  if (!any)
    throw data_error({.what = "a step has no values to learn from",
                      .where = place_,
                      .expected = "at least 1 value in the training rows that is not missing",
                      .got = "none"});
}

void column_statistics::count_number(double value, std::uint64_t times) {
  numbers_[value + 0.0] += times;  // −0 is 0
  require_room(numbers_.size());
}

void column_statistics::count_text(std::string const& text, std::uint64_t times) {
  texts_[text] += times;
  require_room(texts_.size());
}

void column_statistics::add(table_column const& column) {
  if (what_ == counted::texts) {
    std::vector<std::uint64_t> times(column.vocabulary.size());
    for (std::int32_t const code : column.codes)
      code >= 0 ? ++times[static_cast<std::size_t>(code)] : ++missing_;
    for (std::size_t code = 0; code < times.size(); ++code)
      if (times[code] > 0) count_text(column.vocabulary[code], times[code]);
    return;
  }
  for (double const number : column.f64) {
    if (!is_finite(number)) {
      ++missing_;
      continue;
    }
    double const value = number + 0.0;  // −0 is 0
    if (what_ == counted::numbers) {
      count_number(value, 1);
      continue;
    }
    lowest_ = count_ == 0 ? value : std::min(lowest_, value);
    highest_ = count_ == 0 ? value : std::max(highest_, value);
    ++count_;
    sum_.add(value);
    squares_.add_square(value);
  }
}

void column_statistics::write(byte_writer& out) const {
  out.word(missing_);
  if (what_ == counted::moments) {
    out.word(count_).real(lowest_).real(highest_);
    sum_.write(out);
    squares_.write(out);
  } else if (what_ == counted::numbers) {
    out.word(numbers_.size());
    for (auto const& [value, times] : numbers_) out.real(value).word(times);
  } else {
    out.word(texts_.size());
    for (auto const& [text, times] : texts_) out.word(times).text(text);
  }
}

void column_statistics::merge(byte_reader& in) {
  missing_ += in.word();
  if (what_ == counted::moments) {
    std::uint64_t const count = in.word();
    double const lowest = in.real(), highest = in.real();
    if (count > 0 && !(is_finite(lowest) && is_finite(highest) && lowest <= highest))
      in.refuse("a range of finite numbers", text_of({lowest, " to ", highest}));
    exact_sum const sum = exact_sum::read(in), squares = exact_sum::read(in);
    if (count == 0) return;
    lowest_ = count_ == 0 ? lowest : std::min(lowest_, lowest);
    highest_ = count_ == 0 ? highest : std::max(highest_, highest);
    count_ += count;
    sum_.merge(sum);
    squares_.merge(squares);
  } else if (what_ == counted::numbers) {
    for (std::size_t left = in.count(16); left > 0; --left) {
      double const value = in.real();
      if (!is_finite(value)) in.refuse("a finite number", text_of({value}));
      count_number(value, in.word());
    }
  } else {
    for (std::size_t left = in.count(16); left > 0; --left) {
      std::uint64_t const times = in.word();
      count_text(std::string(in.text()), times);
    }
  }
}

double column_statistics::mean() const {
  require_values(count_ > 0);
  scaled_number const sum = sum_.rounded();
  return std::ldexp(sum.fraction / static_cast<double>(count_), sum.exponent);
}

double column_statistics::deviation() const {
  require_values(count_ > 0);
  scaled_number spread = sum_.spread(count_, squares_);
  if (spread.exponent % 2 != 0) {
    spread.fraction *= 2;
    --spread.exponent;
  }
  return std::ldexp(std::sqrt(spread.fraction) / static_cast<double>(count_), spread.exponent / 2);
}

double column_statistics::lowest() const { return require_values(count_ > 0), lowest_; }
double column_statistics::highest() const { return require_values(count_ > 0), highest_; }

std::vector<double> column_statistics::sorted_numbers() const {
  require_values(!numbers_.empty());
  std::vector<double> sorted;
  for (auto const& [value, times] : numbers_) sorted.push_back(value);
  std::ranges::sort(sorted);
  return sorted;
}

double column_statistics::median() const {
  std::vector<double> const sorted = sorted_numbers();
  std::uint64_t count = 0;
  for (auto const& [value, times] : numbers_) count += times;
  auto const nth = [&](std::uint64_t n) {
    std::size_t i = 0;
    for (std::uint64_t before = numbers_.at(sorted[0]); before <= n; before += numbers_.at(sorted[i])) ++i;
    return sorted[i];
  };
  double const low = nth((count - 1) / 2), high = nth(count / 2);
  return std::midpoint(low, high);
}

double column_statistics::most_frequent_number() const {
  double best = 0;
  std::uint64_t most = 0;
  for (double const value : sorted_numbers())
    if (numbers_.at(value) > most) {
      best = value;
      most = numbers_.at(value);
    }
  return best;
}

std::vector<std::string> column_statistics::values() const {
  require_values(!texts_.empty());
  std::vector<std::string> sorted;
  for (auto const& [text, times] : texts_) sorted.push_back(text);
  std::ranges::sort(sorted);
  return sorted;
}

column_facts column_statistics::facts() const {
  column_facts made{
      .place = place_, .missing = static_cast<std::int64_t>(missing_), .is_text = what_ == counted::texts};
  if (!made.is_text) {
    made.values = static_cast<std::int64_t>(count_);
    made.different = count_ == 0 ? 0 : highest_ > lowest_ ? 2 : 1;
    return made;
  }
  if (texts_.empty()) return made;
  for (std::string const& text : values())  // sorted: the first quantity determines the sign
    made.add(text, static_cast<std::int64_t>(texts_.find(text)->second));
  return made;
}

std::string column_statistics::most_frequent_text() const {
  std::string best;
  std::uint64_t most = 0;
  for (std::string const& text : values())
    if (texts_.find(text)->second > most) {
      best = text;
      most = texts_.find(text)->second;
    }
  return best;
}

step_statistics::step_statistics(pipeline_program const& program, std::size_t step,
                                 table_schema const& schema, std::size_t max_distinct)
    : step_value_(program.how.steps[step]),
      step_(step),
      place_(place_of_step(program.how, step)),
      names_(columns_read_by(program, step)) {
  using enum pipeline::replacement;
  auto const* const impute = std::get_if<pipeline::impute>(&step_value_);
  for (std::string const& name : names_) {
    bool const is_text = !schema.find(name)->has_numbers();
    bool const counts = impute && (impute->with == median || impute->with == most_frequent);
    is_text_.push_back(is_text);
    columns_.emplace_back(is_text  ? counted::texts
                          : counts ? counted::numbers
                                   : counted::moments,
                          place_ + ", column " + name, max_distinct);
  }
}

void step_statistics::add(table_content const& rows) {
  for (std::size_t c = 0; c < names_.size(); ++c)
    columns_[c].add(rows.columns[rows.by_name.find(names_[c])->second]);
}

void step_statistics::write(byte_writer& out) const {
  for (column_statistics const& one : columns_) one.write(out);
}

void step_statistics::merge(byte_reader& in) {
  for (column_statistics& one : columns_) one.merge(in);
}

fitted_column step_statistics::rescaled(std::size_t column, rescaling how) const {
  column_statistics const& of = columns_[column];
  double const lowest = of.lowest(), highest = of.highest();
  fitted_column made{.column = names_[column]};
  bool const is_constant = !(highest > lowest);
  bool const standardises = how == rescaling::standardise && !is_constant;
  made.zero = standardises ? of.mean() : lowest;
  made.unit = is_constant ? 1 : standardises ? of.deviation() : highest - lowest;
  if (!is_finite(made.unit) || !(made.unit > 0) || !is_finite(1 / made.unit))
    throw data_error({.what = "numbers cannot be rescaled",
                      .where = {place_, ", column ", made.column},
                      .expected = "numbers whose deviation or range, and its reciprocal, are finite",
                      .got = {standardises ? "deviation " : "range ", made.unit}});
  return made;
}

void step_statistics::check(std::vector<std::string>& notices) const {
  if (std::holds_alternative<pipeline::impute>(step_value_)) return;
  for (column_statistics const& one : columns_) check_column(one.facts(), &notices);
}

std::vector<fitted_column> step_statistics::result() const {
  using enum pipeline::replacement;
  std::vector<fitted_column> all;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (auto const* const normalise = std::get_if<pipeline::normalise>(&step_value_)) {
      all.push_back(rescaled(c, normalise->how));
      continue;
    }
    fitted_column& made = all.emplace_back(fitted_column{.column = names_[c]});
    if (auto const* const categories = std::get_if<pipeline::categories>(&step_value_)) {
      made.values = columns_[c].values();
      if (!categories->other.empty()
          && std::ranges::find(made.values, categories->other) == made.values.end())
        made.values.push_back(categories->other);
      continue;
    }
    auto const with = std::get<pipeline::impute>(step_value_).with;
    if (is_text_[c] != 0)
      made.text = columns_[c].most_frequent_text();
    else
      made.number = with == mean     ? columns_[c].mean()
                    : with == median ? columns_[c].median()
                                     : columns_[c].most_frequent_number();
  }
  return all;
}

}  // namespace cohort::detail
