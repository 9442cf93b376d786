// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/flat_simd.hpp>
#include <cohort/strategy/detail/low_precision_sum.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstring>

namespace cohort::detail {

void narrow(float* w, float const* kept, bf16* q, std::size_t n) { round_to_bf16(best_isa(), w, kept, q, n); }

void widen(bf16 const* q, double* w, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) w[i] = double{q[i].value()};
}

low_precision_sum::low_precision_sum(parameter_set const& parameters, element_type wire)
    : type_(parameters.type()), wire_(wire), buckets_(parameters.buckets()), pending_(buckets_.size()) {
  auto const n = static_cast<std::size_t>(parameters.elements());
  kept_ = buffer(n * bytes_of(type_));
  work_ = buffer(n * bytes_of(type_));
  sent_ = buffer(n * bytes_of(wire_));
}

std::byte* low_precision_sum::data(bucket const& one) const {
  return work_.data() + first_of(one) * bytes_of(type_);
}

void low_precision_sum::start(communicator& world, bucket const& one, double weight, std::int64_t expected) {
  std::size_t const first = first_of(one), count = count_of(one);
  weighted_sum::scale(type_, data(one), count, weight, static_cast<double>(expected));
  by_types([&]<class T, class Q>(T* work, T const* kept, Q* sent) {
    narrow(work + first, kept + first, sent + first, count);
  });
  pending_[static_cast<std::size_t>(one.index)].start(world,
                                                      {sent_.data() + first * bytes_of(wire_), wire_, count});
}

std::chrono::steady_clock::time_point low_precision_sum::wait() {
  std::chrono::steady_clock::time_point last{};
  for (split_allreduce& one : pending_) last = std::max(last, one.wait());
  return last;
}

bool low_precision_sum::is_finite() const {
  bool finite = true;
  for (bucket const& one : buckets_)
    by_types([&]<class T, class Q>(T*, T const*, Q* sent) {
      finite = finite && all_finite(best_isa(), sent + first_of(one), count_of(one));
    });
  return finite;
}

std::byte* low_precision_sum::mean(bucket const& one, double weight, std::int64_t expected) {
  std::size_t const first = first_of(one), count = count_of(one);
  by_types([&]<class T, class Q>(T* work, T const*, Q* sent) { widen(sent + first, work + first, count); });
  weighted_sum::scale(type_, data(one), count, static_cast<double>(expected), weight);
  return data(one);
}

void low_precision_sum::restore(std::span<std::byte const> saved, element_type type) {
  if (type == type_ && saved.size() == kept_.bytes()) std::memcpy(kept_.data(), saved.data(), saved.size());
}

}  // namespace cohort::detail
