// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/communicator/allreduce_parts.hpp>
#include <cohort/communicator/detail/message_communicator.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/random/stream.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>
#include "numbers.hpp"

/// Conformance tests of each allreduce algorithm, independent of the rule that chooses one.
namespace conformance {

/// Requires that a rank sends this traffic during act().
template <class Act>
void require_traffic(communicator& world, Act act, std::uint64_t bytes, std::uint64_t messages,
                     std::string const& what) {
  traffic const before = world.sent();
  act();
  traffic const after = world.sent();
  require(
      after.bytes_sent - before.bytes_sent == bytes && after.messages_sent - before.messages_sent == messages,
      what + ": " + std::to_string(after.bytes_sent - before.bytes_sent) + " bytes in "
          + std::to_string(after.messages_sent - before.messages_sent) + " messages, not "
          + std::to_string(bytes) + " in " + std::to_string(messages));
}

/// Returns whether `most` bytes are the largest array that recursive halving sums for this number of ranks.
constexpr bool halves_up_to(std::size_t most, int ranks) {
  return detail::choose_allreduce_algorithm(most, ranks) == detail::allreduce_algorithm::halving
         && detail::choose_allreduce_algorithm(most + 1, ranks) == detail::allreduce_algorithm::ring;
}
static_assert(halves_up_to(512 << 10, 4) && halves_up_to(512 << 10, 16));
static_assert(halves_up_to(64 << 10, 3) && halves_up_to(64 << 10, 15));
static_assert(halves_up_to(12 * 12'500, 17) && halves_up_to(26 * 50'000, 32)
              && halves_up_to(57 * 50'000, 64));
static_assert(halves_up_to(89 * 12'500, 96) && halves_up_to(1013 * 50'000, 1024));

inline constexpr detail::allreduce_algorithm all_ways[] = {detail::allreduce_algorithm::ring,
                                                           detail::allreduce_algorithm::halving,
                                                           detail::allreduce_algorithm::doubling};

inline std::string name_of(detail::allreduce_algorithm way) {
  return way == detail::allreduce_algorithm::ring      ? "ring"
         : way == detail::allreduce_algorithm::halving ? "halving"
                                                       : "doubling";
}

inline void allreduce_by(communicator& world, detail::allreduce_algorithm way, elements data,
                         reduction how = reduction::sum) {
  dynamic_cast<detail::message_communicator&>(world).start_allreduce(data, how, way).wait();
}

inline void reduces_with_every_algorithm(communicator& world) {
  auto const ranks = static_cast<std::size_t>(world.size());
  for (detail::allreduce_algorithm const way : all_ways)
    for (element_type const type : all_types)
      for (reduction const how : {reduction::sum, reduction::maximum})
        for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, ranks - 1, ranks,
                                    ranks + 1, std::size_t{999}, std::size_t{2'011}}) {
          numbers all = contributions(type, world.rank(), n);
          allreduce_by(world, way, all, how);
          require_equal(all, reduced(type, world.size(), n, how), name_of(way));
        }
}

inline float uneven(int rank, std::size_t i) {
  return static_cast<float>(random_stream(7, "uneven", static_cast<std::uint64_t>(rank)).normal<double>(i));
}

/// Sum of element i over all ranks, in the order that the algorithm guarantees.
template <class T, class Made>
T sum_in_order(detail::allreduce_algorithm way, int ranks, int part_of_ring, std::size_t i, Made made) {
  auto const of_rank = [&](int r) { return made(uneven(r % ranks, i)); };
  if (way
      == detail::allreduce_algorithm::ring) {  // part p is x_{p+1} + x_{p+2} + … + x_p, from left to right
    T sum = of_rank(part_of_ring + 1);
    for (int k = 2; k <= ranks; ++k) sum = detail::sum_of(sum, of_rank(part_of_ring + k));
    return sum;
  }
  int most = 1;
  while (2 * most <= ranks) most *= 2;
  std::vector<T> sums;
  for (int r = 0; r < ranks; ++r) {  // the first ranks are summed in pairs
    bool const paired = r < 2 * (ranks - most);
    sums.push_back(paired ? detail::sum_of(of_rank(r), of_rank(r + 1)) : of_rank(r));
    r += paired ? 1 : 0;
  }
  bool const near_first = way == detail::allreduce_algorithm::doubling;
  for (int distance = near_first ? 1 : most / 2; distance > 0 && distance < most;
       distance = near_first ? 2 * distance : distance / 2) {
    std::vector<T> const before = sums;
    for (std::size_t r = 0; r < sums.size(); ++r)
      sums[r] = detail::sum_of(before[r], before[r ^ static_cast<std::size_t>(distance)]);
  }
  return sums[0];
}

/// Each addition rounds, so that the order is visible in the bits.
template <class T>
void adds_in_the_documented_order_as(communicator& world) {
  constexpr std::size_t n = 1003;
  auto const made = [](float x) {
    if constexpr (std::is_same_v<T, bf16>)
      return bf16::nearest(x);
    else
      return static_cast<T>(x) / 3;
  };
  constexpr element_type type = sizeof(T) == 2   ? element_type::bf16
                                : sizeof(T) == 4 ? element_type::f32
                                                 : element_type::f64;
  for (detail::allreduce_algorithm const way : all_ways) {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = made(uneven(world.rank(), i));
    allreduce_by(world, way, {reinterpret_cast<std::byte*>(all.data()), type, n});
    for (int part = 0; part < world.size(); ++part) {
      places const here(world, part, n);
      for (std::size_t i = here.first; i < here.last; ++i) {
        T const sum = sum_in_order<T>(way, world.size(), part, i, made);
        require(std::memcmp(&sum, &all[i], sizeof sum) == 0, place(type, n, i) + ", " + name_of(way));
      }
    }
  }
}
inline void adds_in_the_documented_order(communicator& world) {
  adds_in_the_documented_order_as<float>(world);
  adds_in_the_documented_order_as<double>(world);
  adds_in_the_documented_order_as<bf16>(world);
}

/// Zeros of both signs, and different NaN on two ranks: all ranks must get the same NaN.
inline void gives_all_ranks_the_same_bits(communicator& world) {
  for (detail::allreduce_algorithm const way : all_ways)
    for (reduction const how : {reduction::sum, reduction::maximum}) {
      std::vector<float> all(64);
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = i < 32 ? (static_cast<std::size_t>(world.rank()) + i) % 2 == 0 ? 0.0F : -0.0F
                        : std::bit_cast<float>(0x7fc0'0000U + static_cast<unsigned>(world.rank()));
      allreduce_by(world, way, std::span(all), how);
      auto const mine = std::as_bytes(std::span(all));
      gathered const everywhere = world.allgatherv(mine);
      for (int r = 0; r < world.size(); ++r)
        require(std::ranges::equal(everywhere.of(r), mine),
                "rank " + std::to_string(r) + ", " + name_of(way));
    }
}

/// Traffic of rank `of` according to the contracts: bytes and number of messages.
struct sent_by_way {
  std::size_t bytes = 0, messages = 0;
};
inline sent_by_way sent_in(detail::allreduce_algorithm way, int ranks, int of, std::size_t bytes_each,
                           std::size_t n, std::int64_t grain) {
  auto const part = [&](int parts, int k) {
    index_slice const all{0, static_cast<std::int64_t>(n)};
    return static_cast<std::size_t>(detail::aligned_part_of(all, k % parts, parts, grain).count);
  };
  if (way == detail::allreduce_algorithm::ring) {
    auto const all_ranks = static_cast<std::size_t>(ranks);
    std::size_t const most = (std::size_t{512} << 10) / bytes_each * all_ranks;
    if (auto const segments = static_cast<int>((n + most - 1) / most); segments > 1) {
      sent_by_way all;
      for (int k = 0; k < segments; ++k) {
        sent_by_way const one = sent_in(way, ranks, of, bytes_each, part(segments, k), grain);
        all = {all.bytes + one.bytes, all.messages + one.messages};
      }
      return all;
    }
    return {bytes_each * (2 * n - part(ranks, of) - part(ranks, of + 1)), 2 * (all_ranks - 1)};
  }
  int most = 1;
  while (2 * most <= ranks) most *= 2;
  bool const paired = of < 2 * (ranks - most);
  sent_by_way all;
  if (paired) all = {bytes_each * n, 1};  // to the other rank of the pair
  if (paired && of % 2 == 0) return all;
  int const place = paired ? of / 2 : of - (ranks - most);
  for (int held = 1; held < most; held *= 2) {
    std::size_t own = 0,
                others = 0;  // elements of this rank's `held` parts, and of its partner's parts
    for (int k = 0; k < held; ++k) {
      own += part(most, place / held * held + k);
      others += part(most, (place / held ^ 1) * held + k);
    }
    bool const doubles = way == detail::allreduce_algorithm::doubling;
    all.bytes += bytes_each * (doubles ? n : own + others);
    all.messages += doubles ? 1 : 2;
  }
  return all;
}

inline void counts_the_traffic_of_each_algorithm(communicator& world) {
  auto const ranks = static_cast<std::size_t>(world.size());
  for (std::size_t const n :
       {std::size_t{0}, std::size_t{1}, ranks - 1, ranks, std::size_t{1000}, std::size_t{2'011}})
    for (element_type const type : {element_type::f32, element_type::bf16}) {
      numbers all(type, n);
      auto const expect = [&](detail::allreduce_algorithm way, auto const& act) {
        sent_by_way const own = sent_in(way, world.size(), world.rank(), bytes_of(type), n, 1);
        require_traffic(world, act, own.bytes, own.messages, name_of(way));
      };
      for (detail::allreduce_algorithm const way : all_ways)
        expect(way, [&] { allreduce_by(world, way, all); });
      expect(detail::choose_allreduce_algorithm(n * bytes_of(type), world.size()),
             [&] { world.allreduce(all); });
    }
}

/// Rings of more than one segment, with and without an incomplete segment.
inline void sums_rings_of_several_segments(communicator& world) {
  std::size_t const segment = (std::size_t{512} << 10) / 4 * static_cast<std::size_t>(world.size());
  for (std::size_t const n : {segment, 2 * segment, 2 * segment + 5}) {
    std::vector<std::int32_t> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<std::int32_t>(i % 1009) * (world.rank() + 1);
    sent_by_way const own =
        sent_in(detail::allreduce_algorithm::ring, world.size(), world.rank(), 4, n, 4096);
    require_traffic(
        world, [&] { world.allreduce(std::span(all)); }, own.bytes, own.messages, "segments");
    for (std::size_t i = 0; i < n; ++i)
      require(all[i] == static_cast<std::int32_t>(i % 1009) * (world.size() * (world.size() + 1) / 2),
              "element " + std::to_string(i) + " of " + std::to_string(n));
  }
}

/// Sizes with and without parts: below and above the bounds of halving, and of the size that has parts.
inline std::vector<std::size_t> sizes_of_phased_sums(int ranks) {
  std::size_t const least = 4 * 4096 * static_cast<std::size_t>(ranks);
  return {0, 1, 3'000, least - 1, least, least + 777, 131'073, 700'001};
}

/// The two phases of an allreduce give the same bits and send the same messages as the whole. Between the
/// phases only this rank's parts are valid.
inline void runs_the_phases_of_an_allreduce(communicator& world) {
  for (std::size_t const n : sizes_of_phased_sums(world.size())) {
    std::vector<float> whole(n), phased(n);
    for (std::size_t i = 0; i < n; ++i) whole[i] = phased[i] = uneven(world.rank(), i % 5'003) / 3;
    traffic const before = world.sent();
    world.allreduce(std::span(whole));
    traffic const between = world.sent();
    world.start_reduce_scatter_phase(std::span(phased), reduction::sum).wait();
    auto const parts = parts_of_allreduce(element_type::f32, n, world.rank(), world.size());
    if (!parts.empty()) {
      std::vector<float> own(n, std::numeric_limits<float>::quiet_NaN());
      for (index_slice const& part : parts)
        std::copy_n(phased.begin() + part.first, part.count, own.begin() + part.first);
      phased = std::move(own);
    }
    world.start_allgather_phase(std::span(phased)).wait();
    traffic const after = world.sent();
    std::string const what = std::to_string(n) + " elements";
    require(n == 0 || std::memcmp(whole.data(), phased.data(), n * sizeof(float)) == 0, what);
    require(
        after.bytes_sent - between.bytes_sent == between.bytes_sent - before.bytes_sent
            && after.messages_sent - between.messages_sent == between.messages_sent - before.messages_sent,
        what + ": traffic");
  }
}

/// Every element belongs to one rank's parts, and blocks of 4,096 elements are not divided.
inline void divides_elements_into_parts(communicator& world) {
  for (std::size_t const n : sizes_of_phased_sums(world.size())) {
    std::vector<int> owners(n);
    int ranks_with_parts = 0;
    for (int rank = 0; rank < world.size(); ++rank) {
      auto const parts = parts_of_allreduce(element_type::f32, n, rank, world.size());
      ranks_with_parts += parts.empty() ? 0 : 1;
      for (index_slice const& part : parts) {
        auto const end = static_cast<std::size_t>(part.first + part.count);
        require(part.first % 4096 == 0 && (end % 4096 == 0 || end == n), "bounds of " + std::to_string(n));
        for (auto i = static_cast<std::size_t>(part.first); i < end; ++i) ++owners[i];
      }
    }
    require(ranks_with_parts == 0 || ranks_with_parts == world.size(), "ranks of " + std::to_string(n));
    require(ranks_with_parts == 0 || std::ranges::count(owners, 1) == static_cast<std::ptrdiff_t>(n),
            "owners of " + std::to_string(n));
  }
  bool const has_parts = !parts_of_allreduce(element_type::f32, 700'001, world.rank(), world.size()).empty();
  require(has_parts == (world.size() > 1), "an array of 700,001 elements has parts");
}

}  // namespace conformance
