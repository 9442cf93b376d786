// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/detail/update_rows.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/optimizer/optimizers.hpp>
#include <cohort/optimizer/own_optimizer.hpp>
#include <cohort/optimizer/rate_schedule.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort {

/// Value type that holds any optimizer: a built-in one, or one of the program (own_optimizer.hpp).
///
/// Shapes    each of the `state_arrays()` has the shape of its parameter.
/// Errors    check: setting_error that names the field. `epsilon`, or if it is 0 `epsilon_hat`, must be at
///           least the smallest normal float, because padding and dead units would otherwise compute 0/0.
class optimizer_rule {
 public:
  constexpr optimizer_rule() : optimizer_rule(sgd{}) {}
  constexpr optimizer_rule(sgd const& s) : optimizer_rule(rule_of::sgd, s.learning_rate) {}
  constexpr optimizer_rule(cohort::momentum const& s)
      : optimizer_rule(rule_of::momentum, s.learning_rate, {s.rate_in_velocity ? 1.0 : 0.0}, s.momentum) {}
  constexpr optimizer_rule(nesterov const& s)
      : optimizer_rule(rule_of::nesterov, s.learning_rate, {s.rate_in_velocity ? 1.0 : 0.0}, s.momentum) {}
  constexpr optimizer_rule(adam const& s)
      : optimizer_rule(rule_of::adam, s.learning_rate, {s.beta1, s.beta2, s.epsilon, s.epsilon_hat}) {}
  constexpr optimizer_rule(adamw const& s)
      : optimizer_rule(rule_of::adamw, s.learning_rate,
                       {s.beta1, s.beta2, s.epsilon, s.decay, s.epsilon_hat}) {}
  constexpr optimizer_rule(amsgrad const& s)
      : optimizer_rule(rule_of::amsgrad, s.learning_rate, {s.beta1, s.beta2, s.epsilon, s.epsilon_hat}) {}
  constexpr optimizer_rule(adamax const& s)
      : optimizer_rule(rule_of::adamax, s.learning_rate, {s.beta1, s.beta2, s.epsilon}) {}
  constexpr optimizer_rule(nadam const& s)
      : optimizer_rule(rule_of::nadam, s.learning_rate, {s.beta1, s.beta2, s.epsilon}) {}
  constexpr optimizer_rule(adabelief const& s)
      : optimizer_rule(rule_of::adabelief, s.learning_rate, {s.beta1, s.beta2, s.epsilon}) {}
  constexpr optimizer_rule(adagrad const& s)
      : optimizer_rule(rule_of::adagrad, s.learning_rate, {s.epsilon, s.initial}) {}
  constexpr optimizer_rule(adadelta const& s)
      : optimizer_rule(rule_of::adadelta, s.learning_rate, {s.rho, s.epsilon}) {}
  constexpr optimizer_rule(rmsprop const& s)
      : optimizer_rule(rule_of::rmsprop, s.learning_rate, {s.rho, s.epsilon}) {}
  constexpr optimizer_rule(lion const& s)
      : optimizer_rule(rule_of::lion, s.learning_rate, {s.beta1, s.beta2, s.decay}) {}
  constexpr optimizer_rule(lamb const& s)
      : optimizer_rule(rule_of::lamb, s.learning_rate, {s.beta1, s.beta2, s.epsilon, s.decay}) {}
  constexpr optimizer_rule(lars const& s)
      : optimizer_rule(rule_of::lars, s.learning_rate, {s.decay, s.trust}, s.momentum) {}
  constexpr optimizer_rule(no_op const&) : optimizer_rule(rule_of::no_op, 1) {}
  /// An optimizer of the program.
  template <detail::own_optimizer Own>
  constexpr optimizer_rule(Own const& s)
      : rule_(rule_of::own),
        rate_(s.learning_rate),
        momentum_(0),
        numbers_(detail::numbers_of(s)),
        own_(&detail::own_update_of<Own>::value) {}
  /// An optimizer of a file. It can be compared and described; training needs `description.run_f32`.
  constexpr optimizer_rule(detail::own_update const& description, rate_schedule const& rate,
                           std::array<double, 5> const& numbers)
      : rule_(rule_of::own), rate_(rate), momentum_(0), numbers_(numbers), own_(&description) {}

  constexpr bool operator==(optimizer_rule const&) const = default;

  /// The name in files: "adam".
  constexpr std::string_view name() const { return row().name; }
  constexpr detail::update_rule rule() const { return rule_; }
  /// The formula of an optimizer of the program; null for a built-in one.
  constexpr detail::own_update const* own() const { return own_; }
  /// The learning rate.
  constexpr rate_schedule const& learning_rate() const { return rate_; }
  /// Returns whether the optimizer has a momentum.
  constexpr bool has_momentum() const { return row().momentum; }
  /// Returns the norm that the step needs besides the norm of the parameter.
  constexpr detail::norm_of needed_norm() const { return row().norm; }
  /// Returns whether the step depends on norms of the whole parameter.
  constexpr bool needs_norms() const { return needed_norm() != detail::norm_of::nothing; }
  /// Returns the momentum.
  ///
  /// Before    has_momentum().
  constexpr rate_schedule const& momentum() const { return momentum_; }

  /// The numeric fields: all except the rate, and except a momentum that is not fixed.
  constexpr named_numbers fields() const {
    named_numbers result;
    if (has_momentum() && momentum_.is_fixed()) result.add("momentum", momentum_.fields().items[0].value);
    for (std::size_t k = 0; k < numbers_.size() && !row().fields[k].empty(); ++k)
      result.add(row().fields[k], numbers_[k]);
    return result;
  }

  /// Returns the k-th field, not counting rate and momentum.
  constexpr double number(int k) const { return numbers_[static_cast<std::size_t>(k)]; }
  /// The values of all fields that number(k) returns.
  constexpr std::array<double, 5> const& numbers() const { return numbers_; }
  /// Returns the field with this name; 0 if the optimizer has none.
  constexpr double number(std::string_view field) const {
    for (std::size_t k = 0; k < numbers_.size(); ++k)
      if (row().fields[k] == field) return numbers_[k];
    return 0;
  }

  /// Number of state arrays.
  constexpr int state_arrays() const { return detail::count_of(row().states); }
  /// Name of a state array in files: "mean".
  constexpr std::string_view state_name(int k) const { return row().states[static_cast<std::size_t>(k)]; }
  /// Returns the value of all elements of a state array before the first step.
  constexpr double initial_state(int k) const {
    int const from = row().initial_from[static_cast<std::size_t>(k)];
    return from < 0 ? 0 : number(from);
  }

  /// Returns a copy with another momentum.
  ///
  /// Errors    setting_error if the optimizer has no momentum.
  constexpr optimizer_rule with_momentum(rate_schedule const& momentum) const {
    if (!has_momentum())
      throw setting_error({.what = "this optimizer has no momentum",
                           .where = "optimizer::with_momentum",
                           .expected = "momentum, nesterov or lars",
                           .got = {name()}});
    optimizer_rule result = *this;
    result.momentum_ = momentum;
    return result;
  }

  /// Returns a copy with another rate.
  constexpr optimizer_rule with_learning_rate(rate_schedule const& rate) const {
    optimizer_rule result = *this;
    result.rate_ = rate;
    return result;
  }

  /// Returns a copy with decay 0; an optimizer without that field is unchanged.
  constexpr optimizer_rule without_decay() const {
    optimizer_rule result = *this;
    for (std::size_t k = 0; k < numbers_.size(); ++k)
      if (row().fields[k] == "decay") result.numbers_[k] = 0;
    return result;
  }

  /// Throws if a field is out of range.
  void check() const;

 private:
  using rule_of = detail::update_rule;

  constexpr optimizer_rule(detail::update_rule rule, rate_schedule const& rate,
                           std::array<double, 5> const& numbers = {}, rate_schedule const& momentum = 0)
      : rule_(rule), rate_(rate), momentum_(momentum), numbers_(numbers) {}

  void check_own() const;

  constexpr detail::update_row const& row() const {
    return own_ ? own_->row : detail::update_rows[static_cast<std::size_t>(rule_)];
  }

  detail::update_rule rule_;
  rate_schedule rate_;
  rate_schedule momentum_;
  std::array<double, 5> numbers_;
  detail::own_update const* own_ = nullptr;
};

namespace detail {

/// All built-in optimizers with their defaults, in the order of update_rows.
inline constexpr std::array<optimizer_rule, update_rows.size()> default_rules{
    sgd{},       momentum{}, nesterov{}, adam{},    adamw{}, amsgrad{}, adamax{}, nadam{},
    adabelief{}, adagrad{},  adadelta{}, rmsprop{}, lion{},  lamb{},    lars{},   no_op{}};

}  // namespace detail

}  // namespace cohort
