// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/detail/data_fields.hpp>
#include <cohort/layer/detail/initialiser_fields.hpp>
#include <cohort/optimizer/detail/optimizer_fields.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cohort/training/settings.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// Fields of the settings of training.
namespace cohort::detail {

inline constexpr std::array<std::string_view, 2> not_finite_names{"stop", "skip"};
inline constexpr std::array<std::string_view, 2> sharding_names{"global", "local"};
static_assert(names_all(not_finite_names, when_not_finite::skip)
              && names_all(sharding_names, sharding::local));

template <class Visitor>
void field_table(Visitor& v, recomputation& s) {
  v.field("cheap", s.cheap, boolean_codec{});
  v.field("blocks", s.blocks, texts_codec);
}

template <class Visitor>
void field_table(Visitor& v, evaluation_settings& s) {
  v.field("batch", s.batch, integer_codec<int>{1});
  v.field("top", s.top, integer_codec<int>{1});
  v.field("readers", s.readers, integer_codec<int>{1});
}

/// Members of training_settings that form separate objects.
struct optimizer_part {
  training_settings& of;
};
struct initial_part {
  training_settings& of;
};
struct execution_part {
  training_settings& of;
};

template <class Visitor>
void field_table(Visitor& v, optimizer_part part) {
  field_table(v, part.of.optimizer);
  v.field("plateau", part.of.plateau, nullable_codec<object_codec<reduce_on_plateau>>{});
  v.field("average_decay", part.of.average_decay, sparse<real_codec>{{.most = 1, .is_below = true}});
}

template <class Visitor>
void field_table(Visitor& v, initial_part part) {
  v.field("weights", part.of.weights, initialiser_codec{});
  v.field("bias", part.of.bias, initialiser_codec{});
}

template <class Visitor>
void field_table(Visitor& v, execution_part part) {
  training_settings& s = part.of;
  v.field("seed", s.seed, integer_codec<std::uint64_t>{});
  v.field("workers", s.workers, per_rank<integer_codec<int>>{});
  v.field("threads", s.threads, per_rank<integer_codec<int>>{{1}});
  v.field("max_bytes", s.max_bytes, per_rank<integer_codec<std::size_t>>{});
  v.field("recompute", s.recompute, per_rank<object_codec<recomputation>>{});
  v.field("not_finite", s.not_finite, enum_codec{not_finite_names});
  v.field("deadline", s.deadline, per_rank<seconds_codec>{});
}

/// All fields. Documents divide them into several objects.
template <class Visitor>
void field_table(Visitor& v, training_settings& s) {
  v.field("optimizer", s, part_codec<optimizer_part>{});
  v.field("initial", s, part_codec<initial_part>{});
  field_table(v, execution_part{s});
}

template <class Visitor>
void field_table(Visitor& v, fit_settings& s) {
  v.field("batch", s.batch, integer_codec<int>{1});
  v.field("epochs", s.epochs, integer_codec<int>{});
  v.field("shuffle", s.shuffle, boolean_codec{});
  v.field("blocks", s.blocks, object_codec<block_shuffle>{});
  v.field("sharding", s.sharding, enum_codec{sharding_names});
  v.field("accumulate", s.accumulate, integer_codec<int>{1});
  v.field("prefetch", s.prefetch, per_rank<integer_codec<int>>{});
  v.field("bucket", s.bucket, integer_codec<std::int64_t>{});
  v.field("readers", s.readers, per_rank<integer_codec<int>>{{1}});
}

}  // namespace cohort::detail
