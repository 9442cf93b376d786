// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/optimizer/schedule.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

/// u = rate·g
struct sgd {
  rate_schedule rate = 0.1;
};

/// v = momentum·v + g; u = rate·v
struct momentum {
  rate_schedule rate = 0.1;
  double momentum = 0.9;
};

/// v = momentum·v + g; u = rate·(g + momentum·v)
struct nesterov {
  rate_schedule rate = 0.1;
  double momentum = 0.9;
};

/// h += g²; u = rate·g / (√h + epsilon); h starts at `initial`.
///
/// Source    Duchi, Hazan and Singer, JMLR 2011.
struct adagrad {
  rate_schedule rate = 0.1;
  double epsilon = 1e-6;
  double initial = 1e-6;
};

/// m = β₁m + (1−β₁)g; v = β₂v + (1−β₂)g²; u = rate·m̂ / (√v̂ + epsilon), both bias-corrected.
///
/// Source    Kingma and Ba, ICLR 2015.
struct adam {
  rate_schedule rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

namespace detail {

enum class update_rule : std::uint8_t { sgd, momentum, nesterov, adagrad, adam };

/// One row of the table of updaters. A state array without a name does not exist; it starts at 0 unless
/// `initial_from` names the field that says where.
struct update_row {
  std::string_view name;
  std::array<std::string_view, 4> fields{};
  std::array<double, 4> defaults{};
  std::array<std::string_view, 4> states{};
  std::array<int, 4> initial_from{-1, -1, -1, -1};
};

inline constexpr std::array<update_row, 5> update_rows{{
    {.name = "sgd"},
    {.name = "momentum", .fields = {"momentum"}, .defaults = {momentum{}.momentum}, .states = {"velocity"}},
    {.name = "nesterov", .fields = {"momentum"}, .defaults = {nesterov{}.momentum}, .states = {"velocity"}},
    {.name = "adagrad",
     .fields = {"epsilon", "initial"},
     .defaults = {adagrad{}.epsilon, adagrad{}.initial},
     .states = {"squares"},
     .initial_from = {1, -1, -1, -1}},
    {.name = "adam",
     .fields = {"beta1", "beta2", "epsilon"},
     .defaults = {adam{}.beta1, adam{}.beta2, adam{}.epsilon},
     .states = {"mean", "mean_square"}},
}};

constexpr int count_of(std::array<std::string_view, 4> const& names) {
  int count = 0;
  while (count < 4 && !names[static_cast<std::size_t>(count)].empty()) ++count;
  return count;
}

}  // namespace detail

/// Any of sgd, momentum, nesterov, adagrad and adam, as one value.
///
/// Shapes    each of `state_arrays()` has the shape of its parameter.
/// Errors    check: setting_error naming the field (ε = 0 is 0/0 in padding and dead units).
///           from: setting_error for an unknown name or field.
class updater {
 public:
  constexpr updater() : updater(sgd{}) {}
  constexpr updater(sgd const& s) : updater(detail::update_rule::sgd, s.rate, {}) {}
  constexpr updater(momentum const& s) : updater(detail::update_rule::momentum, s.rate, {s.momentum}) {}
  constexpr updater(nesterov const& s) : updater(detail::update_rule::nesterov, s.rate, {s.momentum}) {}
  constexpr updater(adagrad const& s)
      : updater(detail::update_rule::adagrad, s.rate, {s.epsilon, s.initial}) {}
  constexpr updater(adam const& s)
      : updater(detail::update_rule::adam, s.rate, {s.beta1, s.beta2, s.epsilon}) {}

  constexpr bool operator==(updater const&) const = default;

  constexpr std::string_view name() const { return row().name; }
  constexpr rate_schedule const& rate() const { return rate_; }
  constexpr detail::update_rule rule() const { return rule_; }

  /// Its fields but the rate, in the order of declaration.
  constexpr named_numbers fields() const {
    named_numbers result;
    for (std::size_t k = 0; k < 4 && !row().fields[k].empty(); ++k)
      result.items[result.count++] = {row().fields[k], numbers_[k]};
    return result;
  }

  /// The k-th field but the rate.
  constexpr double number(int k) const { return numbers_[static_cast<std::size_t>(k)]; }

  constexpr int state_arrays() const { return detail::count_of(row().states); }
  constexpr std::string_view state_name(int k) const { return row().states[static_cast<std::size_t>(k)]; }
  constexpr double initial_state(int k) const {
    int const from = row().initial_from[static_cast<std::size_t>(k)];
    return from < 0 ? 0 : number(from);
  }

  /// The inverse of name, rate and fields; a field that is not given keeps its default.
  static updater from(std::string_view name, rate_schedule const& rate,
                      std::span<named_number const> fields) {
    for (std::size_t rule = 0; rule < detail::update_rows.size(); ++rule) {
      if (detail::update_rows[rule].name != name) continue;
      updater result(static_cast<detail::update_rule>(rule), rate, detail::update_rows[rule].defaults);
      for (named_number const& field : fields) result.set(field);
      return result;
    }
    std::string expected;
    for (detail::update_row const& row : detail::update_rows)
      expected += (expected.empty() ? "" : ", ") + std::string(row.name);
    throw setting_error({.what = "unknown updater", .expected = {"one of ", expected}, .got = {name}});
  }

  void check() const {
    rate_.check();
    for (named_number const& field : fields()) {
      if (field.name == "epsilon")
        detail::require_setting(field.value > 0, name(), field.name, "a finite number above 0", field.value);
      else if (field.name == "initial")
        detail::require_setting(field.value >= 0, name(), field.name, "a finite number, at least 0",
                                field.value);
      else
        detail::require_setting(field.value >= 0 && field.value < 1, name(), field.name,
                                "at least 0 and below 1", field.value);
    }
  }

 private:
  constexpr updater(detail::update_rule rule, rate_schedule const& rate, std::array<double, 4> const& numbers)
      : rule_(rule), rate_(rate), numbers_(numbers) {}

  constexpr detail::update_row const& row() const {
    return detail::update_rows[static_cast<std::size_t>(rule_)];
  }

  void set(named_number const& field) {
    for (std::size_t k = 0; k < 4; ++k) {
      if (row().fields[k].empty() || row().fields[k] != field.name) continue;
      numbers_[k] = field.value;
      return;
    }
    throw setting_error(
        {.what = "unknown field of an updater", .where = {"updater ", name()}, .got = {field.name}});
  }

  detail::update_rule rule_;
  rate_schedule rate_;
  std::array<double, 4> numbers_;
};

}  // namespace cohort
