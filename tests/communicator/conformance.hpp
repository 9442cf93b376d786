// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allreduce_algorithms.hpp"
#include "numbers.hpp"

/// Requirements on every communicator. Each case runs on every rank at once, with a separate oracle on each
/// rank. A failure is thrown, so that no other rank waits for the failed rank.
namespace conformance {

inline std::vector<std::size_t> sizes_for(communicator const& world) {
  auto const ranks = static_cast<std::size_t>(world.size());
  return {0, 1, ranks - 1, ranks, 1000, 100'003};
}

inline void reduces_every_type_and_size(communicator& world) {
  for (element_type const type : all_types)
    for (reduction const how : {reduction::sum, reduction::maximum})
      for (std::size_t const n : sizes_for(world)) {
        numbers const expected = reduced(type, world.size(), n, how);
        numbers all = contributions(type, world.rank(), n);
        world.allreduce(all, how);
        require_equal(all, expected, "allreduce");

        all = contributions(type, world.rank(), n);
        world.reduce_scatter(all, how);
        places const mine(world, world.rank(), n);
        require_equal(all, expected, mine.first, mine.last, "reduce_scatter");
      }
}

inline void propagates_a_nan(communicator& world) {
  for (element_type const type : {element_type::f32, element_type::f64, element_type::bf16})
    for (reduction const how : {reduction::sum, reduction::maximum})
      for (int who = 0; who < world.size(); ++who) {
        numbers all = contributions(type, world.rank(), 40);
        if (world.rank() == who) all.put(17, std::numeric_limits<double>::quiet_NaN());
        world.allreduce(all, how);
        for (std::size_t i = 0; i < all.count; ++i)
          require(detail::is_nan(all.get(i)) == (i == 17), place(type, all.count, i));
      }
}

inline void broadcasts_from_every_root(communicator& world) {
  for (element_type const type : all_types)
    for (std::size_t const n : sizes_for(world))
      for (int root = 0; root < world.size(); ++root) {
        numbers all = contributions(type, world.rank(), n);
        world.broadcast(all, root);
        require_equal(all, contributions(type, root, n), "from rank " + std::to_string(root));
      }
}

inline void allgathers_parts_of_any_type_and_size(communicator& world) {
  for (element_type const type : all_types)
    for (std::size_t const n : sizes_for(world)) {
      numbers all(type, n);
      numbers expected(type, n);
      for (int r = 0; r < world.size(); ++r) {
        places const part(world, r, n);
        auto const value = [&](std::size_t i) { return contribution(type, r, i); };
        expected.fill(value, part.first, part.last);
        if (r == world.rank()) all.fill(value, part.first, part.last);
      }
      world.allgather(all);
      require_equal(all, expected, "allgather");
    }
}

inline std::vector<std::byte> letter(int from, std::size_t bytes) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(from) * 5);
  return text;
}
inline bool is_letter(std::span<std::byte const> text, int from, std::size_t bytes) {
  std::vector<std::byte> const expected = letter(from, bytes);
  return std::equal(text.begin(), text.end(), expected.begin(), expected.end());
}

inline void gathers_messages_of_any_size(communicator& world) {
  gathered all;
  for (std::size_t const unit : {0, 1, 1000, 100'003, 3}) {
    auto const bytes_of_rank = [&](int r) {
      return unit * static_cast<std::size_t>((r + 2) % 3);
    };  // some are empty
    std::vector<std::byte> const mine = letter(world.rank(), bytes_of_rank(world.rank()));
    world.start_allgatherv(mine, all).wait();
    require(all.first.size() == static_cast<std::size_t>(world.size()) + 1, "a place for each rank");
    for (int r = 0; r < world.size(); ++r)
      require(is_letter(all.of(r), r, bytes_of_rank(r)), "from rank " + std::to_string(r));
  }
}

inline void supports_many_pending_operations(communicator& world) {
  constexpr int many = 12;
  std::vector<numbers> sums, copies;
  gathered all;
  std::vector<pending_operation> under_way;
  std::vector<std::byte> const mine = letter(world.rank(), 77);
  for (int k = 0; k < many; ++k) {
    sums.push_back(contributions(element_type::f32, world.rank(), static_cast<std::size_t>(1 + k * 1000)));
    copies.push_back(contributions(element_type::u8, world.rank(), static_cast<std::size_t>(5000 - k * 400)));
  }
  for (int k = 0; k < many; ++k) {
    under_way.push_back(world.start_allreduce(sums[static_cast<std::size_t>(k)], reduction::sum));
    under_way.push_back(world.start_broadcast(copies[static_cast<std::size_t>(k)], k % world.size()));
  }
  under_way.push_back(world.start_allgatherv(mine, all));
  under_way.push_back(world.start_barrier());
  if (world.rank() % 2 == 1) std::reverse(under_way.begin(), under_way.end());  // the order of the waits
  for (pending_operation& one : under_way) {
    one.done();
    one.wait();
    require(one.done(), "what was waited for is done");
  }
  for (std::size_t k = 0; k < many; ++k) {
    require_equal(sums[k], reduced(element_type::f32, world.size(), sums[k].count, reduction::sum), "sum");
    require_equal(copies[k],
                  contributions(element_type::u8, static_cast<int>(k) % world.size(), copies[k].count),
                  "copy " + std::to_string(k));
  }
  for (int r = 0; r < world.size(); ++r)
    require(is_letter(all.of(r), r, 77), "from rank " + std::to_string(r));
}

inline void keeps_completed_operations_completed(communicator& world) {
  pending_operation ended = world.start_barrier();
  auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!ended.done()) require(std::chrono::steady_clock::now() < limit, "done() moves a barrier on");
  int const next = (world.rank() + 1) % world.size();
  std::byte out{7}, in{};
  pending_operation receiving =
      world.start_receive({&in, 1}, (world.rank() + world.size() - 1) % world.size(), 1);
  require(ended.done() && !receiving.done(), "what has ended does not begin again with another operation");
  world.barrier();
  pending_operation sending = world.start_send({&out, 1}, next, 1);
  receiving.wait();
  sending.wait();
  require(in == out, "received");
}

inline void sends_in_order_for_each_tag(communicator& world) {
  int const next = (world.rank() + 1) % world.size();  // the rank itself if it is the only one
  int const previous = (world.rank() + world.size() - 1) % world.size();
  constexpr std::size_t sizes[] = {0, 1, 100, 100'003, 7};
  std::vector<std::vector<std::byte>> letters;
  std::vector<pending_operation> under_way;
  for (int const tag : {0, communicator::largest_tag})
    for (std::size_t const size : sizes) letters.push_back(letter(world.rank() + tag, size));
  for (std::size_t k = 0; k < letters.size(); ++k)
    under_way.push_back(
        world.start_send(letters[k], next, k < std::size(sizes) ? 0 : communicator::largest_tag));
  for (int const tag : {communicator::largest_tag, 0}) {  // in the opposite order
    std::vector<std::vector<std::byte>> texts;
    std::vector<pending_operation> arriving;
    for (std::size_t const size : sizes) texts.emplace_back(size);
    for (auto& text : texts) arriving.push_back(world.start_receive(text, previous, tag));
    for (pending_operation& one : arriving) one.wait();
    for (auto const& text : texts)
      require(is_letter(text, previous + tag, text.size()), "tag " + std::to_string(tag));
  }
  for (pending_operation& one : under_way) one.wait();
}

inline void probes_messages_from_any_rank(communicator& world) {
  constexpr int tag = 5;
  if (world.rank() > 0) {
    for (int round = 0; round < 3; ++round)
      world.send(letter(world.rank(), static_cast<std::size_t>(world.rank() * 10 + round)), 0, tag);
  } else {
    require(!world.probe(communicator::any_source, tag + 1), "nobody uses this tag");
    std::vector<int> rounds(static_cast<std::size_t>(world.size()));
    for (int left = 3 * (world.size() - 1); left > 0; --left) {
      arrival const next = world.wait_for_message(communicator::any_source, tag);
      int& round = rounds[static_cast<std::size_t>(next.from)];
      require(next.tag == tag && next.bytes == static_cast<std::size_t>(next.from * 10 + round),
              "message " + std::to_string(round) + " of rank " + std::to_string(next.from));
      std::optional<arrival> const again = world.probe(next.from, tag);
      require(again && again->from == next.from && again->bytes == next.bytes, "still there");
      std::vector<std::byte> text(next.bytes);
      world.receive(text, next.from, tag);
      require(is_letter(text, next.from, next.bytes), "from rank " + std::to_string(next.from));
      ++round;
    }
    require(!world.probe(communicator::any_source, tag), "nothing is left");
  }
  world.barrier();
}

inline void does_not_probe_messages_with_a_pending_receive(communicator& world) {
  constexpr int tag = 6;
  int const next = (world.rank() + 1) % world.size();
  int const previous = (world.rank() + world.size() - 1) % world.size();
  std::vector<std::byte> first(1000), second(2000);
  pending_operation receiving = world.start_receive(first, previous, tag);
  world.barrier();
  auto const mine = letter(world.rank(), 1000), more = letter(world.rank(), 2000);
  pending_operation sending[]{world.start_send(mine, next, tag), world.start_send(more, next, tag)};
  require(world.wait_for_message(communicator::any_source, tag).bytes == 2000, "the second message");
  world.receive(second, previous, tag);
  receiving.wait();
  for (pending_operation& one : sending) one.wait();
  require(is_letter(first, previous, 1000) && is_letter(second, previous, 2000), "both have come");
}

/// Sum of the members' world ranks, computed by a communicator of some of the ranks.
inline int sum_of_ranks(communicator& some, int mine) {
  int sum = mine;
  some.allreduce(std::span(&sum, 1));
  return sum;
}

inline void splits(communicator& world) {
  int const me = world.rank();
  auto const half = world.split(me % 2, -me);  // ranks in reverse order
  int expected = 0;
  int members = 0;
  for (int r = me % 2; r < world.size(); r += 2) expected += r, ++members;
  require(half->size() == members, "size");
  require(half->rank() == (members - 1) - me / 2, "order");
  for (int round = 0; round <= me % 2; ++round)  // the halves do different things
    require(sum_of_ranks(*half, me) == expected, "sum of a half");

  int first = me;
  half->broadcast(std::span(&first, 1), 0);
  require(first == me % 2 + 2 * (members - 1), "the root is the half's");
  auto const quarter = half->split(half->rank() / 2, half->rank());
  require(quarter->size() == std::min(2, members - half->rank() / 2 * 2), "size of a split of a split");
  int others = 0;
  for (int r = half->rank() / 2 * 2; r < std::min(half->rank() / 2 * 2 + 2, members); ++r)
    others += me % 2 + 2 * (members - 1 - r);
  require(sum_of_ranks(*quarter, me) == others, "sum of a quarter");

  auto const alone = world.split(me, 0);
  require(alone->size() == 1 && alone->rank() == 0 && sum_of_ranks(*alone, me) == me, "alone");
  require(sum_of_ranks(*world.split(-3, 0), 1) == world.size(), "one color, ties in the order of ranks");
}

inline void separates_messages_of_duplicates(communicator& world) {
  auto const twin = world.duplicate();
  require(twin->rank() == world.rank() && twin->size() == world.size(), "a twin is alike");
  numbers one = contributions(element_type::i64, world.rank(), 100);
  numbers two = contributions(element_type::i64, world.rank() + 1, 100);
  pending_operation under_way[2];
  if (world.rank() % 2 == 0) {
    under_way[0] = world.start_allreduce(one, reduction::sum);
    under_way[1] = twin->start_allreduce(two, reduction::sum);
  } else {
    under_way[1] = twin->start_allreduce(two, reduction::sum);
    under_way[0] = world.start_allreduce(one, reduction::sum);
  }
  for (pending_operation& each : under_way) each.wait();
  for (std::size_t i = 0; i < 100; ++i) {
    double first = 0, second = 0;
    for (int r = 0; r < world.size(); ++r) {
      first += contribution(element_type::i64, r, i);
      second += contribution(element_type::i64, r + 1, i);
    }
    require(one.get(i) == first && two.get(i) == second, "element " + std::to_string(i));
  }
  int const next = (world.rank() + 1) % world.size();
  int const previous = (world.rank() + world.size() - 1) % world.size();
  std::vector<std::byte> const text = letter(world.rank(), 9);
  pending_operation sending = world.start_send(text, next, 3);
  require(world.wait_for_message(previous, 3).bytes == 9, "it is there");
  require(!twin->probe(communicator::any_source, 3), "a message to the other one");
  std::vector<std::byte> came(9);
  world.receive(came, previous, 3);
  sending.wait();
}

inline void destroys_relatives_in_any_order(communicator& world) {
  for (int const order : {0, 1, 2}) {
    std::unique_ptr<communicator> family[3];
    family[0] = world.duplicate();
    family[1] = family[0]->duplicate();
    family[2] = family[1]->split(0, -world.rank());
    numbers all = contributions(element_type::i32, world.rank(), 5000);
    pending_operation under_way = family[order]->start_allreduce(all, reduction::sum);
    family[order].reset();
    int const left = (order + 1 + world.rank() % 2) % 3;  // ranks use different orders
    require(sum_of_ranks(*family[(order + 1) % 3], 1) == world.size(), "the one");
    require(sum_of_ranks(*family[(order + 2) % 3], 1) == world.size(), "and the other");
    family[left].reset();
    under_way.wait();
    require_equal(all, reduced(element_type::i32, world.size(), all.count, reduction::sum),
                  "begun before it was freed");
  }
  require(sum_of_ranks(world, 1) == world.size(), "the world goes on");
}

inline void counts_bytes_and_messages_sent(communicator& world) {
  auto const ranks = static_cast<std::size_t>(world.size());
  auto const expect = [&](auto const& act, std::uint64_t bytes, std::uint64_t messages, char const* what) {
    require_traffic(world, act, bytes, messages, what);
  };
  for (std::size_t const n : sizes_for(world)) {
    numbers all(element_type::f32, n);
    auto const bytes_of_part = [&](int r) {
      places const part(world, r % world.size(), n);
      return 4 * (part.last - part.first);
    };
    std::size_t const but_mine = 4 * n - bytes_of_part(world.rank());
    std::size_t const but_next = 4 * n - bytes_of_part(world.rank() + 1);
    expect([&] { world.reduce_scatter(all); }, but_mine, ranks - 1, "reduce_scatter");
    expect([&] { world.allgather(all); }, but_next, ranks - 1, "allgather");
    std::size_t rounds = 0;
    while (std::size_t{1} << rounds < ranks) ++rounds;
    expect([&] { world.barrier(); }, 0, rounds, "barrier");
    traffic const before = world.sent();
    world.broadcast(all, 0);
    auto messages = static_cast<std::int64_t>(world.sent().messages_sent - before.messages_sent);
    require(messages <= static_cast<std::int64_t>(rounds), "a broadcast's root sends ⌈log2 P⌉ at most");
    require(world.sent().bytes_sent - before.bytes_sent == static_cast<std::uint64_t>(messages) * n * 4,
            "whole copies");
    world.allreduce(std::span(&messages, 1));
    require(messages == world.size() - 1, "one message to each but the root");
    std::vector<std::byte> const mine = letter(0, n);
    expect([&] { world.allgatherv(mine); }, (ranks - 1) * (8 + n), 2 * (ranks - 1), "allgatherv");
  }
}

inline void refuses_ranks_and_tags_out_of_range(communicator& world) {
  auto const refused = [](auto const& act) {
    try {
      act();
      require(false, "not refused");
    } catch (setting_error const&) {
    }
  };
  std::byte one{};
  for (int const rank : {-2, -1, world.size()}) {
    refused([&] { world.start_broadcast({&one, element_type::u8, 1}, rank); });
    refused([&] { world.start_send({&one, 1}, rank, 0); });
    refused([&] { world.start_receive({&one, 1}, rank, 0); });
    if (rank != communicator::any_source) refused([&] { world.probe(rank, 0); });
  }
  for (int const tag : {-1, communicator::largest_tag + 1}) {
    refused([&] { world.start_send({&one, 1}, 0, tag); });
    refused([&] { world.start_receive({&one, 1}, 0, tag); });
    refused([&] { world.probe(0, tag); });
    refused([&] { world.wait_for_message(0, tag); });
  }
  require(sum_of_ranks(world, 1) == world.size(), "nothing has happened");
}

/// Random collectives of random types and sizes on two relatives; several may be pending at once.
inline void survives_random_programs(communicator& world) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random_stream const draw(seed, "program");
    std::uint64_t at = 0;
    auto const twin = world.duplicate();
    struct begun {
      numbers data;
      numbers expected;
      places checked;
      pending_operation handle{};
    };
    std::vector<std::unique_ptr<begun>> under_way;
    auto const finish = [&] {
      for (auto const& one : under_way) {
        one->handle.wait();
        require_equal(one->data, one->expected, one->checked.first, one->checked.last,
                      "seed " + std::to_string(seed));
      }
      under_way.clear();
    };
    for (int round = 0; round < 40; ++round) {
      communicator& on = draw.below(at++, 2) == 0 ? world : *twin;
      element_type const type = all_types[draw.below(at++, std::size(all_types))];
      reduction const how = draw.below(at++, 2) == 0 ? reduction::sum : reduction::maximum;
      std::uint64_t const below = std::uint64_t{1} << draw.below(at++, 14);
      auto const n = static_cast<std::size_t>(draw.below(at++, below));
      auto const kind = draw.below(at++, 4);
      auto const root = static_cast<int>(draw.below(at++, static_cast<std::uint64_t>(world.size())));
      auto one = std::make_unique<begun>(
          begun{contributions(type, world.rank(), n),
                kind == 0 ? contributions(type, root, n) : reduced(type, world.size(), n, how),
                places(world, world.rank(), n)});
      if (kind < 2) one->checked.first = 0, one->checked.last = n;
      if (kind == 3) one->checked.last = one->checked.first;
      if (kind == 0) one->handle = on.start_broadcast(one->data, root);
      if (kind == 1) one->handle = on.start_allreduce(one->data, how);
      if (kind == 2) one->handle = on.start_reduce_scatter(one->data, how);
      if (kind == 3) one->handle = on.start_barrier();
      under_way.push_back(std::move(one));
      if (draw.below(at++, 4) == 0) finish();
      if (random_stream(seed, "own", static_cast<std::uint64_t>(world.rank())).below(at, 3) == 0
          && !under_way.empty())
        under_way.back()->handle.done();
    }
    finish();
  }
}

struct test {
  char const* name;
  void (*run)(communicator& world);
};

inline constexpr test all_tests[] = {
    {"reduces_every_type_and_size", reduces_every_type_and_size},
    {"reduces_with_every_algorithm", reduces_with_every_algorithm},
    {"adds_in_the_documented_order", adds_in_the_documented_order},
    {"gives_all_ranks_the_same_bits", gives_all_ranks_the_same_bits},
    {"propagates_a_nan", propagates_a_nan},
    {"broadcasts_from_every_root", broadcasts_from_every_root},
    {"allgathers_parts_of_any_type_and_size", allgathers_parts_of_any_type_and_size},
    {"gathers_messages_of_any_size", gathers_messages_of_any_size},
    {"supports_many_pending_operations", supports_many_pending_operations},
    {"keeps_completed_operations_completed", keeps_completed_operations_completed},
    {"sends_in_order_for_each_tag", sends_in_order_for_each_tag},
    {"probes_messages_from_any_rank", probes_messages_from_any_rank},
    {"does_not_probe_messages_with_a_pending_receive", does_not_probe_messages_with_a_pending_receive},
    {"splits", splits},
    {"separates_messages_of_duplicates", separates_messages_of_duplicates},
    {"destroys_relatives_in_any_order", destroys_relatives_in_any_order},
    {"counts_bytes_and_messages_sent", counts_bytes_and_messages_sent},
    {"counts_the_traffic_of_each_algorithm", counts_the_traffic_of_each_algorithm},
    {"sums_rings_of_several_segments", sums_rings_of_several_segments},
    {"runs_the_phases_of_an_allreduce", runs_the_phases_of_an_allreduce},
    {"divides_elements_into_parts", divides_elements_into_parts},
    {"refuses_ranks_and_tags_out_of_range", refuses_ranks_and_tags_out_of_range},
    {"survives_random_programs", survives_random_programs},
};

}  // namespace conformance
