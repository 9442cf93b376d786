// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/detail/config.hpp>
#include <cohort/onednn/detail/norm_on_panels.hpp>
#include <cohort/onednn/detail/threads.hpp>

namespace cohort::detail {

COHORT_ONEDNN_INLINE norm_on_panels::norm_on_panels(panels const& lies, double epsilon, float slope,
                                                    bool of_batch, int threads, isa which)
    : p_(lies),
      run_(norm_passes_for(which, lies.narrow)),
      epsilon_(epsilon),
      slope_(slope),
      of_batch_(of_batch),
      threads_(threads) {}

COHORT_ONEDNN_INLINE std::size_t norm_on_panels::thread_bytes() const {
  return (p_.width * (2 * sizeof(double) + 6 * sizeof(float)) + 63) / 64 * 64;
}

COHORT_ONEDNN_INLINE norm_on_panels::numbers norm_on_panels::numbers_of(std::byte* scratch,
                                                                        std::size_t thread) const {
  auto* const wide = reinterpret_cast<double*>(scratch + thread * thread_bytes());
  auto* const narrow = reinterpret_cast<float*>(wide + 2 * p_.width);
  std::size_t const w = p_.width;
  return {wide, wide + w, narrow, narrow + w, narrow + 2 * w, narrow + 3 * w, narrow + 4 * w, narrow + 5 * w};
}

COHORT_ONEDNN_INLINE void norm_on_panels::each_panel(
    norm_tensors const& a, void (norm_on_panels::*visit)(norm_tensors const&, share const&) const) const {
  on_openmp_threads(threads_, [&](int thread, int threads) {
    auto const t = static_cast<std::size_t>(thread), all = static_cast<std::size_t>(threads);
    std::size_t const parts = std::max<std::size_t>(1, all / p_.count), at_once = all / parts;
    for (std::size_t first = 0; first < p_.count; first += at_once) {
      std::size_t const panel = first + t / parts;
      (this->*visit)(a, {panel, t % parts, parts, t, t / parts < at_once && panel < p_.count});
      wait(parts);
    }
  });
}

COHORT_ONEDNN_INLINE void norm_on_panels::wait(std::size_t parts) {
  if (parts > 1) openmp_barrier();
}

COHORT_ONEDNN_INLINE void norm_on_panels::forward_of(norm_tensors const& a, share const& mine) const {
  numbers const own = numbers_of(a.scratch, mine.thread);
  if (of_batch_) {
    if (mine.takes_part) measure(a, mine, own);
    wait(mine.parts);
  }
  if (!mine.takes_part) return;
  if (of_batch_) {
    merge_parts(a, mine, own);
    for (std::size_t c = 0; mine.part == 0 && c < columns_of(mine); ++c) {
      a.means[mine.panel * p_.width + c] = own.mean[c];
      a.variances[mine.panel * p_.width + c] = own.variance[c];
    }
  } else {
    look_up(a, mine, own);
  }
  norm_factors const by = factors(a, mine, own);
  for (piece at = beginning(mine); next(at, mine, p_.images * p_.rows);)
    run_.forward(at.over, in(a.x, at), in(a.other, at), in(a.y, at), by);
}

COHORT_ONEDNN_INLINE void norm_on_panels::backward_of(norm_tensors const& a, share const& mine) const {
  numbers const own = numbers_of(a.scratch, mine.thread);
  if (mine.takes_part) add_gradients(a, mine, own);
  wait(mine.parts);
  if (!mine.takes_part) return;
  for (std::size_t c = 0; c < p_.width; ++c) {
    double sum = 0, along = 0, inverse = inverse_deviation(own.variance[c]);
    for (std::size_t part = 0; part < mine.parts; ++part) {
      numbers const of = numbers_of(a.scratch, mine.thread - mine.part + part);
      sum += of.first[c];
      along += of.second[c];
    }
    own.of_mean[c] = of_batch_ ? static_cast<float>(sum / elements()) : 0;
    own.of_deviation[c] = of_batch_ ? static_cast<float>(along / elements() * inverse * inverse) : 0;
    if (mine.part > 0 || c >= columns_of(mine)) continue;
    a.diff_scale[mine.panel * p_.width + c] = static_cast<float>(along * inverse);
    a.diff_shift[mine.panel * p_.width + c] = static_cast<float>(sum);
  }
  norm_factors const by = factors(a, mine, own);
  for (piece at = beginning(mine); next(at, mine, p_.images * p_.rows);)
    run_.backward(at.over, in(a.x, at), in(a.gated, at), in(a.dx, at), by);
}

COHORT_ONEDNN_INLINE norm_on_panels::piece norm_on_panels::beginning(share const& mine) const {
  return {p_.images * p_.rows * mine.part / mine.parts, {0, 0, p_.count * p_.rows * p_.width, p_.width}, 0};
}

COHORT_ONEDNN_INLINE bool norm_on_panels::next(piece& at, share const& mine, std::size_t most) const {
  std::size_t const last = p_.images * p_.rows * (mine.part + 1) / mine.parts;
  at.row += at.over.segments * at.over.rows;
  if (at.row >= last) return false;
  std::size_t const image = at.row / p_.rows, row = at.row % p_.rows;
  std::size_t const whole = row > 0 ? 0 : std::min(last - at.row, most) / p_.rows;
  at.over.segments = std::max<std::size_t>(1, whole);
  at.over.rows = whole > 0 ? p_.rows : std::min({most, p_.rows - row, last - at.row});
  at.offset = ((image * p_.count + mine.panel) * p_.rows + row) * p_.width * (p_.narrow ? 2 : 4);
  return true;
}

COHORT_ONEDNN_INLINE void const* norm_on_panels::in(void const* tensor, piece const& at) {
  return tensor ? static_cast<std::byte const*>(tensor) + at.offset : nullptr;
}

COHORT_ONEDNN_INLINE void* norm_on_panels::in(void* tensor, piece const& at) {
  return tensor ? static_cast<std::byte*>(tensor) + at.offset : nullptr;
}

COHORT_ONEDNN_INLINE void norm_on_panels::measure(norm_tensors const& a, share const& mine,
                                                  numbers const& own) const {
  std::fill_n(own.first, 2 * p_.width, 0.0);
  double seen = 0;
  for (piece at = beginning(mine); next(at, mine, chunk());) {
    for (std::size_t c = 0; c < p_.width; ++c) own.mean[c] = static_cast<float>(own.first[c]);
    if (seen == 0) {
      std::size_t const some = std::min<std::size_t>(at.over.rows, 16);
      run_.moments({1, some, 0, p_.width}, in(a.x, at), own.mean, own.mean, own.of_deviation);
      for (std::size_t c = 0; c < p_.width; ++c) own.mean[c] /= static_cast<float>(some);
    }
    run_.moments(at.over, in(a.x, at), own.mean, own.of_mean, own.of_deviation);
    double const more = static_cast<double>(at.over.segments * at.over.rows);
    for (std::size_t c = 0; c < p_.width; ++c) {
      double const apart = static_cast<double>(own.of_mean[c]) / more;
      merge(own.first[c], own.second[c], seen, static_cast<double>(own.mean[c]) + apart,
            static_cast<double>(own.of_deviation[c]) - apart * apart * more, more);
    }
    seen += more;
  }
}

COHORT_ONEDNN_INLINE void norm_on_panels::merge(double& mean, double& squares, double seen, double other_mean,
                                                double other_squares, double more) {
  double const apart = other_mean - mean, share_of_other = more / (seen + more);
  mean += apart * share_of_other;
  squares += other_squares + apart * apart * seen * share_of_other;
}

COHORT_ONEDNN_INLINE void norm_on_panels::merge_parts(norm_tensors const& a, share const& mine,
                                                      numbers const& own) const {
  std::size_t const all = p_.images * p_.rows;
  for (std::size_t c = 0; c < p_.width; ++c) {
    double mean = 0, squares = 0;
    std::size_t seen = 0;
    for (std::size_t part = 0; part < mine.parts; ++part) {
      std::size_t const more = all * (part + 1) / mine.parts - seen;
      numbers const of = numbers_of(a.scratch, mine.thread - mine.part + part);
      if (more > 0)
        merge(mean, squares, static_cast<double>(seen), of.first[c], of.second[c], static_cast<double>(more));
      seen += more;
    }
    own.mean[c] = static_cast<float>(mean);
    own.variance[c] = static_cast<float>(squares / elements());
  }
}

COHORT_ONEDNN_INLINE void norm_on_panels::look_up(norm_tensors const& a, share const& mine,
                                                  numbers const& own) const {
  for (std::size_t c = 0; c < p_.width; ++c) {
    bool const real = c < columns_of(mine);
    own.mean[c] = real ? a.means[mine.panel * p_.width + c] : 0;
    own.variance[c] = real ? a.variances[mine.panel * p_.width + c] : 0;
  }
}

COHORT_ONEDNN_INLINE void norm_on_panels::add_gradients(norm_tensors const& a, share const& mine,
                                                        numbers const& own) const {
  look_up(a, mine, own);
  norm_factors const by = factors(a, mine, own);
  std::fill_n(own.first, 2 * p_.width, 0.0);
  for (piece at = beginning(mine); next(at, mine, chunk());) {
    run_.sums(at.over, in(a.x, at), in(a.y, at), in(a.dy, at), in(a.gated, at), by, own.of_mean,
              own.of_deviation);
    for (std::size_t c = 0; c < p_.width; ++c) {
      own.first[c] += static_cast<double>(own.of_mean[c]);
      own.second[c] += static_cast<double>(own.of_deviation[c]);
    }
  }
}

COHORT_ONEDNN_INLINE std::size_t norm_on_panels::columns_of(share const& mine) const {
  return std::min(p_.width, p_.channels - mine.panel * p_.width);
}

COHORT_ONEDNN_INLINE double norm_on_panels::inverse_deviation(float variance) const {
  return 1 / std::sqrt(static_cast<double>(variance) + epsilon_);
}

COHORT_ONEDNN_INLINE norm_factors norm_on_panels::factors(norm_tensors const& a, share const& mine,
                                                          numbers const& own) const {
  for (std::size_t c = 0; c < p_.width; ++c) {
    bool const real = c < columns_of(mine);
    std::size_t const channel = mine.panel * p_.width + c;
    own.factor[c] = real ? static_cast<float>(a.scale[channel] * inverse_deviation(own.variance[c])) : 0;
    own.shift[c] = real ? a.shift[channel] : 0;
  }
  return {own.mean, own.factor, own.shift, own.of_mean, own.of_deviation, slope_};
}

}  // namespace cohort::detail
