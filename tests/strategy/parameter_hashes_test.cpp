// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/detail/parameter_hashes.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace parameter_hashes_test {

using namespace cohort;

TEST(hash_of_bytes, differs_for_each_flipped_bit_and_length) {
  for (std::size_t const size : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{31},
                                 std::size_t{32}, std::size_t{33}, std::size_t{100}}) {
    std::vector<std::byte> bytes(size);
    random_stream const random(size, "bytes");
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(random.below(i, 256));
    std::set<std::uint64_t> seen{detail::hash_of_bytes(bytes)};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      EXPECT_TRUE(seen.insert(detail::hash_of_bytes(bytes)).second) << size << " bytes, bit " << bit;
      bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
  }
  std::vector<std::byte> const zeros(200);
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    EXPECT_TRUE(seen.insert(detail::hash_of_bytes(std::span(zeros).first(size))).second) << size;
}

/// Two flipped signs in one lane would cancel out if the words' highest bits did not move.
TEST(hash_of_bytes, differs_for_pairs_of_flipped_signs) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5F;
  std::set<std::uint64_t> seen;
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      values[a] = -values[a];
      values[b] = -values[b];
      EXPECT_TRUE(seen.insert(detail::hash_of_bytes(std::as_bytes(std::span(values)))).second)
          << a << ' ' << b;
      values[a] = -values[a];
      values[b] = -values[b];
    }
}

constexpr auto net = network<[](builder& b) {
  return b.input({1, 6, 6}) | conv2d{.filters = 3, .kernel = 3} | batch_norm{} | relu{} | dense{.units = 5}
         | softmax_cross_entropy{};
}>();

TEST(parameter_hashes, find_a_flipped_bit_in_each_parameter_with_and_without_copies) {
  auto const store = std::make_shared<parameter_store<reference<float>>>(reference<float>{}, net);
  auto const made = make_plan(store, net, {.batch = 2});
  store->initialise(1);
  for (bool const in_place : {true, false}) {
    std::vector<std::uint64_t> const before = detail::parameter_hashes(*store, in_place);
    ASSERT_EQ(before.size(), store->table().size());
    for (std::size_t p = 0; p < before.size(); ++p) {
      std::byte* const last =
          store->master()
          + (store->table()[p].offset + static_cast<std::size_t>(store->table()[p].spec.dims.elements()) - 1)
                * sizeof(float);
      *last ^= std::byte{1};
      std::vector<std::uint64_t> const after = detail::parameter_hashes(*store, in_place);
      for (std::size_t q = 0; q < before.size(); ++q)
        EXPECT_EQ(after[q] != before[q], p == q) << p << ' ' << q;
      *last ^= std::byte{1};
    }
    EXPECT_EQ(detail::parameter_hashes(*store, in_place), before);
  }
}

gathered of(std::vector<std::vector<std::uint64_t>> const& hashes) {
  gathered all{.first = {0}};
  for (std::vector<std::uint64_t> const& one : hashes) {
    auto const bytes = std::as_bytes(std::span(one));
    all.bytes.insert(all.bytes.end(), bytes.begin(), bytes.end());
    all.first.push_back(all.bytes.size());
  }
  return all;
}

TEST(divergence, reports_the_largest_group_and_the_first_differing_parameter) {
  std::vector<std::uint64_t> const good{1, 2, 3}, late{1, 2, 4}, early{1, 5, 3};
  detail::divergence const one = detail::find_divergence(of({late, good, good, early, good}), 5);
  EXPECT_EQ(one.most, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(one.others, (std::vector<int>{0, 3}));
  EXPECT_EQ(one.parameter, 1U);
  detail::divergence const two = detail::find_divergence(of({late, good}), 2);
  EXPECT_EQ(two.most, std::vector<int>{0}) << "the first of equal groups";
  EXPECT_EQ(two.parameter, 2U);
}

TEST(divergence, lists_up_to_16_ranks) {
  EXPECT_EQ(detail::text_of_ranks(std::vector<int>{3}), "rank 3");
  EXPECT_EQ(detail::text_of_ranks(std::vector<int>{0, 2}), "ranks 0, 2");
  EXPECT_EQ(detail::text_of_ranks(std::vector<int>(20, 7)),
            "ranks 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 and 4 more");
}

}  // namespace parameter_hashes_test
