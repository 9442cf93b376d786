// SPDX-License-Identifier: Apache-2.0
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cstring>

namespace cohort::detail {

weighted_sum::weighted_sum(element_type type, std::size_t count, bool with_votes)
    : type_(type),
      count_(count),
      words_(with_votes ? vote_words : 0),
      memory_((count + words_) * bytes_of(type)),
      data_(memory_.data()) {}

weighted_sum::weighted_sum(arena_passes& where, element_type type, std::size_t count)
    : type_(type), count_(count), passes_(&where), space_(where.space()) {}

void weighted_sum::start(communicator& world, contribution const& mine, std::int64_t expected,
                         votes const& own) {
  weigh(mine.weight, static_cast<double>(expected));
  if (words_ > 0) {
    double const words[vote_words]{static_cast<double>(mine.examples), mine.weight, own.stop ? 1.0 : 0.0,
                                   own.save ? 1.0 : 0.0, own.not_finite ? 1.0 : 0.0};
    by_type(type_, data(), [&]<class T>(T* values) {
      for (std::size_t i = 0; i < vote_words; ++i) values[count_ + i] = static_cast<T>(words[i]);
    });
  }
  ended_ = {};
  elements const all{data_, type_, count_ + words_, space_.get()};
  parts_.empty() ? pending_.start(world, all) : pending_.start_reduce_scatter(world, all);
}

agreement weighted_sum::read_agreement(std::int64_t meetings) {
  agreement result{.meetings = meetings};
  by_type(type_, data(), [&]<class T>(T const* values) {
    result.examples = static_cast<std::int64_t>(values[count_]);
    result.weight = static_cast<double>(values[count_ + 1]);
    result.all = {values[count_ + 2] > 0, values[count_ + 3] > 0, values[count_ + 4] > 0};
  });
  return result;
}

void weighted_sum::clear_requests() {
  by_type(type_, data(), [&](auto* values) { values[count_ + 2] = values[count_ + 3] = 0; });
}

void weighted_sum::scale(element_type type, std::byte* data, std::size_t count, double a, double b) {
  if (a == b) return;
  by_type(type, data, [&]<class T>(T*) { passes_on_processor<T>()->scale(data, count, a / b); });
}

void weighted_sum::add(element_type type, std::byte* dst, std::byte const* src, std::size_t count,
                       double factor) {
  by_type(type, dst, [&]<class T>(T* values) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] += static_cast<T>(factor) * reinterpret_cast<T const*>(src)[i];
  });
}

void weighted_sum::make_mean(double weight, std::int64_t expected) {
  double const all = static_cast<double>(expected);
  if (parts_.empty()) return weigh(all, weight);
  for (index_slice const& part : parts_)
    if (all != weight)
      passes_->scale(data_ + static_cast<std::size_t>(part.first) * bytes_of(type_),
                     static_cast<std::size_t>(part.count), all / weight);
}

void weighted_sum::weigh(double a, double b) {
  if (!passes_) return scale(type_, data_, count_, a, b);
  if (a != b) passes_->scale(data_, count_, a / b);
}

votes mean_over_ranks(communicator& world, element_type type, std::byte* dense, std::size_t count,
                      votes const* own) {
  weighted_sum sum(type, count, own != nullptr);
  std::memcpy(sum.data(), dense, sum.bytes());
  sum.start(world, {1, 1}, world.size(), own ? *own : votes());
  sum.wait();
  std::memcpy(dense, sum.data(), sum.bytes());
  return own ? sum.read_agreement(0).all : votes();
}

}  // namespace cohort::detail
