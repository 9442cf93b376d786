// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <gtest/gtest.h>
#include <cmath>
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <vector>

#include "../data/refused.hpp"
#include "gradients.hpp"

namespace threshold_compressor_test {

using namespace cohort;

static_assert(compressor<threshold_compressor>);

tensor_table table_of(std::size_t n) {
  if (n < 3) return {{"all", n}};
  return {{"first", n / 3}, {"second", 1}, {"third", n - n / 3 - 1}};
}

std::vector<float> decoded(message_codec& codec, std::span<std::byte const> message,
                           expected_messages const& expected = {.last_step = 1000, .ranks = 64}) {
  std::vector<float> s(codec.table().elements());
  codec.decode_add(message, expected, 1, s);
  return s;
}

constexpr expected_messages any{.last_step = 1000, .ranks = 64};

/// Expects that the message's values plus the residual equal the previous values, in real numbers.
void expect_sum(std::vector<float> const& s, std::vector<float> const& r, std::vector<float> const& y) {
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(double{s[i]} + double{r[i]}, double{y[i]}) << "element " << i << " of " << y.size();
}

TEST(threshold_compressor, conserves_the_gradient_in_any_coding_at_any_size) {
  for (std::size_t const n : {1UL, 2UL, 100UL, 65'535UL, 65'536UL, 65'537UL, 200'003UL})
    for (bool const per_tensor : {false, true})
      for (double const t : {100.0, 4.0, 1.0, 0.2, 0.01, 1e-6}) {  // none sent … bitmaps … all beyond 2¹⁶ t
        threshold_compressor codec(table_of(n), {.threshold = threshold::fixed{t}, .per_tensor = per_tensor});
        std::vector<float> r = gradient(n, 1, 0.1F);
        std::vector<float> const x = gradient(n, 2);
        std::vector<float> y(n);
        for (std::size_t i = 0; i < n; ++i) y[i] = r[i] + x[i];
        message_bytes const message = kept(codec.encode({}, r, x));
        expect_sum(decoded(codec, message), r, y);
        std::uint64_t sent = 0;
        float const rounded = bf16::nearest(static_cast<float>(t)).value();
        for (float const one : y) sent += std::fabs(one) >= rounded;
        EXPECT_EQ(codec.report().sent, sent);
        EXPECT_EQ(codec.report().bytes, message.size());
      }
}

TEST(threshold_compressor, sends_elements_far_beyond_the_threshold_as_multiples) {
  std::size_t const n = 70'000;
  threshold_compressor codec(table_of(n), {.threshold = threshold::fixed{1e-3}});
  std::vector<float> r(n), x = gradient(n, 1, 1e-3F);
  x[3] = 66;
  x[65'535] = -1e6F;
  x[65'536] = largest_gradient;
  x[n - 1] = bf16::nearest(1e-3F).value() * 65'536;  // just below
  std::vector<float> const y = x;
  message_bytes const message = kept(codec.encode({}, r, x));
  EXPECT_EQ(header_in(message).multiples, 3U);
  expect_sum(decoded(codec, message), r, y);
  EXPECT_LT(std::fabs(r[65'535]), 1e6F / 32'768);
}

TEST(threshold_compressor, conserves_the_gradient_up_to_rounding_if_codings_change) {
  std::size_t const n = 10'001;
  int const steps = 60;
  std::vector<double> sent(n), given(n);
  std::vector<float> r(n);
  double largest = 0;
  for (int step = 0; step < steps; ++step) {
    // The threshold and its scope, and therefore the coding, change from message to message.
    threshold_compressor codec(table_of(n), {.threshold = threshold::fixed{std::pow(10.0, -(step % 5))},
                                             .per_tensor = step % 2 == 0});
    std::vector<float> const x = gradient(n, static_cast<std::uint64_t>(step));
    for (std::size_t i = 0; i < n; ++i) largest = std::fmax(largest, std::fabs(r[i] + x[i]));
    auto const stamp = message_stamp{.step = static_cast<std::uint64_t>(step)};
    message_bytes const message = kept(codec.encode(stamp, r, x));
    std::vector<float> const s = decoded(codec, message);
    for (std::size_t i = 0; i < n; ++i) {
      sent[i] += double{s[i]};
      given[i] += double{x[i]};
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_LE(std::fabs(sent[i] + double{r[i]} - given[i]), steps * std::ldexp(largest, -24)) << i;
}

TEST(threshold_compressor, writes_the_same_bytes_on_any_instruction_set_and_team) {
  std::size_t const n = 400'000;
  std::vector<float> const x = gradient(n, 2), before = gradient(n, 1, 0.1F);
  for (double const density : {1e-3, 0.1, 0.9}) {
    threshold_compression const how{.threshold = threshold::quantile{.density = density}};
    std::vector<float> expected_r = before;
    threshold_compressor plain(table_of(n), how, nullptr, isa::baseline);
    message_bytes const expected = kept(plain.encode({.step = 3}, expected_r, x));
    std::vector<float> const s = decoded(plain, expected);
    for (isa const which : usable_isas())
      for (int const size : {1, 2, 3, 7, 16}) {
        team workers(size);
        threshold_compressor codec(table_of(n), how, &workers, which);
        std::vector<float> r = before;
        EXPECT_EQ(kept(codec.encode({.step = 3}, r, x)), expected) << name_of(which) << " team " << size;
        EXPECT_EQ(r, expected_r);
        EXPECT_EQ(decoded(codec, expected), s);
        std::vector<float> merged_r = before, other_r = before;
        message_bytes upper = kept(codec.encode({.step = 3, .rank = 1}, other_r, x));
        message_bytes const merged = kept(codec.merge(expected, upper, any, merged_r));
        std::vector<float> plain_r = before;
        EXPECT_EQ(kept(plain.merge(expected, upper, any, plain_r)), merged);
        EXPECT_EQ(merged_r, plain_r);
      }
  }
}

TEST(threshold_compressor, conserves_the_gradient_in_a_merge) {
  std::size_t const n = 150'001;
  for (double const t : {1.0, 0.05, 1e-6})
    for (double const ratio : {1.0, 3.0, 0.2}) {
      threshold_compressor lower(table_of(n), {.threshold = threshold::fixed{t}, .per_tensor = true});
      threshold_compressor upper(table_of(n), {.threshold = threshold::fixed{t * ratio}, .per_tensor = true});
      std::vector<float> r0(n), r1(n);
      message_bytes const a = kept(lower.encode({.step = 5, .rank = 2}, r0, gradient(n, 1)));
      message_bytes const b = kept(upper.encode({.step = 5, .rank = 3}, r1, gradient(n, 2)));
      std::vector<float> const sa = decoded(lower, a), sb = decoded(lower, b);
      std::vector<float> y = r0;
      for (std::size_t i = 0; i < n; ++i)
        if (sa[i] != 0 || sb[i] != 0)
          y[i] = static_cast<float>(double{r0[i]} + double{sa[i]} + double{sb[i]});
      message_bytes const both = kept(lower.merge(a, b, any, r0));
      expect_sum(decoded(upper, both), r0, y);
      EXPECT_EQ(lower.report().largest_threshold,
                double{bf16::nearest(static_cast<float>(std::max(t, t * ratio))).value()});
    }
}

TEST(threshold_compressor, combines_the_headers_of_merged_messages) {
  std::size_t const n = 1000;
  threshold_compressor codec(table_of(n), {.threshold = threshold::fixed{0.5}});
  std::vector<float> r(n);
  std::vector<float> const x = gradient(n, 1);
  message_bytes const a =
      kept(codec.encode({.run = 9, .step = 5, .rank = 2, .flags = 1, .examples = 30, .weight = 15.5}, r, x));
  message_bytes const b =
      kept(codec.encode({.run = 9, .step = 5, .rank = 3, .flags = 4, .examples = 12, .weight = 6}, r, x));
  expected_messages const run{.run = 9, .first_step = 5, .last_step = 5, .ranks = 4};
  message_header const sum = header_in(codec.merge(a, b, run, r));
  EXPECT_EQ(sum.examples, 42U);
  EXPECT_EQ(sum.weight, 21.5);
  EXPECT_EQ(sum.rank, 2U);
  EXPECT_EQ(sum.ranks, 2U);
  EXPECT_EQ(sum.flags, 5U);
  EXPECT_EQ(sum.step, 5U);
}

TEST(threshold_compressor, merges_messages_without_entries) {
  std::size_t const n = 70'000;
  threshold_compressor codec(table_of(n), {.threshold = threshold::fixed{0.5}});
  std::vector<float> const x = gradient(n, 1), zeros(n);
  std::vector<float> r(n);
  std::vector<message_bytes> of_lower, of_upper;  // sparse, not_finite, nothing
  for (std::uint32_t const rank : {0U, 1U}) {
    auto& list = rank == 0 ? of_lower : of_upper;
    message_stamp const stamp{.rank = rank, .examples = 5};
    r = zeros;
    list.push_back(kept(codec.encode(stamp, r, x)));
    list.push_back(kept(codec.not_finite(stamp)));
    list.push_back(kept(codec.nothing(stamp)));
  }
  constexpr message_kind expected[3][3] = {
      {message_kind::sparse, message_kind::not_finite, message_kind::sparse},
      {message_kind::not_finite, message_kind::not_finite, message_kind::not_finite},
      {message_kind::sparse, message_kind::not_finite, message_kind::nothing}};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) {
      std::vector<float> const before = gradient(n, 3, 0.01F);
      r = before;
      message_bytes const both = kept(codec.merge(of_lower[a], of_upper[b], any, r));
      EXPECT_EQ(header_in(both).kind, expected[a][b]) << a << b;
      EXPECT_EQ(header_in(both).examples, 10U);
      EXPECT_EQ(header_in(both).ranks, 2U);
      if (a == 0 && b == 0) continue;
      std::vector<float> const s = decoded(codec, both);
      std::vector<float> const sa = decoded(codec, of_lower[a]), sb = decoded(codec, of_upper[b]);
      for (std::size_t i = 0; i < n; ++i)  // two sums are rounded
        ASSERT_NEAR(double{s[i]} + double{r[i]}, double{before[i]} + double{sa[i]} + double{sb[i]},
                    std::ldexp(std::fabs(sa[i]) + std::fabs(sb[i]) + 1, -23))
            << a << b << ' ' << i;
    }
}

TEST(threshold_compressor, conserves_the_sum_over_a_tree_of_ranks) {
  std::size_t const n = 20'000;
  std::uint32_t const ranks = 8;
  std::vector<std::vector<float>> r(ranks, std::vector<float>(n));
  std::vector<double> given(n), kept_back(n);
  threshold_compressor codec(table_of(n), {.threshold = threshold::quantile{.density = 0.02}});
  std::vector<float> s;
  std::vector<double> sent(n);
  for (std::uint64_t step = 0; step < 5; ++step) {
    std::vector<message_bytes> messages;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::vector<float> const x = gradient(n, 100 * step + rank);
      for (std::size_t i = 0; i < n; ++i) given[i] += double{x[i]};
      messages.push_back(kept(codec.encode({.step = step, .rank = rank, .examples = rank}, r[rank], x)));
    }
    for (std::uint32_t apart = 1; apart < ranks; apart *= 2)
      for (std::uint32_t rank = 0; rank < ranks; rank += 2 * apart)
        messages[rank] = kept(codec.merge(messages[rank], messages[rank + apart], any, r[rank]));
    EXPECT_EQ(header_in(messages[0]).ranks, ranks);
    EXPECT_EQ(header_in(messages[0]).examples, 28U);
    s = decoded(codec, messages[0]);
    for (std::size_t i = 0; i < n; ++i) sent[i] += double{s[i]};
  }
  for (auto const& one : r)
    for (std::size_t i = 0; i < n; ++i) kept_back[i] += double{one[i]};
  for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(sent[i] + kept_back[i], given[i], 1e-4) << i;
}

TEST(threshold_compressor, refuses_to_merge_unrelated_messages) {
  std::size_t const n = 3000;
  threshold_compressor codec(table_of(n), {.threshold = threshold::fixed{0.5}});
  threshold_compressor other(table_of(n), {.threshold = threshold::fixed{0.5}, .per_tensor = true});
  std::vector<float> r(n);
  std::vector<float> const x = gradient(n, 1);
  message_bytes const a = kept(codec.encode({.step = 5}, r, x));
  message_bytes const late = kept(codec.encode({.step = 6, .rank = 1}, r, x));
  message_bytes const far = kept(codec.encode({.step = 5, .rank = 2}, r, x));
  message_bytes const each = kept(other.encode({.step = 5, .rank = 1}, r, x));
  std::vector<float> const before = r;
  auto const refusal = [&](message_bytes const& upper) {
    return refused<data_error>([&] { codec.merge(a, upper, any, r); });
  };
  expect_parts(refusal(late), {"different steps", "expected step 5, got step 6"});
  expect_parts(refusal(far), {"not neighbours", "a second message that begins with rank 1", "got rank 2"});
  expect_parts(refusal(a), {"not neighbours", "got rank 0"});
  expect_parts(refusal(each), {"another encoding", "rank 1", "expected 1 thresholds, got 3"});
  EXPECT_EQ(r, before);
}

TEST(threshold_compressor, clips_the_residual_periodically_and_reports_the_clipped_mass) {
  std::size_t const n = 70'001;
  std::vector<double> total(n);
  std::vector<float> r(n);
  threshold_compressor codec(table_of(n),
                             {.threshold = threshold::fixed{0.1}, .residual = residual::clip{2, 3}});
  for (std::uint64_t step = 0; step < 6; ++step) {
    std::vector<float> const x = gradient(n, step);
    std::vector<float> y(n);
    for (std::size_t i = 0; i < n; ++i) y[i] = r[i] + x[i];
    std::vector<float> const s = decoded(codec, kept(codec.encode({.step = step}, r, x)));
    double clipped = 0;
    float const bound = 2 * bf16::nearest(0.1F).value();
    for (std::size_t i = 0; i < n; ++i) {
      double const left = double{y[i]} - double{s[i]};
      clipped += std::fabs(left - double{r[i]});
      ASSERT_TRUE(step % 3 != 2 || std::fabs(r[i]) <= bound);
    }
    EXPECT_NEAR(codec.report().clipped_mass, clipped, 1e-5 * clipped);
    EXPECT_EQ(clipped > 0, step % 3 == 2);
  }
}

TEST(threshold_compressor, decays_the_residual_periodically) {
  threshold_compressor codec(table_of(300),
                             {.threshold = threshold::fixed{10}, .residual = residual::decay{0.25, 2}});
  std::vector<float> r(300), const_x(300, 1.0F);
  codec.encode({.step = 0}, r, const_x);
  EXPECT_EQ(r, std::vector<float>(300, 1.0F));
  codec.encode({.step = 1}, r, const_x);
  EXPECT_EQ(r, std::vector<float>(300, 0.5F));
}

TEST(threshold_compressor, resumes_from_its_state_as_if_uninterrupted) {
  std::size_t const n = 5000;
  threshold_compression const how{.threshold = threshold::target_density{.density = 0.01, .initial = 5},
                                  .residual = residual::clip{},
                                  .per_tensor = true};
  threshold_compressor first(table_of(n), how);
  std::vector<float> r(n);
  for (std::uint64_t step = 0; step < 7; ++step) first.encode({.step = step}, r, gradient(n, step));
  threshold_compressor second(table_of(n), how);
  second.restore(first.state());
  std::vector<float> again = r;
  for (std::uint64_t step = 7; step < 12; ++step)
    EXPECT_EQ(kept(first.encode({.step = step}, r, gradient(n, step))),
              kept(second.encode({.step = step}, again, gradient(n, step))));
}

TEST(threshold_compressor, writes_messages_for_an_empty_tensor_table) {
  threshold_compressor codec(tensor_table{});
  std::vector<float> none;
  message_bytes const a = kept(codec.encode({}, none, none));
  message_bytes const b = kept(codec.encode({.rank = 1}, none, none));
  EXPECT_EQ(codec.decode_add(a, any, 1, none).elements, 0U);
  EXPECT_EQ(header_in(codec.merge(a, b, any, none)).ranks, 2U);
}

TEST(threshold_compressor, refuses_arrays_of_another_size) {
  threshold_compressor codec(table_of(100));
  std::vector<float> r(100), short_one(99);
  expect_parts(refused<shape_error>([&] { codec.encode({}, r, short_one); }), {"gradient", "got 99"});
  expect_parts(refused<shape_error>([&] { codec.encode({}, short_one, r); }), {"residual", "100 elements"});
  message_bytes const message = kept(codec.encode({}, r, r));
  expect_parts(refused<shape_error>([&] { codec.decode_add(message, any, 1, short_one); }), {"dense sum"});
}

// 2³³ elements in memory in which only touched pages exist.
TEST(threshold_compressor, reads_and_merges_messages_of_more_than_2_to_the_32_elements) {
  std::uint64_t const n = (std::uint64_t{1} << 33) + 12'345;
  void* const memory = mmap(nullptr, n * sizeof(float), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for " << n << " elements";
  std::span<float> const dense(static_cast<float*>(memory), n);
  threshold_compressor codec(tensor_table{{"huge", n}});
  message_header header;
  header.kind = message_kind::sparse;
  header.table = codec.table().hash();
  header.elements = n;
  bf16 const t = bf16::nearest(0.5F);
  detail::message_writer writer;
  auto const write = [&] {
    return kept(writer.write(
        isa::baseline, header, std::span(&t, 1), nullptr, [&](detail::message_part& part, std::size_t b) {
          std::vector<detail::sent_element> list;
          if (b % 10'000 == 0) list = {{7}, {100 | detail::sent_element::negative}};
          std::size_t const length = std::min<std::uint64_t>(block_elements, n - b * block_elements);
          part.entries.push_back(detail::write_block(part.codes, list, length));
          if (b + 1 == blocks_of(n)) part.multiples.push_back({n - 1, 0x1p20});
        }));
  };
  message_bytes const a = write();
  header.rank = 1;
  message_bytes const b = write();
  codec.decode_add(a, any, 1, dense);
  EXPECT_EQ(dense[7], 0.5F);
  std::uint64_t const far = 130'000 * std::uint64_t{block_elements};
  EXPECT_EQ(dense[far + 7], 0.5F);
  EXPECT_EQ(dense[far + 100], -0.5F);
  EXPECT_EQ(dense[n - 1], 0x1p19F);
  message_bytes const both =
      kept(codec.merge(a, b, any, dense));  // uses `dense` as a residual: 0.5 + 2 × 0.5 − 0.5
  EXPECT_EQ(dense[far + 7], 1.0F);
  EXPECT_EQ(dense[n - 1], 0.0F);
  EXPECT_EQ(codec.report().sent, 2U * 14 + 1);
  munmap(memory, n * sizeof(float));
}

}  // namespace threshold_compressor_test
