// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/codec/detail/policy_fields.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

/// Fields of the strategies.
namespace cohort::detail {

inline constexpr std::array<std::string_view, 2> share_names{"gradient", "update"};
inline constexpr std::array<std::string_view, 3> route_names{"by_size", "to_all", "merged"};
inline constexpr std::array<std::string_view, 2> group_names{"process", "rank"};
inline constexpr std::array<std::string_view, 2> diverged_names{"stop", "repair"};
inline constexpr std::array<std::string_view, 2> wire_names{"f32", "bf16"};
inline constexpr std::array<std::string_view, 3> shard_names{"nothing", "optimizer_state", "gradients"};
static_assert(names_all(shard_names, shard::gradients) && names_all(share_names, share::update)
              && names_all(route_names, route::merged) && names_all(group_names, sharing_group::rank)
              && names_all(diverged_names, when_diverged::repair));

/// Codec of a staleness: a number of steps, or "unbounded".
struct staleness_codec {
  void read(io::json_value from, int& value) const {
    if (from.kind() == io::json_kind::string && from.string() == "unbounded")
      value = unbounded;
    else if (from.kind() == io::json_kind::number)
      integer_codec<int>{0, 99}.read(from, value);
    else
      from.refuse("an integer from 0 to 99, or \"unbounded\"");
  }
  void write(io::json_writer& out, int value) const {
    if (value == unbounded)
      out.value("unbounded");
    else
      out.value(value);
  }
  void schema(io::json_writer& out) const {
    constexpr std::array<std::string_view, 1> names{"unbounded"};
    out.begin_object().key("anyOf").begin_array();
    integer_codec<int>{0, 99}.schema(out);
    write_enum(out, names);
    out.end_array().end_object();
  }
};

template <class Visitor>
void field_table(Visitor& v, outer_step& s) {
  v.field("rate", s.rate, real_codec{});
  v.field("momentum", s.momentum, nullable_codec<real_codec>{});
  v.field("nesterov", s.nesterov, boolean_codec{});
}

/// Codec of an outer step: an object with its fields, or a name.
struct outer_codec {
  static constexpr std::array<std::string_view, 4> names{"plain", "bmuf", "nesterov_bmuf", "diloco"};
  static constexpr std::array<outer_step, 4> steps{outer::plain{}, outer::bmuf{},
                                                   outer::bmuf{.nesterov = true}, outer::diloco{}};

  void read(io::json_value from, outer_step& value) const {
    if (from.kind() != io::json_kind::string) return object_codec<outer_step>().read(from, value);
    value = steps[index_of_name(from, "outer steps", from.string(), names)];
  }
  void write(io::json_writer& out, outer_step const& value) const {
    object_codec<outer_step>().write(out, value);
  }
  void schema(io::json_writer& out) const {
    out.begin_object().key("anyOf").begin_array();
    write_enum(out, names);
    object_codec<outer_step>().schema(out);
    out.end_array().end_object();
  }
};

template <class Visitor>
void field_table(Visitor& v, allreduce& s) {
  v.field("resync", s.resync, integer_codec<int>{});
  v.field("diverged", s.diverged, enum_codec{diverged_names});
  v.field("wire", s.wire, nullable_codec<element_codec>{{wire_names}});
  v.field("overlap_next_forward", s.overlap_next_forward, boolean_codec{});
  v.field("shard", s.shard, enum_codec{shard_names});
}

template <class Visitor>
void field_table(Visitor& v, parameter_averaging& s) {
  v.field("every", s.every, integer_codec<int>{1});
  v.field("seconds", s.seconds, real_codec{});
  v.field("average_optimizer_state", s.average_optimizer_state, boolean_codec{});
  v.field("outer", s.outer, outer_codec{});
  v.field("overlap", s.overlap, boolean_codec{});
}

template <class Visitor>
void field_table(Visitor& v, sharing_settings& s) {
  v.field("share", s.share, enum_codec{share_names});
  v.field("mean", s.mean, boolean_codec{});
  v.field("warm_up", s.warm_up, integer_codec<int>{});
  v.field("sync_buffers", s.sync_buffers, integer_codec<int>{});
  v.field("route", s.route, enum_codec{route_names});
  v.field("group", s.group, enum_codec{group_names});
  v.field("max_staleness", s.max_staleness, staleness_codec{});
  v.field("slower_if_stale", s.slower_if_stale, boolean_codec{});
}

template <class Visitor>
void field_table(Visitor& v, threshold_sharing& s) {
  v.field("threshold", s.threshold, policy_codec<threshold_policy>{threshold_names, "thresholds"});
  v.field("residual", s.residual, policy_codec<residual_policy>{residual_names, "residual policies"});
  v.field("per_parameter", s.per_parameter, boolean_codec{});
  field_table(v, s.settings);
}

template <class Visitor>
void field_table(Visitor& v, top_k_sharing& s) {
  v.field("density", s.density, density_codec);
  field_table(v, s.settings);
}

}  // namespace cohort::detail
