// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/detail/data_fields.hpp>
#include <cohort/transform/transform_pipeline.hpp>
#include <string_view>

/// Fields of pipelines: schemas and steps.
namespace cohort::detail {

inline constexpr std::array<std::string_view, 4> replacement_names{"mean", "median", "most_frequent",
                                                                   "constant"};
/// Names of the alternatives of transform_step, in their order.
inline constexpr std::array<std::string_view, 12> step_names{
    "filter", "derive", "categories", "one_hot", "index",        "normalise",
    "impute", "drop",   "keep",       "rename",  "group_by_key", "windows"};
static_assert(names_all(column_type_names, column_type::time)
              && names_all(replacement_names, pipeline::replacement::constant)
              && names_all<transform_step>(step_names));

template <class Visitor>
void field_table(Visitor& v, column_schema& s) {
  v.field("name", s.name, mandatory<text_codec>{});
  v.field("type", s.type, enum_codec{column_type_names, "types"});
  v.field("format", s.format, sparse<text_codec>{});
  v.field("values", s.values, sparse<list_codec<text_codec>>{});
  v.field("lowest", s.lowest, sparse<nullable_codec<real_codec>>{{any_real}});
  v.field("highest", s.highest, sparse<nullable_codec<real_codec>>{{any_real}});
  v.field("required", s.required, sparse<boolean_codec>{});
  v.field("optional", s.optional, sparse<boolean_codec>{});
}

/// Steps whose only field is `columns`.
template <class Visitor, class Step>
requires requires(Step& s) { Step{s.columns}; }
void field_table(Visitor& v, Step& s) { v.field("columns", s.columns, texts_codec); }

template <class Visitor>
void field_table(Visitor& v, pipeline::filter& s) {
  v.field("keep", s.keep, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::derive& s) {
  v.field("column", s.column, text_codec{});
  v.field("formula", s.formula, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::categories& s) {
  v.field("columns", s.columns, texts_codec);
  v.field("other", s.other, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::normalise& s) {
  v.field("columns", s.columns, texts_codec);
  v.field("how", s.how, enum_codec{rescaling_names, "rescalings"});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::impute& s) {
  v.field("columns", s.columns, texts_codec);
  v.field("with", s.with, enum_codec{replacement_names, "replacements"});
  v.field("number", s.number, any_real);
  v.field("text", s.text, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::rename& s) {
  v.field("from", s.from, text_codec{});
  v.field("to", s.to, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::group_by_key& s) {
  v.field("keys", s.keys, texts_codec);
  v.field("order", s.order, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, pipeline::windows& s) {
  v.field("length", s.length, integer_codec<int>{});
  v.field("stride", s.stride, integer_codec<int>{});
  v.field("partial", s.partial, boolean_codec{});
}

/// A step: an object whose only field has the step's name.
using step_codec = alternatives_codec<transform_step>;
inline constexpr step_codec one_step{{step_names, "steps", io::json_lines::one}};

template <class Visitor>
void field_table(Visitor& v, transform_pipeline& s) {
  v.field("schema", s.schema.columns, list_codec<object_codec<column_schema>>{{io::json_lines::one}});
  v.field("steps", s.steps, list_codec<step_codec>{one_step});
}

}  // namespace cohort::detail
