// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/codec/message.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohort {

/// Policies that choose the threshold of the next message, which sends elements of r + x (residual plus
/// gradient). A density is the fraction of elements sent.
namespace threshold {

/// A constant threshold.
struct fixed {
  double value = 1e-3;
};
/// Multiplies the threshold by `factor` after a message with a density below `lo`. Divides the threshold by
/// `factor` after a message with a density above `hi`.
struct adaptive {
  double initial = 1e-3;
  double lo = 1e-4;
  double hi = 1e-2;
  double factor = 0.96593632892484555;  ///< 0.5^(1/20)
};
/// Like adaptive, with lo = hi = density.
struct target_density {
  double density = 1e-3;
  double initial = 1e-3;
  double factor = 0.96593632892484555;
};
/// The (1 − density)-quantile of |r + x|: the fraction `density` of the elements is at or above this
/// threshold. Estimated for each message from a sample of `sample` elements. The threshold needs no
/// adaptation, because the first message already has about this density. Of 32,768 sampled elements, 328 are
/// above the threshold of density 1e-2, so the density of a message varies by 5.5 % (one standard deviation).
/// With a tenth of this density, messages have a fifth of the bytes, but learning is slower: LeNet's accuracy
/// after one epoch is 3 points lower.
struct quantile {
  double density = 1e-2;
  int sample = 32'768;
};

}  // namespace threshold

/// Value type that holds any policy of namespace threshold.
///
/// Errors    check: setting_error for a threshold outside [2^−100, 2^100], a density outside (0, 1], a factor
///           outside (0, 1), or an empty sample.
/// Source    Strom, Interspeech 2015 (fixed); Deeplearning4j's AdaptiveThresholdAlgorithm and
///           TargetSparsityThresholdAlgorithm.
struct threshold_policy {
  enum class kind : std::uint8_t { fixed, adaptive, target_density, quantile };

  kind which = kind::quantile;
  double initial = 1e-3;
  double lo = 1e-3;
  double hi = 1e-3;
  double factor = 1;
  int sample = threshold::quantile{}.sample;

  constexpr threshold_policy() = default;
  constexpr threshold_policy(threshold::fixed f) : which(kind::fixed), initial(f.value), sample(0) {}
  constexpr threshold_policy(threshold::adaptive a)
      : which(kind::adaptive), initial(a.initial), lo(a.lo), hi(a.hi), factor(a.factor), sample(0) {}
  constexpr threshold_policy(threshold::target_density d)
      : which(kind::target_density),
        initial(d.initial),
        lo(d.density),
        hi(d.density),
        factor(d.factor),
        sample(0) {}
  constexpr threshold_policy(threshold::quantile q) : lo(q.density), hi(q.density), sample(q.sample) {}

  constexpr bool operator==(threshold_policy const&) const = default;

  constexpr std::string_view name() const {
    constexpr std::string_view names[]{"fixed", "adaptive", "target_density", "quantile"};
    return names[static_cast<std::size_t>(which)];
  }

  void check() const;

  /// Returns the next threshold after a message with threshold t and this density.
  double next(double t, double density) const;
};

namespace detail {

/// Sample from n elements, used to choose a threshold: `runs` runs of 16 consecutive elements. Each of `runs`
/// equal ranges contains one run; `key` determines the run's position. If a range has at most 16 elements,
/// all elements are used.
struct element_sample {
  static constexpr std::size_t run = 16;

  std::size_t elements;
  std::size_t runs;
  std::size_t stride;  // number of elements in a range
  std::uint64_t key;

  element_sample(std::size_t n, std::size_t wanted, std::uint64_t key_);

  bool all() const { return stride <= run; }
  std::size_t size() const { return all() ? elements : runs * run; }
  /// Returns the index of the first element of run k.
  std::size_t run_begin(std::size_t k) const;
};

/// Finds thresholds from a histogram of the upper 16 bits of |r + x| over a sample. These bits, the level of
/// an element, are the bits of a bf16 threshold.
class threshold_sampler {
 public:
  static constexpr std::size_t levels = std::size_t{1} << 15;

  /// Returns the smallest threshold for which at most the fraction `density` of a sample is at or above the
  /// threshold, within [smallest_threshold, largest_threshold]. If the highest occupied level alone has more
  /// elements than this fraction, returns that level. If all sampled elements are of level 0, returns
  /// `otherwise`.
  ///
  /// Before    count(counts) adds 1 to counts[level_of(r + x)] for each element of the sample.
  template <class Count>
  bf16 quantile(element_sample const& from, double density, bf16 otherwise, Count count) {
    counts_.assign(levels, 0);
    count(std::span<std::uint32_t>(counts_));
    auto const most = static_cast<std::size_t>(density * static_cast<double>(from.size()));
    constexpr bf16 smallest = bf16::nearest(smallest_threshold), largest = bf16::nearest(largest_threshold);
    std::size_t reach = 0;
    std::size_t pattern = counts_.size();
    while (pattern > 1 && (reach == 0 || reach + counts_[pattern - 1] <= most)) reach += counts_[--pattern];
    if (pattern == 1 && reach == 0) return otherwise;
    return {static_cast<std::uint16_t>(std::clamp<std::size_t>(pattern, smallest.pattern, largest.pattern))};
  }

  /// Returns the upper 16 bits of y without the sign bit.
  static std::size_t level_of(float y) { return std::bit_cast<std::uint32_t>(y) >> 16 & (levels - 1); }
  /// Adds the histogram of a sample of r + x to `counts`, for arrays in the processor's memory.
  static void count(element_sample const& from, float const* r, float const* x,
                    std::span<std::uint32_t> counts);

 private:
  std::vector<std::uint32_t> counts_;
};

}  // namespace detail

/// The thresholds of one rank's messages, updated by a policy after each message: one for all tensors, or one
/// per tensor.
///
/// Before    policy.check() has passed.
class thresholds {
 public:
  thresholds(threshold_policy policy, std::size_t count);

  /// Chooses the thresholds of the message that sends r + x. Threshold k applies to elements [ends[k − 1],
  /// ends[k]). `step` determines the sample.
  std::span<bf16 const> choose(std::span<float const> r, std::span<float const> x,
                               std::span<std::uint64_t const> ends, std::uint64_t step);
  /// Like choose(r, x, ends, step), but calls count(begin, sample, counts) to read the arrays. `count` adds
  /// the sample's histogram to `counts`; the sample's indices are relative to element `begin`.
  template <class Count>
  std::span<bf16 const> choose(std::span<std::uint64_t const> ends, std::uint64_t step, Count count) {
    random_stream const keys(0, "thresholds", step);
    std::uint64_t begin = 0;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      rounded_[k] = bf16::nearest(static_cast<float>(values_[k]));
      if (policy_.which == threshold_policy::kind::quantile) {
        detail::element_sample const from(static_cast<std::size_t>(ends[k] - begin),
                                          static_cast<std::size_t>(policy_.sample), keys.bits(k));
        rounded_[k] = sampler_.quantile(from, policy_.lo, rounded_[k],
                                        [&](std::span<std::uint32_t> counts) { count(begin, from, counts); });
        values_[k] = double{rounded_[k].value()};
      }
      begin = ends[k];
    }
    return rounded_;
  }

  /// Updates threshold k after a message that sent the fraction `density` of this threshold's elements.
  void observe(std::size_t k, double density) { values_[k] = policy_.next(values_[k], density); }

  /// Returns the checkpoint state: the thresholds before rounding.
  std::span<double const> state() const { return values_; }
  /// Restores thresholds from a checkpoint.
  ///
  /// Errors    data_error if the number of thresholds differs, or if one is outside the valid range.
  void restore(std::span<double const> state);

 private:
  threshold_policy policy_;
  std::vector<double> values_;
  std::vector<bf16> rounded_;
  detail::threshold_sampler sampler_;
};

}  // namespace cohort
