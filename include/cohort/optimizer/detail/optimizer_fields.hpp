// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <string_view>

/// Fields of the optimizer's settings; codecs from the tables of schedules and optimizers.
namespace cohort::detail {

/// A rate: a number, or a schedule.
struct schedule_codec {
  void read(io::json_value from, rate_schedule& value) const;
  void write(io::json_writer& out, rate_schedule const& value) const;
  void schema(io::json_writer& out) const { write_reference(out, "schedule"); }
  static void define(io::json_writer& out);
};

struct rule_codec {
  void read(io::json_value from, optimizer_rule& value) const;
  void write(io::json_writer& out, optimizer_rule const& value) const;
  void schema(io::json_writer& out) const { write_reference(out, "rule"); }
  static void define(io::json_writer& out);
};

/// A gradient normalisation or a constraint, selected by name. Some of them have the field `at`.
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
