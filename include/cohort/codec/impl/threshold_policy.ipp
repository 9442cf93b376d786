// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/detail/coding_formulas.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort {

void threshold_policy::check() const {
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

double threshold_policy::next(double t, double density) const {
  double wanted = t;
  if (which == kind::adaptive || which == kind::target_density)
    wanted = density < lo ? t * factor : density > hi ? t / factor : t;
  return std::clamp(wanted, double{smallest_threshold}, double{largest_threshold});
}

}  // namespace cohort

namespace cohort::detail {

element_sample::element_sample(std::size_t n, std::size_t wanted, std::uint64_t key_)
    : elements(n), runs(std::max<std::size_t>(wanted / run, 1)), stride(n / runs), key(key_) {}

std::size_t element_sample::run_begin(std::size_t k) const {
  return static_cast<std::size_t>(place_of_run(key, k, stride, run));
}

void threshold_sampler::count(element_sample const& from, float const* r, float const* x,
                              std::span<std::uint32_t> counts) {
  auto const look = [&](std::size_t begin, std::size_t n) {
    for (std::size_t i = begin; i < begin + n; ++i) ++counts[level_of(r[i] + x[i])];
  };
  if (from.all()) return look(0, from.elements);
  for (std::size_t k = 0; k < from.runs; ++k) look(from.run_begin(k), element_sample::run);
}

}  // namespace cohort::detail

namespace cohort {

thresholds::thresholds(threshold_policy policy, std::size_t count)
    : policy_(policy), values_(count, policy.initial) {
  rounded_.resize(count);
}

std::span<bf16 const> thresholds::choose(std::span<float const> r, std::span<float const> x,
                                         std::span<std::uint64_t const> ends, std::uint64_t step) {
  return choose(ends, step,
                [&](std::uint64_t begin, detail::element_sample const& from, std::span<std::uint32_t> to) {
                  detail::threshold_sampler::count(from, r.data() + begin, x.data() + begin, to);
                });
}

void thresholds::restore(std::span<double const> state) {
  bool fits = state.size() == values_.size();
  for (double const t : state)
    fits = fits && is_finite(t) && t >= double{smallest_threshold} && t <= double{largest_threshold};
  if (!fits)
    throw data_error(
        {.what = "cannot restore thresholds",
         .expected = {values_.size(), " numbers from 2^-100 to 2^100"},
         .got = {state.size(), state.size() == values_.size() ? " numbers, at least one of them out of range"
                                                              : " numbers"}});
  values_.assign(state.begin(), state.end());
}

}  // namespace cohort
