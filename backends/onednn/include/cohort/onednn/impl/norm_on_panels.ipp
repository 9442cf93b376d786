// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/onednn/detail/norm_on_panels.hpp>
#include <cohort/onednn/detail/threads.hpp>

namespace cohort::detail {

norm_on_panels::norm_on_panels(panels const& layout, double epsilon, float slope, bool of_batch, int threads,
                               isa which)
    : p_(layout),
      run_(norm_passes_for(which, layout.narrow)),
      epsilon_(epsilon),
      slope_(slope),
      of_batch_(of_batch),
      threads_(threads) {}

std::size_t norm_on_panels::thread_bytes() const {
  return (p_.width * (2 * sizeof(double) + 6 * sizeof(float)) + 63) / 64 * 64;
}

norm_on_panels::thread_buffers norm_on_panels::buffers_of(std::byte* scratch, std::size_t thread) const {
  auto* const wide = reinterpret_cast<double*>(scratch + thread * thread_bytes());
  auto* const narrow = reinterpret_cast<float*>(wide + 2 * p_.width);
  std::size_t const w = p_.width;
  return {wide, wide + w, narrow, narrow + w, narrow + 2 * w, narrow + 3 * w, narrow + 4 * w, narrow + 5 * w};
}

void norm_on_panels::for_each_panel(norm_tensors const& a,
                                    void (norm_on_panels::*visit)(norm_tensors const&, panel_slice const&)
                                        const) const {
  on_openmp_threads(threads_, [&](int thread, int threads) {
    auto const t = static_cast<std::size_t>(thread), all = static_cast<std::size_t>(threads);
    std::size_t const parts = std::max<std::size_t>(1, all / p_.count), at_once = all / parts;
    for (std::size_t first = 0; first < p_.count; first += at_once) {
      std::size_t const panel = first + t / parts;
      (this->*visit)(a, {panel, t % parts, parts, t, t / parts < at_once && panel < p_.count});
      wait_for_slices(parts);
    }
  });
}

void norm_on_panels::wait_for_slices(std::size_t parts) {
  if (parts > 1) openmp_barrier();
}

void norm_on_panels::forward_of(norm_tensors const& a, panel_slice const& slice) const {
  thread_buffers const buffers = buffers_of(a.scratch, slice.thread);
  if (of_batch_) statistics_of(a, slice);
  if (!slice.active) return;
  if (!of_batch_) load_statistics(a, slice, buffers);
  norm_factors const by = factors(a, slice, buffers);
  for (row_block at = first_block(slice); advance(at, slice, p_.images * p_.rows);)
    run_.forward(at.over, address(a.x, at), address(a.other, at), address(a.y, at), by);
}

void norm_on_panels::statistics_of(norm_tensors const& a, panel_slice const& slice) const {
  thread_buffers const buffers = buffers_of(a.scratch, slice.thread);
  if (slice.active) compute_moments(a, slice, buffers);
  wait_for_slices(slice.parts);
  if (!slice.active) return;
  merge_parts(a, slice, buffers);
  for (std::size_t c = 0; slice.part == 0 && c < columns_of(slice); ++c) {
    a.means[slice.panel * p_.width + c] = buffers.mean[c];
    a.variances[slice.panel * p_.width + c] = buffers.variance[c];
  }
}

void norm_on_panels::backward_of(norm_tensors const& a, panel_slice const& slice) const {
  thread_buffers const buffers = buffers_of(a.scratch, slice.thread);
  if (slice.active) sum_gradients(a, slice, buffers);
  wait_for_slices(slice.parts);
  if (!slice.active) return;
  for (std::size_t c = 0; c < p_.width; ++c) {
    double sum = 0, products = 0, inverse = inverse_deviation(buffers.variance[c]);
    for (std::size_t part = 0; part < slice.parts; ++part) {
      thread_buffers const of = buffers_of(a.scratch, slice.thread - slice.part + part);
      sum += of.first[c];
      products += of.second[c];
    }
    buffers.of_mean[c] = of_batch_ ? static_cast<float>(sum / elements()) : 0;
    buffers.of_deviation[c] = of_batch_ ? static_cast<float>(products / elements() * inverse * inverse) : 0;
    if (slice.part > 0 || c >= columns_of(slice)) continue;
    a.diff_scale[slice.panel * p_.width + c] = static_cast<float>(products * inverse);
    a.diff_shift[slice.panel * p_.width + c] = static_cast<float>(sum);
  }
  norm_factors const by = factors(a, slice, buffers);
  for (row_block at = first_block(slice); advance(at, slice, p_.images * p_.rows);)
    run_.backward(at.over, address(a.x, at), address(a.gated, at), address(a.dx, at), by);
}

norm_on_panels::row_block norm_on_panels::first_block(panel_slice const& slice) const {
  return {p_.images * p_.rows * slice.part / slice.parts, {0, 0, p_.count * p_.rows * p_.width, p_.width}, 0};
}

bool norm_on_panels::advance(row_block& at, panel_slice const& slice, std::size_t most) const {
  std::size_t const last = p_.images * p_.rows * (slice.part + 1) / slice.parts;
  at.row += at.over.segments * at.over.rows;
  if (at.row >= last) return false;
  std::size_t const image = at.row / p_.rows, row = at.row % p_.rows;
  std::size_t const whole = row > 0 ? 0 : std::min(last - at.row, most) / p_.rows;
  at.over.segments = std::max<std::size_t>(1, whole);
  at.over.rows = whole > 0 ? p_.rows : std::min({most, p_.rows - row, last - at.row});
  at.offset = ((image * p_.count + slice.panel) * p_.rows + row) * p_.width * (p_.narrow ? 2 : 4);
  return true;
}

void const* norm_on_panels::address(void const* tensor, row_block const& at) {
  return tensor ? static_cast<std::byte const*>(tensor) + at.offset : nullptr;
}

void* norm_on_panels::address(void* tensor, row_block const& at) {
  return tensor ? static_cast<std::byte*>(tensor) + at.offset : nullptr;
}

void norm_on_panels::compute_moments(norm_tensors const& a, panel_slice const& slice,
                                     thread_buffers const& buffers) const {
  std::fill_n(buffers.first, 2 * p_.width, 0.0);
  double seen = 0;
  for (row_block at = first_block(slice); advance(at, slice, chunk());) {
    for (std::size_t c = 0; c < p_.width; ++c) buffers.mean[c] = static_cast<float>(buffers.first[c]);
    if (seen == 0) {
      std::size_t const sample = std::min<std::size_t>(at.over.rows, 16);
      run_.moments({1, sample, 0, p_.width}, address(a.x, at), buffers.mean, buffers.mean,
                   buffers.of_deviation);
      for (std::size_t c = 0; c < p_.width; ++c) buffers.mean[c] /= static_cast<float>(sample);
    }
    run_.moments(at.over, address(a.x, at), buffers.mean, buffers.of_mean, buffers.of_deviation);
    double const more = static_cast<double>(at.over.segments * at.over.rows);
    for (std::size_t c = 0; c < p_.width; ++c) {
      double const delta = static_cast<double>(buffers.of_mean[c]) / more;
      merge(buffers.first[c], buffers.second[c], seen, static_cast<double>(buffers.mean[c]) + delta,
            static_cast<double>(buffers.of_deviation[c]) - delta * delta * more, more);
    }
    seen += more;
  }
}

void norm_on_panels::merge(double& mean, double& squares, double seen, double other_mean,
                           double other_squares, double more) {
  double const delta = other_mean - mean, fraction = more / (seen + more);
  mean += delta * fraction;
  squares += other_squares + delta * delta * seen * fraction;
}

void norm_on_panels::merge_parts(norm_tensors const& a, panel_slice const& slice,
                                 thread_buffers const& buffers) const {
  std::size_t const all = p_.images * p_.rows;
  for (std::size_t c = 0; c < p_.width; ++c) {
    double mean = 0, squares = 0;
    std::size_t seen = 0;
    for (std::size_t part = 0; part < slice.parts; ++part) {
      std::size_t const more = all * (part + 1) / slice.parts - seen;
      thread_buffers const of = buffers_of(a.scratch, slice.thread - slice.part + part);
      if (more > 0)
        merge(mean, squares, static_cast<double>(seen), of.first[c], of.second[c], static_cast<double>(more));
      seen += more;
    }
    buffers.mean[c] = static_cast<float>(mean);
    buffers.variance[c] = static_cast<float>(squares / elements());
  }
}

void norm_on_panels::load_statistics(norm_tensors const& a, panel_slice const& slice,
                                     thread_buffers const& buffers) const {
  for (std::size_t c = 0; c < p_.width; ++c) {
    bool const real = c < columns_of(slice);
    buffers.mean[c] = real ? a.means[slice.panel * p_.width + c] : 0;
    buffers.variance[c] = real ? a.variances[slice.panel * p_.width + c] : 0;
  }
}

void norm_on_panels::sum_gradients(norm_tensors const& a, panel_slice const& slice,
                                   thread_buffers const& buffers) const {
  load_statistics(a, slice, buffers);
  norm_factors const by = factors(a, slice, buffers);
  std::fill_n(buffers.first, 2 * p_.width, 0.0);
  for (row_block at = first_block(slice); advance(at, slice, chunk());) {
    run_.sums(at.over, address(a.x, at), address(a.y, at), address(a.dy, at), address(a.gated, at), by,
              buffers.of_mean, buffers.of_deviation);
    for (std::size_t c = 0; c < p_.width; ++c) {
      buffers.first[c] += static_cast<double>(buffers.of_mean[c]);
      buffers.second[c] += static_cast<double>(buffers.of_deviation[c]);
    }
  }
}

std::size_t norm_on_panels::columns_of(panel_slice const& slice) const {
  return std::min(p_.width, p_.channels - slice.panel * p_.width);
}

double norm_on_panels::inverse_deviation(float variance) const {
  return 1 / std::sqrt(static_cast<double>(variance) + epsilon_);
}

norm_factors norm_on_panels::factors(norm_tensors const& a, panel_slice const& slice,
                                     thread_buffers const& buffers) const {
  for (std::size_t c = 0; c < p_.width; ++c) {
    bool const real = c < columns_of(slice);
    std::size_t const channel = slice.panel * p_.width + c;
    buffers.factor[c] =
        real ? static_cast<float>(a.scale[channel] * inverse_deviation(buffers.variance[c])) : 0;
    buffers.shift[c] = real ? a.shift[channel] : 0;
  }
  return {buffers.mean, buffers.factor, buffers.shift, buffers.of_mean, buffers.of_deviation, slope_};
}

}  // namespace cohort::detail
