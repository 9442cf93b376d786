// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// Fields of the optimizer's settings.
namespace cohort::detail {

/// A learning rate or momentum: a number, or a schedule.
struct schedule_codec {
  void read(io::json_value from, rate_schedule& value) const;
  void write(io::json_writer& out, rate_schedule const& value) const;
  void schema(io::json_writer& out) const { write_reference(out, "schedule"); }
  static void define(io::json_writer& out);
};

/// An optimizer. Models contain the description of an optimizer of a program. The schema omits it, because a
/// document cannot contain its formula.
struct rule_codec {
  void read(io::json_value from, optimizer_rule& value) const;
  void write(io::json_writer& out, optimizer_rule const& value) const;
  void schema(io::json_writer& out) const { write_reference(out, "rule"); }
  static void define(io::json_writer& out);
};

// ---- schedules ------------------------------------------------------------------------------------------

inline constexpr std::array<std::string_view, 2> unit_names{"step", "epoch"};
static_assert(names_all(unit_names, schedule::unit::epoch));

/// Schedules compute with doubles, which represent all integers up to this magnitude exactly.
inline constexpr std::int64_t largest_integer = std::int64_t{1} << 53;
inline constexpr integer_codec<std::int64_t> any_integer{-largest_integer, largest_integer};
inline constexpr integer_codec<std::int64_t> duration{0, largest_integer};

template <class Visitor>
void field_table(Visitor& v, schedule::map::entry& s) {
  v.field("from", s.from, duration);
  v.field("value", s.value, real_codec{});
}

/// The used entries of a map, as a list.
struct map_codec {
  using entries = schedule::map::entry[schedule::map::capacity];

  void read(io::json_value from, entries& value) const;
  void write(io::json_writer& out, entries const& value) const;
  void schema(io::json_writer& out) const;
};

/// A schedule and its warm-up. Documents omit both warm-up fields if there is no warm-up.
template <class Schedule>
struct with_warm_up : Schedule {
  std::int64_t warm_up = 0;
  std::optional<schedule::unit> warm_up_by{};  ///< unset: epoch
};

/// All schedules, in the order of schedule_rows.
using any_schedule = std::variant<
    with_warm_up<schedule::fixed>, with_warm_up<schedule::step>, with_warm_up<schedule::exponential>,
    with_warm_up<schedule::inverse>, with_warm_up<schedule::polynomial>, with_warm_up<schedule::sigmoid>,
    with_warm_up<schedule::map>, with_warm_up<schedule::cosine>, with_warm_up<schedule::one_cycle>>;
static_assert(std::variant_size_v<any_schedule> == schedule_rows.size());

/// The unit of a warm-up.
struct warm_up_unit_codec : enum_codec {
  constexpr warm_up_unit_codec() : enum_codec{unit_names, "units"} {}
  void read(io::json_value from, std::optional<schedule::unit>& value) const {
    enum_codec::read(from, value.emplace());
  }
  void write(io::json_writer& out, std::optional<schedule::unit> const& value) const {
    enum_codec::write(out, *value);
  }
};

/// Visits each of the following fields that is a member of the schedule.
template <class Visitor, class Schedule>
void field_table(Visitor& v, with_warm_up<Schedule>& s) {
  if constexpr (requires { s.value; }) v.field("value", s.value, any_real);
  if constexpr (requires { s.values; }) v.field("values", s.values, map_codec{});
  if constexpr (requires { s.initial; }) v.field("initial", s.initial, any_real);
  if constexpr (requires { s.peak; }) v.field("peak", s.peak, any_real);
  if constexpr (requires { s.final; }) v.field("final", s.final, any_real);
  if constexpr (requires { s.factor; }) v.field("factor", s.factor, any_real);
  if constexpr (requires { s.gamma; }) v.field("gamma", s.gamma, any_real);
  if constexpr (requires { s.every; }) v.field("every", s.every, duration);
  if constexpr (requires { s.length; }) v.field("length", s.length, duration);
  if constexpr (requires { s.power; }) v.field("power", s.power, any_real);
  if constexpr (requires { s.middle; }) v.field("middle", s.middle, any_integer);
  if constexpr (requires { s.floor; }) v.field("floor", s.floor, any_real);
  if constexpr (requires { s.restarts; }) v.field("restarts", s.restarts, boolean_codec{});
  if constexpr (requires { s.growth; }) v.field("growth", s.growth, any_real);
  if constexpr (requires { s.rise; }) v.field("rise", s.rise, any_real);
  if constexpr (requires { s.by; }) v.field("by", s.by, enum_codec{unit_names, "units"});
  v.field("warm_up", s.warm_up, sparse<integer_codec<std::int64_t>>{duration});
  v.field("warm_up_by", s.warm_up_by, sparse<warm_up_unit_codec>{});
}

// ---- optimizers -----------------------------------------------------------------------------------------

/// All optimizers, in the order of update_rows.
using any_rule = std::variant<sgd, momentum, nesterov, adam, adamw, amsgrad, adamax, nadam, adabelief,
                              adagrad, adadelta, rmsprop, lion, lamb, lars, no_op>;
static_assert(std::variant_size_v<any_rule> == update_rows.size());

template <class T, class Variant>
inline constexpr bool is_alternative = false;
template <class T, class... Alternative>
inline constexpr bool is_alternative<T, std::variant<Alternative...>> =
    (std::is_same_v<T, Alternative> || ...);

/// Visits each of the following fields that is a member of the optimizer.
template <class Visitor, class Rule>
requires is_alternative<Rule, any_rule>
void field_table(Visitor& v, Rule& s) {
  if constexpr (requires { s.learning_rate; }) v.field("learning_rate", s.learning_rate, schedule_codec{});
  if constexpr (requires { s.momentum; }) v.field("momentum", s.momentum, schedule_codec{});
  if constexpr (requires { s.rate_in_velocity; })
    v.field("rate_in_velocity", s.rate_in_velocity, sparse<boolean_codec>{});
  if constexpr (requires { s.rho; }) v.field("rho", s.rho, real_codec{});
  if constexpr (requires { s.beta1; }) v.field("beta1", s.beta1, real_codec{});
  if constexpr (requires { s.beta2; }) v.field("beta2", s.beta2, real_codec{});
  if constexpr (requires { s.epsilon; }) v.field("epsilon", s.epsilon, real_codec{});
  if constexpr (requires { s.decay; }) v.field("decay", s.decay, real_codec{});
  if constexpr (requires { s.initial; }) v.field("initial", s.initial, real_codec{});
  if constexpr (requires { s.epsilon_hat; }) v.field("epsilon_hat", s.epsilon_hat, real_codec{});
  if constexpr (requires { s.trust; }) v.field("trust", s.trust, real_codec{});
}

// ---- numbers --------------------------------------------------------------------------------------------

/// Sets the fields of a schedule or an optimizer whose names occur in `numbers`.
struct numbers_reader {
  std::span<named_number const> numbers;

  template <class T, class Codec>
  void field(std::string_view name, T& value, Codec const&) {
    for (named_number const& number : numbers) {
      if (number.name != name) continue;
      if constexpr (std::is_same_v<T, std::optional<schedule::unit>>)
        value = static_cast<schedule::unit>(number.value);
      else
        value = static_cast<T>(number.value);
    }
  }
  void field(std::string_view, map_codec::entries& values, map_codec const&);
};

/// Returns alternative `index` of a variant, with these numbers as fields; other fields have their defaults.
template <class Variant>
Variant alternative_of(std::size_t index, std::span<named_number const> numbers) {
  Variant chosen;
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    (void)((k == index && (chosen.template emplace<k>(), true)) || ...);
  }
  (std::make_index_sequence<std::variant_size_v<Variant>>());
  numbers_reader reader{numbers};
  std::visit([&](auto& alternative) { field_table(reader, alternative); }, chosen);
  return chosen;
}

rate_schedule schedule_of(any_schedule const& alternative);

// ---- settings -------------------------------------------------------------------------------------------

/// A gradient normalisation or a constraint, selected by name. Some kinds have the field `at`.
template <class T>
struct named_limit_codec {
  void read(io::json_value from, T& value) const;
  void write(io::json_writer& out, T const& value) const;
  void schema(io::json_writer& out) const;
};
using normalisation_codec = named_limit_codec<gradient_normalisation>;
using constraint_codec = named_limit_codec<parameter_constraint>;

template <class Visitor>
void field_table(Visitor& v, reduce_on_plateau& s) {
  v.field("factor", s.factor, real_codec{});
  v.field("patience", s.patience, integer_codec<int>{});
  v.field("threshold", s.threshold, real_codec{});
  v.field("cooldown", s.cooldown, integer_codec<int>{});
  v.field("least", s.least, real_codec{});
}

template <class Visitor>
void field_table(Visitor& v, plateau& s) {
  v.field("best", s.best, any_real);
  v.field("not_better", s.not_better, integer_codec<int>{});
  v.field("cooling", s.cooling, integer_codec<int>{});
  v.field("factor", s.factor, real_codec{.most = 1});
}

template <class Visitor>
void field_table(Visitor& v, layer_override& s) {
  v.field("layer", s.layer, mandatory<text_codec>{});
  v.field("rule", s.rule, nullable_codec<rule_codec>{});
  v.field("bias_rule", s.bias_rule, nullable_codec<rule_codec>{});
  v.field("l1", s.l1, nullable_codec<real_codec>{});
  v.field("l2", s.l2, nullable_codec<real_codec>{});
  v.field("bias_l1", s.bias_l1, nullable_codec<real_codec>{});
  v.field("bias_l2", s.bias_l2, nullable_codec<real_codec>{});
  v.field("constraint", s.constraint, nullable_codec<constraint_codec>{});
  v.field("bias_constraint", s.bias_constraint, nullable_codec<constraint_codec>{});
  v.field("frozen", s.frozen, nullable_codec<boolean_codec>{});
  v.field("decays", s.decays, nullable_codec<boolean_codec>{});
}

template <class Visitor>
void field_table(Visitor& v, optimizer_settings& s) {
  v.field("rule", s.rule, rule_codec{});
  v.field("bias_rule", s.bias_rule, nullable_codec<rule_codec>{});
  v.field("l1", s.l1, real_codec{});
  v.field("l2", s.l2, real_codec{});
  v.field("bias_l1", s.bias_l1, real_codec{});
  v.field("bias_l2", s.bias_l2, real_codec{});
  v.field("normalisation", s.normalisation, normalisation_codec{});
  v.field("constraint", s.constraint, constraint_codec{});
  v.field("bias_constraint", s.bias_constraint, constraint_codec{});
  v.field("decay_from_rank", s.decay_from_rank,
          integer_codec<int>{0, optimizer_settings::largest_decay_rank});
  v.field("layers", s.layers, list_codec<object_codec<layer_override>>{});
}

}  // namespace cohort::detail
