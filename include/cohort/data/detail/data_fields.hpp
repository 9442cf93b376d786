// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/order.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/io/detail/field_codecs.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Field tables of the settings of data sets, and of fitted encoders and normalisations.
namespace cohort::detail {

inline constexpr std::array<std::string_view, 3> rescaling_names{"none", "standardise", "min_max"};
inline constexpr std::array<std::string_view, 4> imputation_names{"refuse", "mean", "median", "constant"};
inline constexpr std::array<std::string_view, 3> missing_names{"refuse", "keep", "drop"};
inline constexpr std::array<std::string_view, 2> number_names{"f32", "f64"};
static_assert(names_all(rescaling_names, rescaling::min_max) && names_all(missing_names, missing_values::drop)
              && names_all(imputation_names, imputation::constant));

template <class Visitor>
void field_table(Visitor& v, normalisation_settings& s) {
  v.field("inputs", s.inputs, enum_codec{rescaling_names});
  v.field("targets", s.targets, enum_codec{rescaling_names});
}

/// Codec of a map's scale, which must not be 0, so that the map can be inverted.
struct scale_codec {
  static void read(io::json_value from, double& value) {
    value = from.number();
    if (value == 0) from.refuse("a scale other than 0");
  }
  static void write(io::json_writer& out, double value) { out.value(value); }
};

template <class Visitor>
void field_table(Visitor& v, channel_scaling& s) {
  v.field("scale", s.scale, mandatory<scale_codec>{});
  v.field("offset", s.offset, mandatory<real_codec>{any_real});
}
inline constexpr list_codec<list_codec<object_codec<channel_scaling>>> maps_codec{};

template <class Visitor>
void field_table(Visitor& v, normalisation& s) {
  v.field("inputs", s.inputs, maps_codec);
  v.field("targets", s.targets, maps_codec);
}

/// Codec of a list of texts in ascending order.
struct vocabulary_codec : list_codec<text_codec> {
  static void read(io::json_value from, std::vector<std::string>& value);
};

template <class Visitor>
void field_table(Visitor& v, encoded_column& s) {
  v.field("name", s.name, mandatory<text_codec>{});
  v.field("is_text", s.is_text, sparse<boolean_codec>{});
  v.field("indexed", s.indexed, sparse<boolean_codec>{});
  v.field("other", s.other, sparse<boolean_codec>{});
  v.field("fill", s.fill, sparse<nullable_codec<real_codec>>{{any_real}});
  v.field("vocabulary", s.vocabulary, sparse<vocabulary_codec>{});
}

/// Codec of an optional table_encoder.
struct encoder_codec {
  static void read(io::json_value from, std::optional<table_encoder>& value);
  static void write(io::json_writer& out, std::optional<table_encoder> const& value);

 private:
  template <class Visitor>
  static void fields(Visitor& v, table_encoder& s);
};

template <class Visitor>
void field_table(Visitor& v, encoder_settings& s) {
  v.field("inputs", s.inputs, texts_codec);
  v.field("target", s.target, text_codec{});
  v.field("regression", s.regression, boolean_codec{});
  v.field("indexed", s.indexed, texts_codec);
  v.field("other", s.other, boolean_codec{});
  v.field("impute", s.impute, enum_codec{imputation_names});
  v.field("constant", s.constant, any_real);
}
template <class Visitor>
void field_table(Visitor& v, table_settings& s) {
  v.field("separator", s.separator, character_codec{});
  v.field("merge_separators", s.merge_separators, boolean_codec{});
  v.field("decimal", s.decimal, character_codec{});
  v.field("thousands", s.thousands, character_codec{});
  v.field("comment", s.comment, character_codec{});
  v.field("header", s.header, nullable_codec<boolean_codec>{});
  v.field("columns", s.columns, texts_codec);
  v.field("number_columns", s.number_columns, texts_codec);
  v.field("text_columns", s.text_columns, texts_codec);
  v.field("number_type", s.number_type, element_codec{number_names});
  v.field("missing", s.missing, enum_codec{missing_names});
  v.field("missing_texts", s.missing_texts, texts_codec);
  v.field("trim", s.trim, boolean_codec{});
  v.field("max_columns", s.max_columns, integer_codec<std::size_t>{});
  v.field("max_field_bytes", s.max_field_bytes, integer_codec<std::size_t>{});
}
template <class Visitor>
void field_table(Visitor& v, window_settings& s) {
  v.field("length", s.length, integer_codec<int>{});
  v.field("horizons", s.horizons, list_codec<integer_codec<int>>{{1}});
  v.field("targets", s.targets, texts_codec);
  v.field("stride", s.stride, integer_codec<int>{1});
}
template <class Visitor>
void field_table(Visitor& v, block_shuffle& s) {
  v.field("block", s.block, integer_codec<std::int64_t>{});
  v.field("window", s.window, integer_codec<std::int64_t>{});
}

}  // namespace cohort::detail
