// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/detail/compressed_exchange.hpp>
#include <cstring>

namespace cohort::detail {

void add_votes(message_header const& from, agreement& to) {
  to.examples += static_cast<std::int64_t>(from.examples);
  to.weight += from.weight;
  to.all |=
      {.stop = (from.flags & 1U) != 0, .save = (from.flags & 2U) != 0, .not_finite = (from.flags & 4U) != 0};
}

void require_residual_size(std::size_t saved, std::size_t expected) {
  if (saved != expected)
    throw data_error({.what = "cannot restore a residual of another size",
                      .where = "strategy/array/residual",
                      .expected = {expected, " elements"},
                      .got = {saved}});
}

void dense_exchange::run(communicator& world, step_info const& now, std::span<float> x, agreement& agreed) {
  votes own = now.mine;
  own.not_finite |= !within_range(best_isa(), x);
  if (!sum_) sum_.emplace(element_type::f32, x.size(), true);
  if (!own.not_finite) std::memcpy(sum_->data(), x.data(), sum_->bytes());
  sum_->start(world, {now.examples, 1}, 1, own);
  sum_->wait();
  agreed = sum_->read_agreement(agreed.meetings + 1);
  if (agreed.all.not_finite)
    std::fill(x.begin(), x.end(), 0.0F);
  else
    std::memcpy(x.data(), sum_->data(), sum_->bytes());
}

}  // namespace cohort::detail
