// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/codec/residual_policy.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cohort/io/detail/field_codecs.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

/// JSON fields of the threshold and residual policies.
namespace cohort::detail {

inline constexpr std::array<std::string_view, 4> threshold_names{"fixed", "adaptive", "target_density",
                                                                 "quantile"};
inline constexpr std::array<std::string_view, 3> residual_names{"none", "clip", "decay"};

inline constexpr real_codec density_codec{.least = std::nullopt, .most = 1};

template <class Visitor>
void field_table(Visitor& v, threshold::fixed& s) {
  v.field("value", s.value, real_codec{.least = std::nullopt});
}
template <class Visitor>
void field_table(Visitor& v, threshold::adaptive& s) {
  v.field("initial", s.initial, real_codec{.least = std::nullopt});
  v.field("lo", s.lo, density_codec);
  v.field("hi", s.hi, density_codec);
  v.field("factor", s.factor, density_codec);
}
template <class Visitor>
void field_table(Visitor& v, threshold::target_density& s) {
  v.field("density", s.density, density_codec);
  v.field("initial", s.initial, real_codec{.least = std::nullopt});
  v.field("factor", s.factor, density_codec);
}
template <class Visitor>
void field_table(Visitor& v, threshold::quantile& s) {
  v.field("density", s.density, density_codec);
  v.field("sample", s.sample, integer_codec<int>{1});
}

template <class Visitor>
void field_table(Visitor&, residual::none&) {}
template <class Visitor>
void field_table(Visitor& v, residual::clip& s) {
  v.field("at", s.at, real_codec{.least = 1});
  v.field("every", s.every, integer_codec<int>{1});
}
template <class Visitor>
void field_table(Visitor& v, residual::decay& s) {
  v.field("factor", s.factor, density_codec);
  v.field("every", s.every, integer_codec<int>{1});
}

using any_threshold =
    std::variant<threshold::fixed, threshold::adaptive, threshold::target_density, threshold::quantile>;
inline any_threshold alternatives_of(threshold_policy const& p) {
  switch (p.which) {
    case threshold_policy::kind::fixed:
      return threshold::fixed{p.initial};
    case threshold_policy::kind::adaptive:
      return threshold::adaptive{p.initial, p.lo, p.hi, p.factor};
    case threshold_policy::kind::target_density:
      return threshold::target_density{p.lo, p.initial, p.factor};
    default:
      return threshold::quantile{p.lo, p.sample};
  }
}
using any_residual = std::variant<residual::none, residual::clip, residual::decay>;
inline any_residual alternatives_of(residual_policy const& p) {
  if (p.which == residual_policy::kind::clip) return residual::clip{p.number, p.every};
  if (p.which == residual_policy::kind::decay) return residual::decay{p.number, p.every};
  return residual::none{};
}

static_assert(names_all<any_threshold>(threshold_names) && names_all<any_residual>(residual_names));

/// Codec of a policy. A document contains the struct from which the policy is constructed, for example
/// threshold::fixed.
template <class Policy>
struct policy_codec {
  std::span<std::string_view const> names;
  std::string_view what;

  using alternatives = decltype(alternatives_of(Policy()));
  auto codec() const { return alternatives_codec<alternatives>{{names, what}}; }

  void read(io::json_value from, Policy& value) const {
    alternatives chosen = alternatives_of(value);
    codec().read(from, chosen);
    Policy const made = std::visit([](auto const& one) { return Policy(one); }, chosen);
    with_path(from, [&] { made.check(); });
    value = made;
  }
  void write(io::json_writer& out, Policy const& value) const { codec().write(out, alternatives_of(value)); }
  void schema(io::json_writer& out) const { codec().schema(out); }
};

}  // namespace cohort::detail
