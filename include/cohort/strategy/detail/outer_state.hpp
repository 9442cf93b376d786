// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/outer_step.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace cohort::detail {

/// What f(first element, elements) is told of each parameter that is trained, in the dense canonical view.
template <class F>
void for_each_trained(parameter_set const& parameters, F f) {
  for (parameter const& p : parameters.table())
    if (p.trains()) f(static_cast<std::size_t>(p.first), static_cast<std::size_t>(p.spec.dims.elements()));
}

/// Where all ranks met last, and the velocity of their outer steps: the same on every rank.
///
/// Shapes    two dense arrays of the canonical view; none where the step is the mean itself.
/// Exact     an element is computed in double and rounded once. What is not trained is left as it is.
class outer_state {
 public:
  explicit outer_state(outer_step how) : how_(how) {}
  outer_state copy() const {
    outer_state other(how_);
    other.type_ = type_;
    other.before_ = copy_of({before_.data(), before_.bytes()});
    other.velocity_ = copy_of({velocity_.data(), velocity_.bytes()});
    return other;
  }

  /// Ranks agree, and the next outer step is one from here. What a checkpoint of other elements had is forgotten.
  void begin_at(replica const& mine) {
    if (how_.is_plain()) return;
    if (!fits(mine)) {
      type_ = mine.parameters.type();
      before_ = buffer(mine.bytes());
      velocity_ = buffer(mine.bytes());
    }
    mine.read(0, before_.data());
  }
  /// Whether an outer step can be taken.
  bool fits(replica const& mine) const {
    return how_.is_plain()
           || (type_ == mine.parameters.type() && before_.bytes() == mine.bytes()
               && velocity_.bytes() == mine.bytes());
  }

  elements met_at() const { return {before_.data(), type_, before_.bytes() / bytes_of(type_)}; }

  /// The mean becomes what ranks go on from.  Before: fits.
  void take(parameter_set const& parameters, std::byte* mean) {
    if (how_.is_plain()) return;
    double const rate = how_.rate, momentum = *how_.momentum;
    with_real(parameters.type(), [&]<class T>(T*) {
      T* const w = reinterpret_cast<T*>(mean);
      T* const before = before_.as<T>();
      T* const velocity = velocity_.as<T>();
      for_each_trained(parameters, [&](std::size_t first, std::size_t count) {
        for (std::size_t i = first; i < first + count; ++i) {
          double const delta = static_cast<double>(before[i]) - static_cast<double>(w[i]);
          double const v = momentum * static_cast<double>(velocity[i]) + delta;
          velocity[i] = static_cast<T>(v);
          w[i] = static_cast<T>(static_cast<double>(before[i])
                                - rate * (how_.nesterov ? delta + momentum * v : v));
          before[i] = w[i];
        }
      });
    });
  }

  void tell(strategy_state& all) const {
    if (before_.bytes() == 0) return;
    all.arrays.push_back({"met_at", type_, {before_.data(), before_.bytes()}});
    all.arrays.push_back({"velocity", type_, {velocity_.data(), velocity_.bytes()}});
  }
  void restore(strategy_state const& saved) {
    for (strategy_state::array const& one : saved.arrays) {
      if (one.name != "met_at" && one.name != "velocity") continue;
      require_real(one);
      type_ = one.type;
      (one.name == "met_at" ? before_ : velocity_) = copy_of(one.values);
    }
  }

 private:
  outer_step how_;
  element_type type_ = element_type::f32;
  buffer before_;
  buffer velocity_;
};

}  // namespace cohort::detail
