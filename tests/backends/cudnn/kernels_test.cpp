// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/layer/gaussian_noise.hpp>
#include <cohort/tensor/bf16.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel_on_host.hpp"

namespace cudnn_kernels_test {

using namespace cohort;

std::vector<float> normal_numbers(std::size_t n, std::uint64_t seed) {
  random_stream const from(seed, "numbers");
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = from.normal<float>(i);
  return numbers;
}

TEST(kernels, draw_the_same_philox_words_as_random_streams) {
  random_stream const numbers(7, "counters");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::uint64_t const low = numbers.bits(3 * i), high = numbers.bits(3 * i + 1),
                        key = numbers.bits(3 * i + 2);
    detail::kernels::random_words const got = detail::kernels::philox(low, high, key);
    detail::philox_words const wanted = detail::philox(low, high, key);
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(got.v[k], wanted[k]) << i;
  }
}

/// Output of a layer with these fields for x at one step, on the processor.
template <class Layer>
std::vector<float> on_the_processor(Layer const& layer, shape const& dims, std::vector<float> const& x,
                                    step_scalars const& now) {
  std::vector<float> y(x.size());
  float const* const inputs[]{x.data()};
  host_arguments<float> call;
  call.batch = static_cast<int>(x.size()) / static_cast<int>(dims.elements());
  call.layer = detail::purpose_of("layer", "one");
  call.input_shapes = {&dims, 1};
  call.output_shape = dims;
  call.inputs = inputs;
  call.output = y.data();
  call.scalars = &now;
  layer.forward(call);
  return y;
}

constexpr std::size_t examples = 3;
std::vector<std::int64_t> const indices{5, 123456789012, 0};
step_scalars const now{.seed = 11, .step = 42, .indices = indices.data()};

detail::kernels::random_examples drawn() {
  static std::vector<long long> const numbers(indices.begin(), indices.end());
  static detail::kernels::step_constants const constants{1, 11, 42};
  return {numbers.data(), &constants, detail::purpose_of("layer", "one")};
}

/// Largest errors of sums and of sums of squares, relative to the sum of magnitudes, for both types.
template <class Sum>
double relative_error(std::vector<float> const& terms) {
  Sum sum, squares;
  long double wanted = 0, wanted_squares = 0, size = 0;
  for (float const x : terms) {
    sum.add(x), squares.add_product(x, x);
    wanted += static_cast<long double>(x);
    wanted_squares += static_cast<long double>(x) * static_cast<long double>(x);
    size += std::abs(static_cast<long double>(x));
  }
  long double const of_sum = std::abs(static_cast<long double>(sum.value()) - wanted) / size;
  long double const of_squares =
      std::abs(static_cast<long double>(squares.value()) - wanted_squares) / wanted_squares;
  return static_cast<double>(std::max(of_sum, of_squares));
}
TEST(kernels, sums_have_at_most_the_documented_error) {
  for (std::size_t const n : {1U, 50U, 400U, 4000U}) {
    std::vector<float> terms = normal_numbers(n, 3), cancelling = terms;
    for (std::size_t i = 0; i < n; ++i) cancelling[i] = i % 2 ? -1e4F * terms[i / 2] : 1e4F * terms[i / 2];
    std::vector<float> shifted = terms;
    for (float& x : shifted) x += 100;
    for (std::vector<float> const& one :
         {std::vector<float>(n, 1000.1F), std::vector<float>(n, 0.1F), terms, shifted, cancelling}) {
      auto const terms_count = static_cast<double>(n);
      EXPECT_LE(relative_error<detail::kernels::wide_sum>(one), terms_count * 0x1p-53) << n;
      EXPECT_LE(relative_error<detail::kernels::split_sum>(one), terms_count * 0x1p-46) << n;
      // The errors of ordinary terms are far below the bound.
      EXPECT_LE(relative_error<detail::kernels::split_sum>(one), 0x1p-38) << n;
    }
  }
}
TEST(kernels, sums_in_two_f32_numbers_propagate_overflow_and_nan) {
  float const infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  for (float const term : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    detail::kernels::split_sum sum, products;
    for (float const x : {1.F, term, 2.F}) sum.add(x), products.add_product(x, 3);
    EXPECT_FALSE(std::isfinite(sum.value())) << term;
    EXPECT_FALSE(std::isfinite(products.value())) << term;
  }
  detail::kernels::split_sum sum, square;
  for (float const x : {most, most, -most}) sum.add(x);
  square.add_product(2e19F, 2e19F);
  EXPECT_FALSE(std::isfinite(sum.value()));
  EXPECT_FALSE(std::isfinite(square.value()));
}

TEST(kernels, drop_the_same_elements_as_the_layers) {
  constexpr double rate = 0.3;
  for (int const area : {1, 6}) {
    shape const dims{103, area, 1};  // channels: not a multiple of 4
    std::vector<float> const x = normal_numbers(examples * static_cast<std::size_t>(dims.elements()), 1);
    std::vector<float> got(x.size());
    std::size_t const places = static_cast<std::size_t>(area);
    auto const drop = [&](std::vector<float> const& from, std::vector<float>& to, bool last) {
      run_on_host(
          detail::kernels::dropout{from.data(), to.data(), drawn(), 103, places, last,
                                   static_cast<unsigned>(rate * 0x1p32), static_cast<float>(1 / (1 - rate))},
          examples * 26 * places);
    };
    drop(x, got, false);
    EXPECT_EQ(got, area == 1 ? on_the_processor(dropout{.rate = rate}, dims, x, now)
                             : on_the_processor(spatial_dropout{.rate = rate}, dims, x, now));
    std::vector<float> last(x.size()), dropped(x.size()), back(x.size());
    std::size_t const calls = detail::kernels::reorder<0>::calls_of(examples, 103, places);
    run_on_host(detail::kernels::reorder<3>(x.data(), last.data(), 103, places), calls);
    drop(last, dropped, true);
    run_on_host(detail::kernels::reorder<2>(dropped.data(), back.data(), 103, places), calls);
    EXPECT_EQ(back, got) << "channels last";
    EXPECT_NEAR(
        static_cast<double>(std::count(got.begin(), got.end(), 0.F)) / static_cast<double>(got.size()), rate,
        0.05);
  }
}

TEST(kernels, add_the_same_noise_as_the_layer) {
  for (int const elements : {7, 1030}) {
    shape const dims{elements};
    std::vector<float> const x = normal_numbers(examples * static_cast<std::size_t>(elements), 2);
    std::vector<float> got(x.size());
    auto const n = static_cast<std::size_t>(elements);
    run_on_host(detail::kernels::add_noise{x.data(), got.data(), drawn(), n, 0.5}, examples * ((n + 1) / 2));
    EXPECT_EQ(got, on_the_processor(gaussian_noise{.deviation = 0.5}, dims, x, now));
  }
}

TEST(kernels, divide_exactly_by_multiplication) {
  using detail::kernels::operator/, detail::kernels::operator%;
  for (unsigned long long const d : {1ULL, 2ULL, 3ULL, 7ULL, 49ULL, 64ULL, 641ULL, 3136ULL, 65'535ULL,
                                     12'845'056ULL, (1ULL << 32) + 1, (1ULL << 40) - 1}) {
    detail::kernels::divisor const by(d);
    for (unsigned long long const n :
         {0ULL, d - 1, d, d + 1, 5 * d - 1, 5 * d, (1ULL << 32) - 1, (1ULL << 32) + 17, (1ULL << 62) / d * d,
          (1ULL << 62) / d * d - 1, (1ULL << 63) - 1}) {
      EXPECT_EQ(n / by, n / d) << n << " / " << d;
      EXPECT_EQ(n % by, n % d) << n << " / " << d;
    }
    if (d >= 1ULL << 31) continue;
    detail::kernels::small_divisor const by_small(d);
    auto const small = static_cast<unsigned>(d);
    for (unsigned const n :
         {0U, small - 1, small, small + 1, (1U << 31) / small * small - 1, (1U << 31) - 1}) {
      EXPECT_EQ(n / by_small, n / small) << n << " / " << d;
      EXPECT_EQ(n % by_small, n % small) << n << " / " << d;
    }
  }
}

/// Channels that fill vectors and channels that do not, in both types.
TEST(kernels, reorder_images_to_channels_last_and_back) {
  for (std::size_t const channels : {3, 8, 13, 24})
    for (std::size_t const places : {1, 2, 35})
      for (bool const narrow : {false, true}) {
        constexpr std::size_t images = 3;
        std::vector<float> x(images * channels * places), wide(x.size()), last(x.size()), back(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 251);
        std::vector<detail::kernels::eight_patterns> bf16_last(x.size() / 8 + 1);
        detail::kernels::values const between{narrow ? static_cast<void*>(bf16_last.data()) : wide.data(),
                                              narrow};
        std::size_t const calls = detail::kernels::reorder<0>::calls_of(images, channels, places);
        auto const there_and_back = [&]<int first, int last_form>() {
          run_on_host(detail::kernels::reorder<last_form>(x.data(), between, channels, places), calls);
          run_on_host(detail::kernels::reorder<first>(between, back.data(), channels, places), calls);
        };
        channels % 8 == 0 ? there_and_back.operator()<0, 1>() : there_and_back.operator()<2, 3>();
        EXPECT_EQ(back, x) << channels << " channels, " << places << " places";
        run_on_host(detail::kernels::convert{between, last.data()}, x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(last[(i / channels / places * places + i % places) * channels + i / places % channels],
                    x[i])
              << i;
      }
}

TEST(kernels, sum_any_number_of_chunks) {
  for (std::size_t const chunks : {1, 300, 4096, 10'000}) {
    std::vector<double> sums(chunks);
    for (std::size_t k = 0; k < chunks; ++k) sums[k] = static_cast<double>(k + 1);
    run_on_host(detail::kernels::add_chunks{sums.data(), chunks, 0.5},
                std::min<std::size_t>(chunks, detail::sum_chunk));
    EXPECT_EQ(sums[0], static_cast<double>(chunks * (chunks + 1)) / 4) << chunks;
  }
}

TEST(kernels, link_each_index_to_its_next_occurrence) {
  std::vector<float> const x{4, 0, 4, 7, 0, 4};
  std::vector<unsigned> next(6, 99), has_former(6);
  run_on_host(detail::kernels::link_equals{x.data(), next.data(), has_former.data(), 6}, 6);
  EXPECT_EQ(next, (std::vector<unsigned>{2, 4, 5, 6, 6, 6}));
  EXPECT_EQ(has_former, (std::vector<unsigned>{0, 0, 1, 0, 1, 1}));
}

TEST(kernels, clip_residuals_like_the_codec) {
  constexpr std::size_t n = 5000;
  std::vector<float> got = normal_numbers(n, 5), wanted = got;
  std::vector<double> chunks(2);
  run_on_host(detail::kernels::clip_residual{got.data(), 0.5F, chunks.data()}, n);
  double const mass = clip_residual(isa::baseline, wanted, 0.5F);
  EXPECT_EQ(got, wanted);
  EXPECT_NEAR(chunks[0] + chunks[1], mass, 1e-3);
}

TEST(kernels, round_to_bf16_and_back) {
  std::vector<float> const x{1, -2.5F, 1.00390625F, 1.01171875F, 3e38F, 3.4e38F, 1e-40F, -0.F};
  std::vector<unsigned short> narrow(x.size());
  std::vector<float> back(x.size());
  run_on_host(detail::kernels::convert{x.data(), {narrow.data(), true}}, x.size());
  run_on_host(detail::kernels::convert{{narrow.data(), true}, back.data()}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(narrow[i], bf16::nearest(x[i]).pattern) << x[i];
    EXPECT_EQ(back[i], bf16::nearest(x[i]).value()) << x[i];
  }
  EXPECT_EQ(back[2], 1.F) << "a tie goes to the even one";
  EXPECT_EQ(back[3], 1.015625F) << "a tie goes to the even one";
}

/// A warp of 32 threads of the processor.
class warp_of_threads {
 public:
  struct state {
    std::array<std::array<std::byte, 16>, 32> values{};

    /// Blocks until all lanes have called it.
    void meet() {
      std::unique_lock lock(mutex_);
      int const own = round_;
      if (++lanes_here_ == 32) {
        lanes_here_ = 0;
        ++round_;
        met_.notify_all();
      } else if (!met_.wait_for(lock, std::chrono::minutes(1), [&] { return round_ != own; })) {
        std::abort();
      }
    }

   private:
    std::mutex mutex_;
    std::condition_variable met_;
    int lanes_here_ = 0, round_ = 0;
  };
  static constexpr detail::kernels::size lanes = 32;
  detail::kernels::size lane;
  state* shared;

  template <class T>
  T sum(T x) const {
    return folded(x, 0, 32, [](T a, T b) { return static_cast<T>(a + b); });
  }
  template <class T>
  T largest(T x) const {
    return folded(x, 0, 32, [](T a, T b) { return std::max(a, b); });
  }
  template <class T>
  T sum_before(T x) const {
    return folded(x, 0, lane, [](T a, T b) { return static_cast<T>(a + b); });
  }
  template <class T>
  T largest_before(T x) const {
    return folded(x, 0, lane, [](T a, T b) { return std::max(a, b); });
  }
  template <class Kernel>
  static void run(Kernel const& kernel, std::size_t rows) {
    state shared;
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < lanes; ++t)
      threads.emplace_back([&kernel, &shared, rows, t] {
        for (std::size_t i = 0; i < rows; ++i) {
          kernel.row(i, warp_of_threads{t, &shared});
          shared.meet();
        }
      });
  }

 private:
  template <class T, class Fold>
  T folded(T x, std::size_t begin, std::size_t end, Fold const& fold) const {
    std::memcpy(shared->values[lane].data(), &x, sizeof x);
    shared->meet();
    std::vector<T> all(32);
    for (std::size_t t = 0; t < 32; ++t) std::memcpy(&all[t], shared->values[t].data(), sizeof x);
    shared->meet();
    if (begin == end) return 0;
    return std::accumulate(all.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                           all.begin() + static_cast<std::ptrdiff_t>(end), all[begin], fold);
  }
};

/// More blocks than a warp has lanes; the last block is shorter than the others.
TEST(kernels, encode_sent_elements_equally_by_warps_and_by_single_threads) {
  constexpr std::size_t elements = 66 * detail::kernels::block_size + 12'345;
  std::vector<unsigned> sent((elements + 31) / 32), negative(sent.size());
  random_stream const from(5, "marks");
  for (std::size_t w = 0; w < sent.size(); ++w) {
    // many marks in some groups, none in others
    sent[w] = w / 100 % 3 == 0 ? static_cast<unsigned>(from.bits(2 * w)) : 0;
    negative[w] = w % 7 == 0 ? static_cast<unsigned>(from.bits(2 * w + 1)) : 0;
  }
  struct totals {
    std::vector<detail::kernels::marked_group> groups;
    std::vector<detail::kernels::marked_block> blocks;
  };
  auto const joined = [&](auto const& run_rows) {
    totals made;
    detail::kernels::marked_elements all{sent.data(), negative.data(), elements, nullptr, nullptr};
    made.groups.resize(all.group_count());
    made.blocks.resize(all.block_count() + 1);
    all.groups = made.groups.data();
    all.blocks = made.blocks.data();
    run_on_host(detail::kernels::count_marks{all}, all.group_count());
    run_rows(detail::kernels::join_marks{all}, all.block_count());
    run_on_host(detail::kernels::measure_gaps{all}, all.group_count());
    run_rows(detail::kernels::join_gaps{all}, all.block_count());
    run_rows(detail::kernels::place_blocks{all}, 1);
    return made;
  };
  totals const wanted = joined([](auto const&kernel, std::size_t rows) { run_on_host(kernel, rows); }),
               got = joined([](auto const&kernel, std::size_t rows) { warp_of_threads::run(kernel, rows); });
  auto const of_group = [](auto const& one) { return std::tuple(one.sent, one.beyond, one.next, one.bits); };
  auto const of_block = [](auto const& one) {
    return std::tuple(one.first_bit, one.taken_before, one.beyond_before, one.sent, one.beyond, one.bits,
                      one.bitmap);
  };
  for (std::size_t g = 0; g < wanted.groups.size(); ++g)
    ASSERT_EQ(of_group(got.groups[g]), of_group(wanted.groups[g])) << "group " << g;
  for (std::size_t b = 0; b + 1 < wanted.blocks.size(); ++b)
    ASSERT_EQ(of_block(got.blocks[b]), of_block(wanted.blocks[b])) << "block " << b;
  EXPECT_EQ(got.blocks.back().first_bit, wanted.blocks.back().first_bit);
  EXPECT_EQ(got.blocks.back().taken_before, wanted.blocks.back().taken_before);
  EXPECT_EQ(got.blocks.back().beyond_before, wanted.blocks.back().beyond_before);
}

/// Rows shorter and longer than a warp.
TEST(kernels, compute_softmax_losses_equally_by_warps_and_by_single_threads) {
  for (std::size_t const classes : {3, 32, 77}) {
    constexpr std::size_t rows = 5;
    std::vector<float> const x = normal_numbers(rows * classes, 8), weights{1, 0.5F, 2, 0, 1};
    std::vector<int> const labels{0, 1, 2, 2, 9};
    std::vector<float> p(x.size()), wanted_p(x.size()), diff(x.size()), wanted_diff(x.size());
    std::vector<double> losses(rows), wanted(rows);
    detail::kernels::class_targets const targets{labels.data(), nullptr, classes, 0.1, 9};
    detail::kernels::step_constants const constants{1, 0, 0};
    auto const loss = [&](std::vector<float>& to, std::vector<double>& sums) {
      return detail::kernels::softmax_loss{
          {x.data(), to.data(), classes}, targets, {weights.data(), nullptr, 1}, sums.data(), true};
    };
    auto const gradient = [&](std::vector<float>& to) {
      return detail::kernels::softmax_loss_gradient{
          wanted_p.data(), to.data(), targets, {weights.data(), nullptr, 1}, {&constants, 0.25}};
    };
    run_on_host(loss(wanted_p, wanted), rows);
    run_on_host(gradient(wanted_diff), rows);
    warp_of_threads::run(loss(p, losses), rows);
    warp_of_threads::run(gradient(diff), rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(p[i], wanted_p[i], 1e-6);
      EXPECT_NEAR(diff[i], wanted_diff[i], 1e-6);
    }
    for (std::size_t i = 0; i < rows; ++i) EXPECT_NEAR(losses[i], wanted[i], 1e-5) << classes;
    EXPECT_EQ(losses[4], 0) << "an ignored row";
  }
}

/// Fewer keys than a warp has lanes, as many, and more; the second example has no key.
TEST(kernels, compute_attention_equally_by_warps_and_by_single_threads) {
  for (std::size_t const keys : {3, 32, 77}) {
    std::size_t const queries = keys, rows = 2 * queries;
    std::vector<float> const x = normal_numbers(rows * keys, 8), diff = normal_numbers(rows * keys, 9);
    std::vector<unsigned char> mask(2 * keys);
    for (std::size_t j = 0; j < keys; ++j) mask[j] = j % 3 != 1;
    auto const attended = [&](auto const& run) {
      std::vector<float> p = x, log_sums(rows), d = diff;
      run(
          detail::kernels::attention_softmax{
              p.data(), log_sums.data(), queries, {queries, keys, mask.data(), true}, 0.5F},
          rows);
      run(detail::kernels::attention_score_gradient{p.data(), d.data(), keys, 0.5F}, rows);
      return std::array{p, log_sums, d};
    };
    auto const wanted = attended([](auto const&kernel, std::size_t n) { run_on_host(kernel, n); }),
               got = attended([](auto const&kernel, std::size_t n) { warp_of_threads::run(kernel, n); });
    for (std::size_t a = 0; a < wanted.size(); ++a)
      for (std::size_t i = 0; i < wanted[a].size(); ++i) ASSERT_NEAR(got[a][i], wanted[a][i], 1e-5);
    EXPECT_EQ(got[0][rows * keys / 2], 0) << "a query without keys";
    EXPECT_EQ(got[0][2 * keys + 1], 0) << "a masked key";
    EXPECT_GT(got[0][2 * keys + 2], 0) << "the query's own step";
    EXPECT_EQ(got[0][2], 0) << "a later key";
    // Backward recomputes the same probabilities.
    std::vector<float> again = x;
    run_on_host(
        detail::kernels::attention_probabilities{
            again.data(), wanted[1].data(), queries, {queries, keys, mask.data(), true}, keys, 0.5F},
        again.size());
    for (std::size_t i = 0; i < again.size(); ++i) ASSERT_NEAR(again[i], wanted[0][i], 1e-6);
  }
}

TEST(kernels, normalise_rows_equally_by_warps_and_by_single_threads) {
  for (std::size_t const columns : {3, 32, 77}) {
    constexpr std::size_t rows = 5;
    std::vector<float> const x = normal_numbers(rows * columns, 8), g = normal_numbers(rows * columns, 9),
                             scales = normal_numbers(columns, 10);
    auto const normalised = [&](auto const& run) {
      std::vector<float> y(x.size()), inverse(rows), dx(x.size()), terms(x.size());
      run(detail::kernels::rms_norm_rows{x.data(), y.data(), scales.data(), inverse.data(), columns, 1e-6},
          rows);
      run(detail::kernels::rms_norm_rows_gradient{x.data(), scales.data(), inverse.data(), g.data(),
                                                  dx.data(), terms.data(), columns},
          rows);
      return std::array{y, inverse, dx, terms};
    };
    auto const wanted = normalised([](auto const&kernel, std::size_t n) { run_on_host(kernel, n); }),
               got = normalised([](auto const&kernel, std::size_t n) { warp_of_threads::run(kernel, n); });
    for (std::size_t a = 0; a < wanted.size(); ++a)
      for (std::size_t i = 0; i < wanted[a].size(); ++i) ASSERT_NEAR(got[a][i], wanted[a][i], 1e-5);
  }
}

TEST(kernels, scale_all_elements) {
  std::vector<float> x = normal_numbers(777, 6);
  std::vector<float> const before = x;
  run_on_host(detail::kernels::scale{x.data(), -2.F}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], -2.F * before[i]);
}

}  // namespace cudnn_kernels_test
