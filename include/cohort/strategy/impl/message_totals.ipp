// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/strategy/detail/message_totals.hpp>

namespace cohort::detail {

void message_totals::add(message_report const& last) {
  threshold_ = last.largest_threshold;
  density_ = last.density();
  sent_ += static_cast<double>(last.sent);
  bytes_ += static_cast<double>(last.bytes);
  dense_bytes_ += static_cast<double>(sizeof(float) * last.elements);
  entropy_bytes_ += last.entropy_bytes();
  clipped_mass_ += last.clipped_mass;
}

void message_totals::add_dense(std::size_t elements) {
  auto const bytes = static_cast<double>(sizeof(float) * elements);
  density_ = 1;
  sent_ += static_cast<double>(elements);
  bytes_ += bytes;
  dense_bytes_ += bytes;
  entropy_bytes_ += bytes;
}

std::vector<measurement> message_totals::report() const {
  return {{"threshold", threshold_},
          {"density", density_},
          {"sent_elements", sent_, true},
          {"message_bytes", bytes_, true},
          {"dense_bytes", dense_bytes_, true},
          {"entropy_bytes", entropy_bytes_, true},
          {"clipped_mass", clipped_mass_, true}};
}

void message_ages::add(std::int64_t age) {
  largest_ = std::max(largest_, age);
  // 0, 1, 2, 3–4, 5–8, 9–16, more
  auto const bucket =
      age == 0 ? 0U : 1U + static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(age - 1)));
  ++counts_[std::min<std::size_t>(bucket, names.size() - 1)];
}

std::int64_t message_ages::messages() const {
  std::int64_t sum = 0;
  for (std::int64_t const one : counts_) sum += one;
  return sum;
}

void message_ages::append_to(std::vector<measurement>& to) const {
  for (std::size_t k = 0; k < names.size(); ++k)
    to.push_back({names[k], static_cast<double>(counts_[k]), true});
  to.push_back({"largest_staleness", static_cast<double>(largest_)});
}

}  // namespace cohort::detail
