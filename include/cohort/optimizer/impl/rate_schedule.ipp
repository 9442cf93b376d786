// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/optimizer/rate_schedule.hpp>
#include <numbers>
#include <string>

namespace cohort::detail {

/// Half a cosine wave from `a` at t = 0 to `b` at t = 1.
double half_cosine(double a, double b, double t) {
  return a + (b - a) * (1 - std::cos(std::numbers::pi * t)) / 2;
}

}  // namespace cohort::detail

namespace cohort {

double rate_schedule::value(std::int64_t step, std::int64_t epoch) const {
  auto const counted = [&](schedule::unit by) {
    return detail::real(by == schedule::unit::step ? step : epoch);
  };
  double const now = value_at(counted(by_));
  if (warm_up_ <= 0) return now;
  double const progress = (counted(warm_up_by_) + 1) / warm_up_;
  return progress < 1 ? progress * now : now;
}

std::vector<rate_schedule::extent> rate_schedule::extents() const {
  std::vector<extent> all;
  auto const add = [&](std::string_view field, double length, bool is_decay) {
    all.push_back({name(), field, length, by_, is_decay});
  };
  if (rule_ == rule::polynomial) add("length", numbers_[1], true);
  if (rule_ == rule::cosine) add("length", numbers_[1], numbers_[3] == 0);
  if (rule_ == rule::one_cycle) add("length", numbers_[3], true);
  if (rule_ == rule::map) add("from", numbers_[used() - 2] + 1, false);
  if (warm_up_ > 0) all.push_back({"warm_up", "length", warm_up_, warm_up_by_});
  return all;
}

double rate_schedule::value_at(double x) const {
  auto const& n = numbers_;
  switch (rule_) {
    case rule::fixed:
      return n[0];
    case rule::step:
      return n[0] * std::pow(n[1], std::floor(x / n[2]));
    case rule::exponential:
      return n[0] * std::pow(n[1], x);
    case rule::inverse:
      return n[0] / std::pow(1 + n[1] * x, n[2]);
    case rule::polynomial:
      return x < n[1] ? n[0] * std::pow(1 - x / n[1], n[2]) : 0;
    case rule::sigmoid:
      return n[0] / (1 + std::exp(n[1] * (x - n[2])));
    case rule::map: {
      std::size_t k = 2;
      while (k < used() && n[k] <= x) k += 2;
      return n[k - 1];
    }
    case rule::cosine: {
      double length = n[1];
      if (n[3] == 0) {
        if (x >= length) return n[2];
      } else if (n[4] == 1) {
        x = std::fmod(x, length);
      } else {
        for (; x >= length; length *= n[4]) x -= length;
      }
      return detail::half_cosine(n[0], n[2], x / length);
    }
    case rule::one_cycle: {
      double const top = n[4] * n[3];
      if (x < top) return detail::half_cosine(n[0], n[1], x / top);
      return x < n[3] ? detail::half_cosine(n[1], n[2], (x - top) / (n[3] - top)) : n[2];
    }
  }
  return n[0];
}

void rate_schedule::check(std::string_view owner, bool below_one) const {
  for (named_number const& field : fields()) {
    std::string_view const name = field.name;
    double const x = field.value;
    auto const require = [&](bool allowed, char const* expected) {
      detail::require_setting(allowed, owner, name, expected, x);
    };
    if (name == "every" || name == "length" || name == "growth")
      require(x >= 1, "a finite number, at least 1");
    else if (name == "factor")
      below_one ? require(x > 0 && x <= 1, "above 0 and at most 1")
                : require(x > 0, "a finite number above 0");
    else if (name == "rise")
      require(x > 0 && x < 1, "above 0 and below 1");
    else if (name == "middle" || (name == "gamma" && rule_ == rule::sigmoid))
      require(true, "a finite number");
    else if (name == "gamma" || name == "power" || name == "warm_up")
      require(x >= 0, "a finite number, at least 0");
    else if (name == "restarts")
      require(x == 0 || x == 1, "0 (no) or 1 (yes)");
    else if (name.substr(0, 4) != "from" && name != "by" && name != "warm_up_by")
      below_one ? require(x >= 0 && x < 1, "at least 0 and below 1")
                : require(x >= 0, "a finite number, at least 0");
  }
  if (rule_ == rule::map) check_map(owner);
}

/// Throws unless the keys begin at 0 and increase, and no used entry follows an unused one.
void rate_schedule::check_map(std::string_view owner) const {
  detail::require_setting(numbers_[0] == 0, owner, row().fields[0], "0, the first key of a map", numbers_[0]);
  for (std::size_t k = 2; k < numbers_.size(); k += 2)
    detail::require_setting(
        k < used() ? numbers_[k] > numbers_[k - 2] : numbers_[k] == -1 && numbers_[k + 1] == 0, owner,
        row().fields[k], "increasing keys, without unused entries between them", numbers_[k]);
}

}  // namespace cohort
