// SPDX-License-Identifier: Apache-2.0
#include <cohort/strategy/detail/outer_optimizer.hpp>
#include <cohort/strategy/detail/saved_values.hpp>

namespace cohort::detail {

outer_optimizer outer_optimizer::copy() const {
  outer_optimizer other(how_);
  other.type_ = type_;
  other.before_ = copy_of({before_.data(), before_.bytes()});
  other.velocity_ = copy_of({velocity_.data(), velocity_.bytes()});
  return other;
}

void outer_optimizer::start_from(replica const& mine) {
  if (how_.is_plain()) return;
  if (!fits(mine)) {
    type_ = mine.parameters.type();
    before_ = buffer(mine.bytes());
    velocity_ = buffer(mine.bytes());
  }
  mine.read(0, before_.data());
}

bool outer_optimizer::fits(replica const& mine) const {
  return how_.is_plain()
         || (type_ == mine.parameters.type() && before_.bytes() == mine.bytes()
             && velocity_.bytes() == mine.bytes());
}

elements outer_optimizer::reference() const {
  return {before_.data(), type_, before_.bytes() / bytes_of(type_)};
}

void outer_optimizer::step(parameter_set const& parameters, std::byte* mean) {
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

void outer_optimizer::save(strategy_state& all) const {
  if (before_.bytes() == 0) return;
  all.arrays.push_back({"last_meeting", type_, {before_.data(), before_.bytes()}});
  all.arrays.push_back({"velocity", type_, {velocity_.data(), velocity_.bytes()}});
}

void outer_optimizer::restore(strategy_state const& saved) {
  for (strategy_state::array const& one : saved.arrays) {
    if (one.name != "last_meeting" && one.name != "velocity") continue;
    require_real(one);
    type_ = one.type;
    (one.name == "last_meeting" ? before_ : velocity_) = copy_of(one.values);
  }
}

}  // namespace cohort::detail
