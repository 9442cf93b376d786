// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/execution/isa.hpp>
#include <cohort/onednn.hpp>
#include <cohort/onednn/detail/norm_on_panels.hpp>

#include <cmath>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/buffer.hpp>
#include <string>
#include <vector>

namespace onednn_norm_on_panels_test {

using namespace cohort;
using detail::norm_on_panels;
using detail::panels;

struct numbers {
  std::vector<float> y, dx, gated, means, variances, diff_scale, diff_shift;
};

/// One forward and backward of a norm with a sum and a rectifier: in f32 by norm_on_panels, or in double by
/// plain loops.
struct problem {
  panels lies;
  double epsilon = 1e-3, slope = 0.25;
  std::vector<float> x, other, dy, scale, shift;

  problem(panels const& shape, float around) : lies(shape) {
    random_stream const chance(1, "norm");
    std::size_t const n = lies.images * lies.count * lies.rows * lies.width;
    for (std::size_t i = 0; i < n; ++i) {
      bool const real = channel(i) < lies.channels;
      x.push_back(real ? around + chance.normal<float>(3 * i) : 0);
      other.push_back(real ? chance.normal<float>(3 * i + 1) : 0);
      dy.push_back(real ? chance.normal<float>(3 * i + 2) : 0);
    }
    for (std::size_t c = 0; c < lies.channels; ++c) {
      scale.push_back(0.5F + chance.uniform01(c));
      shift.push_back(chance.uniform01(c) - 0.5F);
    }
  }
  std::size_t channel(std::size_t element) const {
    return element / (lies.rows * lies.width) % lies.count * lies.width + element % lies.width;
  }

  numbers by_passes(isa which, int threads) const {
    int const former = onednn::threads(threads);
    norm_on_panels const norm(lies, epsilon, static_cast<float>(slope), true, threads, which);
    buffer scratch(norm.scratch_bytes());
    std::size_t const n = x.size(), channels = lies.channels;
    numbers made{std::vector<float>(n),        std::vector<float>(n),        dy,
                 std::vector<float>(channels), std::vector<float>(channels), std::vector<float>(channels),
                 std::vector<float>(channels)};
    detail::norm_tensors const tensors{.x = x.data(),
                                       .other = other.data(),
                                       .y = made.y.data(),
                                       .dy = made.gated.data(),
                                       .gated = made.gated.data(),
                                       .dx = made.dx.data(),
                                       .scale = scale.data(),
                                       .shift = shift.data(),
                                       .means = made.means.data(),
                                       .variances = made.variances.data(),
                                       .diff_scale = made.diff_scale.data(),
                                       .diff_shift = made.diff_shift.data(),
                                       .scratch = scratch.data()};
    norm.forward(tensors);
    norm.backward(tensors);
    onednn::threads(former);
    return made;
  }

  numbers by_hand() const {
    std::size_t const n = x.size(), channels = lies.channels;
    double const count = static_cast<double>(lies.images * lies.rows);
    std::vector<double> mean(channels), variance(channels), sum(channels), along(channels);
    auto const each = [&](auto visit) {
      for (std::size_t i = 0; i < n; ++i)
        if (channel(i) < channels) visit(i, channel(i));
    };
    each([&](std::size_t i, std::size_t c) { mean[c] += x[i] / count; });
    each([&](std::size_t i, std::size_t c) { variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) / count; });
    auto const normed = [&](std::size_t i, std::size_t c) {
      return (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon);
    };
    numbers made{std::vector<float>(n), std::vector<float>(n), std::vector<float>(n), {}, {}, {}, {}};
    each([&](std::size_t i, std::size_t c) {
      double const z = normed(i, c) * scale[c] + shift[c] + other[i], g = z > 0 ? dy[i] : slope * dy[i];
      made.y[i] = static_cast<float>(z > 0 ? z : slope * z);
      made.gated[i] = static_cast<float>(g);
      sum[c] += g;
      along[c] += g * normed(i, c);
    });
    each([&](std::size_t i, std::size_t c) {
      made.dx[i] = static_cast<float>(scale[c] / std::sqrt(variance[c] + epsilon)
                                      * (made.gated[i] - sum[c] / count - normed(i, c) * along[c] / count));
    });
    made.means.assign(mean.begin(), mean.end());
    made.variances.assign(variance.begin(), variance.end());
    made.diff_scale.assign(along.begin(), along.end());
    made.diff_shift.assign(sum.begin(), sum.end());
    return made;
  }
};

void expect_near(std::vector<float> const& got, std::vector<float> const& wanted, double allowed,
                 char const* what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], allowed * std::max(1.0, std::abs(double{wanted[i]}))) << what << ' ' << i;
}

constexpr panels layouts[]{
    {.images = 3, .count = 5, .rows = 49, .width = 16, .channels = 70},    // blocks, the last one not filled
    {.images = 2, .count = 1, .rows = 2100, .width = 16, .channels = 16},  // fewer panels than threads
    {.images = 4, .count = 1, .rows = 30, .width = 19, .channels = 19},    // channels last
    {.images = 7, .count = 1, .rows = 1, .width = 5, .channels = 5},       // units
    {.images = 1, .count = 1, .rows = 1, .width = 1, .channels = 1},
};

TEST(norm_on_panels, agrees_with_the_formula_in_every_layout_and_instruction_set) {
  for (panels const& lies : layouts) {
    problem const p(lies, 0.5F);
    numbers const wanted = p.by_hand();
    for (isa const which : {isa::baseline, isa::avx2, isa::avx512})
      for (int const threads : {1, 2, 5}) {
        if (which > machine_isa()) continue;
        SCOPED_TRACE(std::string(name_of(which)) + ", " + std::to_string(threads) + " threads, width "
                     + std::to_string(lies.width));
        numbers const got = p.by_passes(which, threads);
        // A single example has variance 0, so its gradient is a difference of equal numbers, times 1/√ε.
        double const allowed = lies.images * lies.rows > 1 ? 2e-5 : 1e-5 / std::sqrt(p.epsilon);
        expect_near(got.means, wanted.means, 2e-6, "mean");  // sums of up to 1,050 terms in f32
        expect_near(got.variances, wanted.variances, 2e-6, "variance");
        expect_near(got.y, wanted.y, 1e-5, "y");
        expect_near(got.gated, wanted.gated, 1e-6, "gated");
        expect_near(got.dx, wanted.dx, allowed, "dx");
        expect_near(got.diff_scale, wanted.diff_scale, 1e-4, "scale");
        expect_near(got.diff_shift, wanted.diff_shift, 1e-4, "shift");
      }
  }
}

/// In f32, Σ x² − (Σ x)² / n would have no significant digits.
TEST(norm_on_panels, is_accurate_for_a_variance_much_smaller_than_the_mean) {
  for (panels const& lies : {layouts[0], layouts[1], layouts[2]}) {
    problem const p(lies, 4096);
    numbers const wanted = p.by_hand(), got = p.by_passes(best_isa(), 2);
    expect_near(got.variances, wanted.variances, 1e-4, "variance");
  }
}

TEST(norm_on_panels, is_deterministic_and_independent_of_threads_if_panels_are_not_shared) {
  for (panels const& lies : layouts) {
    problem const p(lies, 0.5F);
    for (int const threads : {1, 2, 5})
      EXPECT_EQ(p.by_passes(best_isa(), threads).dx, p.by_passes(best_isa(), threads).dx);
  }
  problem const p(layouts[0], 0.5F);
  EXPECT_EQ(p.by_passes(best_isa(), 1).dx, p.by_passes(best_isa(), 5).dx);
}

}  // namespace onednn_norm_on_panels_test
