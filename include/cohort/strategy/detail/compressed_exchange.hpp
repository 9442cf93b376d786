// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/message_totals.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace cohort::detail {

/// Returns votes as the flags of a message header.
constexpr std::uint32_t flags_of(votes const& all) {
  return (all.stop ? 1U : 0U) | (all.save ? 2U : 0U) | (all.not_finite ? 4U : 0U);
}

/// Adds the examples, weight and votes in a message's header to `to`.
void add_votes(message_header const& from, agreement& to);

/// Throws data_error if a checkpoint's residual does not have the size of the exchanged array.
void require_residual_size(std::size_t saved, std::size_t expected);

/// Sums the ranks' arrays without a compressor, in the `warm_up` steps.
///
/// Order     call run (collective) in the same steps on every rank, then end, which frees the memory.
class dense_exchange {
 public:
  /// After     `x` is the sum of all ranks' arrays, with the same bits on each rank; zeros if a rank's
  ///           numbers are out of range or not finite.
  /// Moves     an allreduce.
  void run(communicator& world, step_info const& now, std::span<float> x, agreement& agreed);
  void end() { sum_.reset(); }

 private:
  std::optional<weighted_sum> sum_;
};

/// Common part of the exchanges of compressed arrays: the codec, dense steps, and measurements.
template <compressor C>
class compressed_exchange {
 public:
  /// Times of the last complete exchange.
  exchange_times const& last() const { return meter_.last(); }

 protected:
  using clock = std::chrono::steady_clock;

  compressed_exchange(C codec, std::uint64_t run) : codec_(std::move(codec)), run_(run) {}

  std::size_t elements() const { return codec_.table().elements(); }

  /// Encodes `mine` as this rank's message of a step. If this rank has no examples, or `wanted` reports
  /// numbers that are not finite, the message has no elements.
  ///
  /// After     the residual contains the part that was not sent. The bytes are valid until the next call.
  std::span<std::byte const> encode_step(std::int64_t step, int rank, step_info const& now,
                                         votes const& wanted, std::span<float> residual,
                                         std::span<float> mine) {
    message_stamp const stamp{.run = run_,
                              .step = static_cast<std::uint64_t>(step),
                              .rank = static_cast<std::uint32_t>(rank),
                              .flags = flags_of(wanted),
                              .examples = static_cast<std::uint64_t>(now.examples),
                              .weight = now.weight};
    if (wanted.not_finite) return codec_.not_finite(stamp);
    if (now.weight == 0) return codec_.nothing(stamp);
    std::span<std::byte const> const message = codec_.encode(stamp, residual, mine);
    totals_.add(codec_.report());
    return message;
  }

  /// Returns the run, step and number of ranks that messages of a step must have.
  expected_messages expected_in(std::int64_t step, int ranks) const {
    auto const number = static_cast<std::uint64_t>(step);
    return {run_, number, number, static_cast<std::uint32_t>(ranks)};
  }

  /// Calls exchange() and records it as a dense exchange among `ranks` ranks.
  template <class Exchange>
  void measure_dense(int ranks, Exchange exchange) {
    auto const begin = clock::now();
    exchange();
    auto const end = clock::now();
    count_dense(ranks);
    meter_.add({.transfer = {begin, end}}, {}, end - begin);
  }
  void count_dense(int ranks) {
    if (ranks > 1) totals_.add_dense(elements());
  }

  C codec_;
  std::uint64_t run_;
  dense_exchange dense_;
  message_totals totals_;
  exchange_meter meter_;
};

}  // namespace cohort::detail
