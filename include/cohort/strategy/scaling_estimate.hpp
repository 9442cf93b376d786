// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/communicator/detail/ring_allreduce.hpp>
#include <cohort/communicator/link.hpp>
#include <cohort/strategy/detail/message_tree.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cohort {

/// Costs of one rank's step and of its exchange.
///
/// Units     seconds and bytes. `step_seconds`: a step of a rank with all its workers, without exchange; the
///           workers share the rank's messages. `bytes`: size of a rank's array in an allreduce, or of one
///           rank's message. `encode_seconds`: per exchange. `decode_seconds`: per message, or per result of
///           an allreduce. `hideable_seconds`: time for which an exchange is in flight before a rank waits
///           for it. `every`: steps between two exchanges. `sharing`: route of the messages; nullopt: the
///           exchange is an allreduce. `elements`: number of elements of the array that a message encodes.
struct scaling_costs {
  double step_seconds = 0;
  double bytes = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;
  double hideable_seconds = 0;
  double every = 1;
  std::optional<route> sharing{};
  std::uint64_t elements = 0;
  link_cost link{};
};

/// Estimated speed of `ranks` ranks.
///
/// Units     `step_seconds`: mean time of a step, exchange included. `speed_up`: examples per second relative
///           to one rank without exchange. `efficiency` = speed_up / ranks.
struct scaling_estimate {
  int ranks = 1;
  double step_seconds = 0;
  double speed_up = 1;
  double efficiency = 1;
};

namespace detail {

struct exchange_cost {
  double transfer = 0;  ///< time of the transfer in seconds
  double messages = 1;  ///< number of messages that are decoded
};

constexpr exchange_cost cost_of_allreduce(link_cost const& over, double bytes, int ranks) {
  int const among = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  double const rounds = rounds_of(among), fraction = static_cast<double>(among - 1) / among;
  double const fold = among < ranks ? over.seconds(2, 2 * bytes) : 0;
  switch (choose_allreduce_algorithm(static_cast<std::size_t>(bytes), ranks)) {
    case allreduce_algorithm::doubling:
      return {over.seconds(rounds, rounds * bytes) + fold};
    case allreduce_algorithm::halving:
      return {over.seconds(2 * rounds, 2 * fraction * bytes) + fold};
    default:
      return {over.seconds(
          2.0 * (ranks - 1) * static_cast<double>(segments_of_ring(static_cast<std::size_t>(bytes), ranks)),
          2.0 * (ranks - 1) / ranks * bytes)};
  }
}

constexpr exchange_cost cost_of_messages(scaling_costs const& of, int ranks) {
  bool const merged =
      *of.sharing == route::merged || (*of.sharing == route::by_size && merges_by_size(ranks, of.elements));
  double const others = ranks - 1, rounds = rounds_of(ranks);
  if (!merged) return {of.link.seconds(2 * others, others * of.bytes), static_cast<double>(ranks)};
  merging_bytes const merging = bytes_of_merging(ranks, of.bytes, of.elements);
  double const messages = of.bytes > 0 ? (2 * merging.received + merging.merged) / of.bytes : 0;
  return {of.link.seconds(2 * rounds, merging.in_sequence(ranks)), messages};
}

}  // namespace detail

/// Estimates the speed of `ranks` ranks, each with separate processors and the same batch as one rank.
///
///     step = compute + (encode + max(0, transfer − hideable) + messages · decode) / every
///
///     transfer, for latency α and n bytes at β bytes/s, of                      messages decoded
///     allreduce, ring                      2(P−1)·⌈n/(P·512 KiB)⌉·α + 2(P−1)/P·n/β    1
///     allreduce, halving                   2·log2 P·α + 2(P−1)/P·n/β            1
///     allreduce, doubling                  log2 P·(α + n/β)                     1
///     messages to all                      2(P−1)·α + (P−1)·n/β                 P
///     messages merged on the way           2⌈log2 P⌉·α + (r + ⌈log2 P⌉·m)/β     (2r + m)/n
///
/// Units     n and P determine the allreduce algorithm. If P is not a power of two, halving and doubling use
///           the largest power of two below P, and cost 2(α + n/β) more. The root of a merge receives r
///           bytes; the merged message has m bytes. r = (P−1)·n and m = P·n, assuming that no two messages
///           share an element; a message has at most 96 + elements/4 bytes.
/// Exact     one rank exchanges nothing. The result is an estimate for planning: it assumes no other traffic,
///           equally fast ranks and links, and messages that are sent one after another.
/// Source    collectives: Thakur, Rabenseifner and Gropp, IJHPCA 2005. Messages are encoded and decoded in
///           addition to the step, as in Deeplearning4j's gradient sharing.
constexpr scaling_estimate estimate_scaling(scaling_costs const& of, int ranks) {
  if (ranks < 2) return {.ranks = 1, .step_seconds = of.step_seconds};
  detail::exchange_cost const cost =
      of.sharing ? detail::cost_of_messages(of, ranks) : detail::cost_of_allreduce(of.link, of.bytes, ranks);
  double const exchange = of.encode_seconds + std::max(0.0, cost.transfer - of.hideable_seconds)
                          + cost.messages * of.decode_seconds;
  double const step = of.step_seconds + exchange / of.every;
  double const efficiency = step > 0 ? of.step_seconds / step : 1;
  return {ranks, step, ranks * efficiency, efficiency};
}

/// Costs in the scaling estimate of Deeplearning4j.
///
/// Units     seconds. `step_seconds`: a step of one worker without exchange; `encode_seconds`: encoding, per
///           step; `decode_seconds`: decoding of one worker's message; `server_seconds`: the parameter
///           server's work, per step.
struct deeplearning4j_costs {
  double step_seconds = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;
  double server_seconds = 0;
};

/// Estimates the speed of nodes·workers workers as Deeplearning4j's documentation does, for comparison:
///
///     speed_up = nodes · workers · step / (step + encode + decode · nodes · workers + server)
///
/// Units     `ranks` of the result is nodes·workers.
/// Exact     the documentation's example (550, 50, 5 and 20 ms, 8 nodes, 4 workers) has an efficiency of
///           70.51 %. The formula ignores overlap with compute and the bandwidth of the links.
///           One worker has the costs of an exchange, too.
/// Source    Deeplearning4j, Distributed Training, "Scalability".
constexpr scaling_estimate estimate_scaling(deeplearning4j_costs const& of, int nodes, int workers) {
  int const all = nodes * workers;
  double const step = of.step_seconds + of.encode_seconds + of.decode_seconds * all + of.server_seconds;
  double const efficiency = step > 0 ? of.step_seconds / step : 1;
  return {all, step, all * efficiency, efficiency};
}

/// Converts costs to those of Deeplearning4j's estimate, per step. The server's time is the time of one
/// message to a server and one message back.
constexpr deeplearning4j_costs as_deeplearning4j_costs(scaling_costs const& of) {
  return {.step_seconds = of.step_seconds,
          .encode_seconds = of.encode_seconds / of.every,
          .decode_seconds = of.decode_seconds / of.every,
          .server_seconds = of.link.seconds(2, 2 * of.bytes) / of.every};
}

/// Returns the costs of a run from its strategy's measurements (strategy::report) in `steps` steps of `ranks`
/// ranks.
///
/// Before    `step_seconds`, without exchange, and the link (measure_link) are measured separately.
constexpr scaling_costs costs_of(std::span<measurement const> measured, std::int64_t steps, int ranks,
                                 double step_seconds, link_cost const& over) {
  auto const of = [&](std::string_view name) {
    for (measurement const& one : measured)
      if (one.name == name) return one.value;
    return 0.0;
  };
  double const exchanges = of("exchanges") > 0 ? of("exchanges") : static_cast<double>(steps);
  scaling_costs costs{.step_seconds = step_seconds, .link = over};
  if (steps < 1 || exchanges <= 0) return costs;
  costs.every = static_cast<double>(steps) / exchanges;
  costs.bytes = of("message_bytes") / exchanges;
  costs.decode_seconds = of("apply_seconds") / exchanges;
  costs.hideable_seconds = of("hideable_seconds") / exchanges;
  if (of("sent_elements") > 0) {
    costs.sharing = route::by_size;
    costs.elements = static_cast<std::uint64_t>(of("dense_bytes") / exchanges / sizeof(float));
    costs.encode_seconds = of("encode_seconds") / exchanges;
    costs.decode_seconds /= ranks;
  }
  return costs;
}

}  // namespace cohort
