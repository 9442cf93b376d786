// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/codec/message.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohort {

/// How the threshold of the next message is chosen. Densities are shares of elements sent.
namespace threshold {

/// Always the same.
struct fixed {
  double value = 1e-3;
};
/// t·factor after a message of density below `lo`, t/factor after one above `hi`.
struct adaptive {
  double initial = 1e-3;
  double lo = 1e-4;
  double hi = 1e-2;
  double factor = 0.96593632892484555;  // 0.5^(1/20)
};
/// The same towards one density.
struct target_density {
  double density = 1e-3;
  double initial = 1e-3;
  double factor = 0.96593632892484555;
};
/// What the share `density` of |r + x| reaches, by a sample of so many elements, looked up for each message: right from the
/// first. One of 32,768 has 33 elements above the threshold of density 1e-3: 17 % of chance in a message's density.
struct quantile {
  double density = 1e-3;
  int sample = 32'768;
};

}  // namespace threshold

/// Any of threshold::…, as one value.
///
/// Errors    check: setting_error for a threshold out of 2^±100, a density out of (0, 1], a factor out of (0, 1), an empty
///           sample.
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

  void check() const {
    constexpr double smallest = smallest_threshold, largest = largest_threshold;
    bool const steps = which == kind::adaptive || which == kind::target_density;
    detail::require_setting(initial >= smallest && initial <= largest, name(), "initial", "2^-100 to 2^100",
                            initial);
    if (which != kind::fixed) {
      detail::require_setting(lo > 0 && lo <= hi, name(), "lo", "above 0, at most hi", lo);
      detail::require_setting(hi <= 1, name(), "hi", "at most 1", hi);
    }
    if (steps) detail::require_setting(factor > 0 && factor < 1, name(), "factor", "between 0 and 1", factor);
    if (which == kind::quantile) detail::require_setting(sample > 0, name(), "sample", "at least 1", sample);
  }

  /// The threshold after a message of this density, which had t.
  double next(double t, double density) const {
    double wanted = t;
    if (which == kind::adaptive || which == kind::target_density)
      wanted = density < lo ? t * factor : density > hi ? t / factor : t;
    return std::clamp(wanted, double{smallest_threshold}, double{largest_threshold});
  }
};

namespace detail {

/// Finds thresholds by counting a sample of |r + x| by its upper 16 bits, which is as fine as thresholds are.
class threshold_sampler {
 public:
  /// The smallest threshold that at most the share `density` of a sample reaches; where the largest are more already, these
  /// alone reach it. `otherwise` if all of it is 0.
  ///
  /// The sample is of runs of 16 neighbours, a cache line, one in each of as many equal ranges; where, says the key.
  bf16 quantile(float const* r, float const* x, std::size_t n, double density, std::size_t sample,
                std::uint64_t key, bf16 otherwise) {
    constexpr std::size_t run = 16;
    counts_.assign(std::size_t{1} << 15, 0);
    std::size_t const runs = std::max<std::size_t>(sample / run, 1);
    std::size_t const stride = n / runs;  // of elements, at least a run
    std::size_t taken = 0;
    if (stride <= run) {
      count(r, x, n);
      taken = n;
    } else {
      for (std::size_t k = 0; k < runs; ++k) {
        std::uint64_t const mixed = (key + k) * 0x9e3779b97f4a7c15;
        std::size_t const at =
            k * stride + static_cast<std::size_t>((mixed >> 32) * (stride - run + 1) >> 32);
        count(r + at, x + at, run);
      }
      taken = runs * run;
    }
    auto const most = static_cast<std::size_t>(density * static_cast<double>(taken));
    constexpr bf16 smallest = bf16::nearest(smallest_threshold), largest = bf16::nearest(largest_threshold);
    std::size_t reach = 0;
    std::size_t pattern = counts_.size();
    while (pattern > 1 && (reach == 0 || reach + counts_[pattern - 1] <= most)) reach += counts_[--pattern];
    if (pattern == 1 && reach == 0) return otherwise;
    return {static_cast<std::uint16_t>(std::clamp<std::size_t>(pattern, smallest.pattern, largest.pattern))};
  }

 private:
  void count(float const* r, float const* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) ++counts_[std::bit_cast<std::uint32_t>(r[i] + x[i]) >> 16 & 0x7fff];
  }

  std::vector<std::uint32_t> counts_;
};

}  // namespace detail

/// The thresholds of one rank's messages, one for all tensors or one each, as a policy moves them from message to message.
///
/// Before    the policy's check has passed.
class thresholds {
 public:
  thresholds(threshold_policy policy, std::size_t count) : policy_(policy), values_(count, policy.initial) {
    rounded_.resize(count);
  }

  /// Those of the message that sends r + x; ends: where the elements of each end. `step` chooses the sample.
  std::span<bf16 const> choose(std::span<float const> r, std::span<float const> x,
                               std::span<std::uint64_t const> ends, std::uint64_t step) {
    random_stream const keys(0, "thresholds", step);
    std::uint64_t begin = 0;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      rounded_[k] = bf16::nearest(static_cast<float>(values_[k]));
      if (policy_.which == threshold_policy::kind::quantile) {
        rounded_[k] = sampler_.quantile(r.data() + begin, x.data() + begin, ends[k] - begin, policy_.lo,
                                        static_cast<std::size_t>(policy_.sample), keys.bits(k), rounded_[k]);
        values_[k] = double{rounded_[k].value()};
      }
      begin = ends[k];
    }
    return rounded_;
  }

  /// Tells what share of the elements of threshold k the message sent.
  void observe(std::size_t k, double density) { values_[k] = policy_.next(values_[k], density); }

  /// What a checkpoint keeps: the thresholds before rounding.
  std::span<double const> state() const { return values_; }
  /// Errors    data_error if their number is another or one is none.
  void restore(std::span<double const> state) {
    bool fits = state.size() == values_.size();
    for (double const t : state)
      fits = fits && is_finite(t) && t >= double{smallest_threshold} && t <= double{largest_threshold};
    if (!fits)
      throw data_error(
          {.what = "cannot restore thresholds",
           .expected = {values_.size(), " of 2^-100 to 2^100"},
           .got = {state.size(), state.size() == values_.size() ? ", one of them out of range" : ""}});
    values_.assign(state.begin(), state.end());
  }

 private:
  threshold_policy policy_;
  std::vector<double> values_;
  std::vector<bf16> rounded_;
  detail::threshold_sampler sampler_;
};

}  // namespace cohort
