// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/cudnn/detail/threshold_on_gpu.hpp>
#include <cohort/strategy/detail/f32_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../codec/gradients.hpp"

/// Compares the messages that a real or simulated GPU writes and reads with the processor's: same bytes, same
/// bits.
namespace threshold_cases {

using namespace cohort;
using shared_gpu = std::shared_ptr<detail::compute_stream>;
using numbers = std::vector<float>;

/// An f32 array in GPU memory.
class gpu_numbers {
 public:
  gpu_numbers(shared_gpu on, numbers const& values)
      : on_(std::move(on)), memory_(values.size() * sizeof(float), on_), size_(values.size()) {
    if (size_ > 0) on_->upload(values.data(), memory_.data(), memory_.bytes());
  }
  std::span<float> span() const { return {memory_.as<float>(), size_}; }
  numbers fetched() const {
    numbers all(size_);
    if (size_ > 0) on_->download(memory_.data(), all.data(), memory_.bytes());
    return all;
  }

 private:
  shared_gpu on_;
  buffer memory_;
  std::size_t size_;
};

inline tensor_table table_of(std::size_t n) {
  if (n == 0) return {};
  if (n < 3) return {{"all", n}};
  return {{"first", n / 3}, {"second", 1}, {"third", n - n / 3 - 1}};
}

inline threshold_compressor on_gpu(shared_gpu const& on, tensor_table table, threshold_compression how) {
  return threshold_compressor(std::move(table), how, nullptr, best_isa(),
                              std::make_shared<detail::threshold_on_gpu>(on));
}

/// A rank's codec and residual, on the GPU and on the processor.
struct both {
  threshold_compressor gpu, host;
  gpu_numbers gpu_residual;
  numbers residual;

  both(shared_gpu const& on, tensor_table table, threshold_compression how, numbers const& r)
      : gpu(on_gpu(on, table, how)), host(std::move(table), how), gpu_residual(on, r), residual(r) {}

  /// The message of r + x if both codecs write the same bytes; empty otherwise.
  message_bytes encoded(shared_gpu const& on, message_stamp const& stamp, numbers const& x) {
    gpu_numbers const there(on, x);
    message_bytes const got = kept(gpu.encode(stamp, gpu_residual.span(), there.span()));
    return compared(got, kept(host.encode(stamp, residual, x)));
  }
  message_bytes merged(message_bytes const& lower, message_bytes const& upper,
                       expected_messages const& expected) {
    message_bytes const got = kept(gpu.merge(lower, upper, expected, gpu_residual.span()));
    return compared(got, kept(host.merge(lower, upper, expected, residual)));
  }

 private:
  message_bytes compared(message_bytes const& got, message_bytes const& wanted) {
    EXPECT_TRUE(same_bits(gpu_residual.fetched(), residual)) << "residual";
    message_report const &one = gpu.report(), &other = host.report();
    EXPECT_EQ(one.sent, other.sent);
    EXPECT_EQ(one.smallest_threshold, other.smallest_threshold);
    EXPECT_EQ(one.largest_threshold, other.largest_threshold);
    EXPECT_NEAR(one.clipped_mass, other.clipped_mass, 1e-5 * other.clipped_mass);
    EXPECT_EQ(numbers_of(gpu.state()), numbers_of(host.state()));
    EXPECT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(got == wanted) << "bytes";
    return got == wanted ? got : message_bytes();
  }
  static bool same_bits(numbers const& a, numbers const& b) {
    return a.size() == b.size()
           && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }
  static std::vector<double> numbers_of(std::span<double const> all) { return {all.begin(), all.end()}; }
};

/// Returns the values that a message adds to zeros on the GPU; empty if the processor reads other values.
inline numbers decoded(both& codecs, shared_gpu const& on, message_bytes const& message, float scale = 1,
                       expected_messages const& expected = {.last_step = 1000, .ranks = 64}) {
  numbers dense(codecs.residual.size());
  for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<float>(i % 3);
  gpu_numbers const there(on, dense);
  codecs.gpu.decode_add(message, expected, scale, there.span());
  codecs.host.decode_add(message, expected, scale, dense);
  EXPECT_TRUE(there.fetched() == dense) << "sums";
  return there.fetched();
}

inline void writes_the_same_bytes_as_the_host(shared_gpu const& on) {
  for (std::size_t const n :
       {1UL, 31UL, 32UL, 33UL, 100UL, 1'023UL, 1'025UL, 65'535UL, 65'536UL, 65'537UL, 200'003UL})
    for (bool const per_tensor : {false, true})
      for (double const t : {1000.0, 4.0, 1.0, 0.2, 0.01, 1e-6}) {  // none sent … bitmaps … all above 2¹⁶ t
        SCOPED_TRACE(std::to_string(n) + (per_tensor ? " elements, each " : " elements, ")
                     + std::to_string(t));
        both one(on, table_of(n), {.threshold = threshold::fixed{t}, .per_tensor = per_tensor},
                 gradient(n, 1, 0.1F));
        for (std::uint64_t step = 0; step < 2; ++step) {
          message_stamp const stamp{
              .run = 3, .step = step, .rank = 5, .flags = 9, .examples = 4, .weight = 2.5};
          numbers const before = one.residual, x = gradient(n, 2 + step);
          message_bytes const message = one.encoded(on, stamp, x);
          ASSERT_FALSE(message.empty());
          numbers s(n);
          one.host.decode_add(message, {.run = 3, .last_step = 9, .ranks = 9}, 1, s);
          for (std::size_t i = 0; i < n; ++i)
            ASSERT_EQ(double{s[i]} + double{one.residual[i]}, double{before[i] + x[i]}) << i;
        }
      }
}

inline void writes_an_empty_table(shared_gpu const& on) {
  both one(on, {}, {.threshold = threshold::fixed{}}, {});
  message_bytes const message = one.encoded(on, {}, {});
  ASSERT_EQ(message.size(), sizeof(message_header));
  EXPECT_TRUE(decoded(one, on, message).empty());
}

/// Runs of adjacent elements with long gaps in between, for which gap codes are longer than a bitmap.
inline void writes_adjacent_elements(shared_gpu const& on) {
  std::size_t const n = 3 * block_elements + 777;
  for (std::size_t const together : {3UL, 900UL, 30'000UL}) {
    both one(on, {{"all", n}}, {.threshold = threshold::fixed{1}}, numbers(n));
    numbers x(n);
    for (std::size_t i = 0; i < n; ++i)
      if (i % 60'000 < together) x[i] = i % 7 < 3 ? -2.F : 2.F;
    message_bytes const message = one.encoded(on, {}, x);
    ASSERT_FALSE(message.empty());
    decoded(one, on, message);
  }
}

inline void follows_every_policy(shared_gpu const& on) {
  std::size_t const n = 150'001;
  for (bool const per_tensor : {false, true})
    for (threshold_policy const& policy :
         {threshold_policy(threshold::fixed{0.5}),
          threshold_policy(threshold::adaptive{.initial = 2, .lo = 1e-3, .hi = 1e-2, .factor = 0.5}),
          threshold_policy(threshold::target_density{.density = 1e-2, .initial = 0.1, .factor = 0.5}),
          threshold_policy(threshold::quantile{.density = 1e-2, .sample = 8192})})
      for (residual_policy const& then :
           {residual_policy(), residual_policy(residual::clip{.at = 1.5, .every = 2}),
            residual_policy(residual::decay{.factor = 0.25, .every = 3})}) {
        SCOPED_TRACE(std::string(policy.name()) + ", " + std::string(then.name()));
        both one(on, table_of(n), {.threshold = policy, .residual = then, .per_tensor = per_tensor},
                 numbers(n));
        for (std::uint64_t step = 0; step < 4; ++step)
          ASSERT_FALSE(one.encoded(on, {.step = step}, gradient(n, step)).empty()) << "step " << step;
      }
}

inline void sends_multiples_for_elements_far_beyond_the_threshold(shared_gpu const& on) {
  std::size_t const n = 70'000;
  for (bool const per_tensor : {false, true}) {
    both one(on, table_of(n), {.threshold = threshold::fixed{1e-3}, .per_tensor = per_tensor}, numbers(n));
    numbers x = gradient(n, 1, 1e-3F);
    x[3] = 66;
    x[65'535] = -1e6F;
    x[65'536] = largest_gradient;
    x[n - 1] = bf16::nearest(1e-3F).value() * 65'536;  // just below
    message_bytes const message = one.encoded(on, {}, x);
    ASSERT_FALSE(message.empty());
    EXPECT_EQ(header_in(message).multiples, 3U);
    decoded(one, on, message, 0.5F);
  }
}

inline void refuses_a_residual_that_is_not_finite(shared_gpu const& on) {
  numbers r(70'000);
  r[66'000] = std::numeric_limits<float>::infinity();
  r[66'001] = std::numeric_limits<float>::quiet_NaN();
  both one(on, {{"all", r.size()}}, {.threshold = threshold::fixed{}}, r);
  auto const said = [](auto encode) {
    try {
      encode();
    } catch (numeric_error const& why) {
      return std::string(why.what());
    }
    return std::string("nothing");
  };
  numbers const x(r.size());
  gpu_numbers const there(on, x);
  std::string const wanted = said([&] { one.host.encode({}, one.residual, x); });
  EXPECT_EQ(said([&] { one.gpu.encode({}, one.gpu_residual.span(), there.span()); }), wanted);
  EXPECT_NE(wanted.find("element 66000"), wanted.npos) << wanted;
}

inline void reads_messages_of_the_gpu_and_of_the_host(shared_gpu const& on) {
  std::size_t const n = 140'000;
  for (double const t : {20.0, 1.0, 0.05, 1e-5}) {
    both one(on, table_of(n), {.threshold = threshold::fixed{t}, .per_tensor = t == 1.0}, numbers(n));
    message_bytes const message = one.encoded(on, {}, gradient(n, 1));
    ASSERT_FALSE(message.empty());
    decoded(one, on, message);
    decoded(one, on, message, 0.3F);
    decoded(one, on, message, -1);
  }
  both one(on, table_of(n), {}, numbers(n));
  top_k_compressor values(table_of(n), {.density = 0.01});
  numbers r(n);
  decoded(one, on, kept(values.encode({}, r, gradient(n, 2))), 0.3F);
  decoded(one, on, kept(one.host.nothing({})));
}

/// Decodes a message with both codecs, which must add equal values. Returns their common error text; empty
/// without an error.
inline std::string said_of(both& codecs, shared_gpu const& on, message_bytes const& message) {
  auto const said = [&](threshold_compressor& codec, std::span<float> dense) {
    try {
      codec.decode_add(message, {}, 1, dense);
    } catch (data_error const& why) {
      return std::string(why.what());
    }
    return std::string();
  };
  numbers dense(codecs.residual.size());
  gpu_numbers const there(on, dense);
  std::string const wanted = said(codecs.host, dense);
  EXPECT_EQ(said(codecs.gpu, there.span()), wanted);
  EXPECT_TRUE(there.fetched() == dense) << wanted;
  return wanted;
}

/// Flips each bit after the header, and corrects the checksum.
inline void refuses_the_same_messages_as_the_host(shared_gpu const& on) {
  std::size_t const n = 2 * block_elements + 40;
  both one(on, {{"all", n}}, {.threshold = threshold::fixed{1}}, numbers(n));
  numbers x(n);
  for (std::size_t const i : {5UL, 70UL, 65'535UL, 65'537UL, 90'000UL, 131'070UL})
    x[i] = i % 2 ? -1.5F : 1.5F;
  for (std::size_t i = n - 40; i < n; i += i % 4 == 1 ? 2 : 1) x[i] = 1.5F;
  message_bytes const message = one.encoded(on, {}, x);
  ASSERT_FALSE(message.empty());
  std::size_t refused = 0, bits = 8 * (message.size() - sizeof(message_header));
  for (std::size_t bit = 0; bit < bits; ++bit) {
    message_bytes damaged = message;
    damaged[sizeof(message_header) + bit / 8] ^= std::byte{1} << (bit % 8);
    refused += said_of(one, on, resealed(damaged)).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, bits / 2);
  EXPECT_LT(refused, bits);
}

/// Ranges end at any position in words, groups and blocks. Some of the sent elements exceed 2^16 thresholds.
inline void counts_the_entries_sent_per_threshold(shared_gpu const& on) {
  std::vector<std::uint64_t> const ends{1, 31, 33, 64, 1'000, 1'024, 1'500, 65'536, 65'537, 131'072, 140'000};
  std::vector<bf16> const t(ends.size(), bf16::nearest(1.F));
  numbers x = gradient(140'000, 1);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 ? 1e6F : -1e6F;
  gpu_numbers const there(on, x), r(on, numbers(x.size()));
  detail::threshold_on_gpu passes(on);
  threshold_device::extracted const got = passes.extract(r.span(), there.span(), ends, t);
  ASSERT_EQ(got.sent.size(), ends.size());
  for (std::size_t k = 0, i = 0; k < ends.size(); ++k) {
    std::uint64_t wanted = 0;
    for (; i < ends[k]; ++i) wanted += std::fabs(x[i]) >= 1 ? 1 : 0;
    EXPECT_EQ(got.sent[k], wanted) << k;
  }
}

/// Flips bits of the codes and corrects the checksum. Both codecs must report the same error and add nothing.
inline void refuses_incomplete_codes(shared_gpu const& on) {
  std::size_t const n = 2 * block_elements + 5'000;
  int refused = 0;
  for (double const t : {20.0, 0.5}) {
    both one(on, {{"all", n}}, {.threshold = threshold::fixed{t}}, numbers(n));
    message_bytes const message = one.encoded(on, {}, gradient(n, 1));
    ASSERT_FALSE(message.empty());
    message_header const header = header_in(message);
    std::size_t const first = message.size() - static_cast<std::size_t>(header.payload_bytes);
    for (std::size_t k = 0; k < 40; ++k) {
      message_bytes damaged = message;
      damaged[first + k * (message.size() - first) / 40] ^= std::byte{1} << (k % 8);
      refused += said_of(one, on, resealed(damaged)).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 20);
}

inline void merges_like_the_host(shared_gpu const& on) {
  expected_messages const expected{.ranks = 4};
  for (std::size_t const n : {5UL, 65'536UL, 150'001UL})
    for (bool const per_tensor : {false, true})
      for (double const density : {1e-3, 0.05, 0.7})
        for (float const far : {0.F, 1e12F}) {
          SCOPED_TRACE(std::to_string(n) + " elements, " + std::to_string(density));
          threshold_compression const how{.threshold = threshold::quantile{.density = density},
                                          .per_tensor = per_tensor};
          both one(on, table_of(n), how, gradient(n, 1, 0.1F));
          std::vector<message_bytes> messages;
          for (std::uint32_t rank = 0; rank < 3; ++rank) {
            numbers x = gradient(n, 10 + rank, 1 + 0.5F * static_cast<float>(rank)), r(n);
            x[0] += far;
            x[n / 2] -= rank == 1 ? far : 0;
            threshold_compressor other(table_of(n), how);
            messages.push_back(kept(other.encode({.rank = rank, .examples = 1, .weight = 1}, r, x)));
          }
          message_bytes const two = one.merged(messages[0], messages[1], expected);
          ASSERT_FALSE(two.empty());
          ASSERT_FALSE(one.merged(two, messages[2], expected).empty());
        }
  both one(on, {{"all", 100}}, {.threshold = threshold::fixed{0.1}}, numbers(100));
  message_bytes const message = one.encoded(on, {}, gradient(100, 1));
  EXPECT_FALSE(one.merged(message, kept(one.host.nothing({.rank = 1})), expected).empty());
  EXPECT_FALSE(one.merged(message, kept(one.host.not_finite({.rank = 1})), expected).empty());
}

inline void processes_whole_arrays(shared_gpu const& on) {
  detail::threshold_on_gpu passes(on);
  for (std::size_t const n : {1UL, 1'000UL, 9'999UL}) {
    numbers values = gradient(n, 4);
    gpu_numbers const there(on, values);
    EXPECT_NEAR(passes.square_sum(there.span()), residual_square_sum(isa::baseline, values),
                1e-9 * residual_square_sum(isa::baseline, values));
    EXPECT_TRUE(passes.within(there.span(), largest_gradient));
    for (float const bad :
         {largest_gradient * 2, -largest_gradient * 2, std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
      values[n - 1] = bad;
      EXPECT_FALSE(passes.within(gpu_numbers(on, values).span(), largest_gradient)) << bad;
    }
    values[n - 1] = -largest_gradient;
    EXPECT_TRUE(passes.within(gpu_numbers(on, values).span(), largest_gradient));
  }
  EXPECT_EQ(passes.square_sum({}), 0);
}

/// Operations of strategies on their arrays, on the GPU and on the processor.
inline void transforms_arrays_like_the_host(shared_gpu const& on) {
  detail::threshold_on_gpu passes(on);
  for (std::size_t const n : {1UL, 16UL, 1'001UL}) {
    auto const done = [&](threshold_device* device_passes) {
      detail::f32_buffer one(n, device_passes), other(n, device_passes);
      one.assign(gradient(n, 1));
      other.copy(one);
      other.scale(0.375F);
      one.add(other);
      one.on_processor([](std::span<float> x) { x[x.size() / 2] = 7; });
      numbers all(3 * n);
      one.copy_to(std::span(all).first(n));
      other.copy_to(std::span(all).subspan(n, n));
      other.clear();
      other.copy_to(std::span(all).last(n));
      EXPECT_TRUE(one.is_within_range());
      return all;
    };
    EXPECT_EQ(done(&passes), done(nullptr)) << n;
  }
}

}  // namespace threshold_cases
