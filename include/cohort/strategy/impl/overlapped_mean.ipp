// SPDX-License-Identifier: Apache-2.0
#include <cohort/strategy/detail/overlapped_mean.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

bool overlapped_mean::fits(replica const& mine) const {
  return sum_ && sum_->type() == mine.parameters.type() && sum_->bytes() == mine.bytes()
         && sent_.bytes() == mine.bytes();
}

void overlapped_mean::start(communicator& world, replica const& mine, weighted_sum::contribution const& own,
                            std::int64_t expected, votes const& wanted) {
  if (!fits(mine)) {
    sent_ = buffer(mine.bytes());
    sum_.emplace(mine.parameters.type(), static_cast<std::size_t>(mine.parameters.elements()), true);
  }
  mine.read(0, sent_.data());
  std::memcpy(sum_->data(), sent_.data(), sent_.bytes());
  expected_ = expected;
  pending_ = true;
  sum_->start(world, own, expected, wanted);
}

agreement overlapped_mean::apply_to(replica const& mine, outer_optimizer& outer, std::byte* w) {
  parameter_set const& parameters = mine.parameters;
  sum_->wait();
  agreement const met = sum_->read_agreement(0);
  if (met.weight <= 0) return met;
  buffer const mean = copy_of({sum_->data(), sum_->bytes()});
  weighted_sum::scale(sum_->type(), mean.data(), static_cast<std::size_t>(parameters.elements()),
                      static_cast<double>(expected_), met.weight);
  outer.step(parameters, mean.data());
  with_real(parameters.type(), [&]<class T>(T*) {
    T* const values = reinterpret_cast<T*>(w);
    for_each_trained(parameters, [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i)
        values[i] = mean.as<T>()[i] + (values[i] - sent_.as<T>()[i]);
    });
  });
  mine.update.constrain(w);
  return met;
}

agreement overlapped_mean::finish(replica const& mine, outer_optimizer& outer) {
  buffer const w(mine.bytes());
  mine.read(0, w.data());
  agreement const met = apply_to(mine, outer, w.data());
  pending_ = false;
  if (met.weight <= 0) return met;
  mine.write(0, w.data());
  mine.parameters.mark_changed();
  return met;
}

void overlapped_mean::discard() {
  if (std::exchange(pending_, false)) sum_->wait();
}

void overlapped_mean::save(strategy_state& all) {
  if (!pending_) return;
  sum_->wait();
  all.counts.push_back({"late_expected", expected_});
  all.arrays.push_back({"late_sent", sum_->type(), {sent_.data(), sent_.bytes()}});
  all.arrays.push_back({"late_sum", sum_->type(), sum_->with_votes()});
}

void overlapped_mean::restore(strategy_state const& saved) {
  for (strategy_state::count const& one : saved.counts)
    if (one.name == "late_expected") expected_ = one.value;
  for (strategy_state::array const& one : saved.arrays) {
    if (one.name == "late_sent") {
      require_real(one);
      sent_ = copy_of(one.values);
    }
    if (one.name != "late_sum") continue;
    require_real(one, weighted_sum::vote_words);
    sum_.emplace(one.type, one.values.size() / bytes_of(one.type) - weighted_sum::vote_words, true);
    std::memcpy(sum_->with_votes().data(), one.values.data(), one.values.size());
    sum_->clear_requests();  // these votes were for the run that has ended
    pending_ = true;
  }
}

}  // namespace cohort::detail
