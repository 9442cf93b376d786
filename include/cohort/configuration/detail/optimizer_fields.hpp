// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/detail/document_fields.hpp>
#include <cohort/layer/initialiser.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <string_view>
#include <vector>

/// Codecs of the optimiser's values, from the library's tables of schedules, optimizers and initialisers.
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

struct initialiser_codec {
  void read(io::json_value from, initialiser& value) const;
  void write(io::json_writer& out, initialiser const& value) const;
  void schema(io::json_writer& out) const { write_reference(out, "initialiser"); }
  static void define(io::json_writer& out);
};

/// A gradient normalisation or a constraint, selected by name. Some of them have the field `at`.
template <class T>
struct named_limit_codec {
  std::string_view what;

  void read(io::json_value from, T& value) const;
  void write(io::json_writer& out, T const& value) const;
  void schema(io::json_writer& out) const;
};

template <class Visitor>
void document_fields(Visitor& v, reduce_on_plateau& s) {
  v.field("factor", s.factor, real_codec{});
  v.field("patience", s.patience, integer_codec<int>{});
  v.field("threshold", s.threshold, real_codec{});
  v.field("cooldown", s.cooldown, integer_codec<int>{});
  v.field("least", s.least, real_codec{});
}

inline constexpr named_limit_codec<gradient_normalisation> normalisation_codec{"gradient normalisations"};
inline constexpr named_limit_codec<parameter_constraint> constraint_codec{"constraints"};

template <class Visitor>
void document_fields(Visitor& v, layer_override& s) {
  v.field("layer", s.layer, text_codec{});
  v.field("rule", s.rule, nullable_codec<rule_codec>{});
  v.field("bias_rule", s.bias_rule, nullable_codec<rule_codec>{});
  v.field("l1", s.l1, nullable_codec<real_codec>{});
  v.field("l2", s.l2, nullable_codec<real_codec>{});
  v.field("bias_l1", s.bias_l1, nullable_codec<real_codec>{});
  v.field("bias_l2", s.bias_l2, nullable_codec<real_codec>{});
  v.field("constraint", s.constraint,
          nullable_codec<named_limit_codec<parameter_constraint>>{constraint_codec});
  v.field("bias_constraint", s.bias_constraint,
          nullable_codec<named_limit_codec<parameter_constraint>>{constraint_codec});
  v.field("frozen", s.frozen, nullable_codec<boolean_codec>{});
  v.field("decays", s.decays, nullable_codec<boolean_codec>{});
}

}  // namespace cohort::detail
