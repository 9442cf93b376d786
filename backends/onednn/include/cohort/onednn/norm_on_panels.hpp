// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/onednn/norm_pass.hpp>
#include <cohort/onednn/threads.hpp>
#include <cstddef>

namespace cohort::detail {

/// How a batch of images, sequences or vectors lies: images × panels × rows × width elements, the channels along panels and
/// width. Blocks of 16 channels are panels of width 16; channels last is one panel of all.
struct panels {
  std::size_t images = 1, count = 1, rows = 1, width = 1;
  std::size_t channels = 1;  ///< at most count·width: the others are padding, which is zero and stays so
};

/// Batch normalisation with what stands behind it: y = act(norm(x) + other), act a rectifier or nothing.
///
/// Shapes    scale, shift, means, variances: channels;  scratch: scratch_bytes(threads).
/// Order     a thread takes whole panels: a panel is read from memory once, and a second time from the cache. Where there are
///           fewer panels than threads, some share one, each a part of its rows.
/// Exact     a panel's partition depends on the number of threads alone, and its parts are merged in their order. Means and
///           squares are summed in f32 by some hundred rows and merged in double.
/// Source    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
class norm_on_panels {
 public:
  /// `threads`: the most that will take part.  Before: `which` is at most machine_isa().
  norm_on_panels(panels const& lies, double epsilon, float slope, int threads, isa which)
      : p_(lies), epsilon_(epsilon), slope_(slope), threads_(threads), isa_(which) {}

  std::size_t scratch_bytes() const { return static_cast<std::size_t>(threads_) * thread_bytes(); }

  template <class E>
  struct forward_arguments {
    E const *x, *other;  ///< other: null, or added
    E* y;
    float const *scale, *shift;
    float *means, *variances;  ///< written where `of_batch`, else read
    bool of_batch;
    std::byte* scratch;
  };
  template <class E>
  void forward(forward_arguments<E> const& a) const {
    norm_passes<E> const& run = norm_passes_for<E>(isa_);
    in_panels(a.scratch, [&](share const& mine, sums const& own, auto merged) {
      if (a.of_batch && mine.takes_part) measure(run, a.x, mine, own);
      if (a.of_batch) merged();
      if (!mine.takes_part) return;
      if (a.of_batch) {
        merge_parts(mine, own, a.scratch);
        for (std::size_t c = 0; mine.part == 0 && c < columns(mine); ++c) {
          a.means[mine.panel * p_.width + c] = own.mean[c];
          a.variances[mine.panel * p_.width + c] = own.variance[c];
        }
      } else {
        look_up(mine, own, a.means, a.variances);
      }
      norm_factors const by = factors(mine, own, a.scale, a.shift);
      each_piece(mine, p_.images * p_.rows, [&](std::size_t at, norm_rows const& over) {
        run.forward(over, a.x + at, a.other ? a.other + at : nullptr, a.y + at, by);
      });
    });
  }

  template <class E>
  struct backward_arguments {
    E const *x, *y;  ///< y: null where x says what passed the rectifier
    E const* dy;
    E *gated, *dx;  ///< gated: dy behind the rectifier, the gradient of `other`
    float const *scale, *shift, *means, *variances;
    float *diff_scale, *diff_shift;
    bool of_batch;
    std::byte* scratch;
  };
  template <class E>
  void backward(backward_arguments<E> const& a) const {
    norm_passes<E> const& run = norm_passes_for<E>(isa_);
    in_panels(a.scratch, [&](share const& mine, sums const& own, auto merged) {
      if (mine.takes_part) {
        look_up(mine, own, a.means, a.variances);
        add_gradients(run, a, mine, own, factors(mine, own, a.scale, a.shift));
      }
      merged();
      if (!mine.takes_part) return;
      for (std::size_t c = 0; c < p_.width; ++c) {
        double sum = 0, along = 0, inverse = inverse_deviation(own.variance[c]);
        for (std::size_t part = 0; part < mine.parts; ++part) {
          sums const of = sums_of(a.scratch, mine.first_thread + part);
          sum += of.first[c];
          along += of.second[c];
        }
        own.of_mean[c] = a.of_batch ? static_cast<float>(sum / elements()) : 0;
        own.of_deviation[c] = a.of_batch ? static_cast<float>(along / elements() * inverse * inverse) : 0;
        if (mine.part > 0 || c >= columns(mine)) continue;
        a.diff_scale[mine.panel * p_.width + c] = static_cast<float>(along * inverse);
        a.diff_shift[mine.panel * p_.width + c] = static_cast<float>(sum);
      }
      norm_factors const by = factors(mine, own, a.scale, a.shift);
      each_piece(mine, p_.images * p_.rows, [&](std::size_t at, norm_rows const& over) {
        run.backward(over, a.x + at, a.gated + at, a.dx + at, by);
      });
    });
  }

 private:
  /// A thread's part of a panel.
  struct share {
    bool takes_part;
    std::size_t panel, part, parts, first_thread;
  };
  /// A thread's memory: two sums a column, and numbers for the passes.
  struct sums {
    double *first, *second;
    float *mean, *variance, *factor, *shift, *of_mean, *of_deviation;
  };

  std::size_t thread_bytes() const {
    return (p_.width * (2 * sizeof(double) + 6 * sizeof(float)) + 63) / 64 * 64;
  }
  sums sums_of(std::byte* scratch, std::size_t thread) const {
    auto* const wide = reinterpret_cast<double*>(scratch + thread * thread_bytes());
    auto* const narrow = reinterpret_cast<float*>(wide + 2 * p_.width);
    std::size_t const w = p_.width;
    return {wide,           wide + w,       narrow,         narrow + w,
            narrow + 2 * w, narrow + 3 * w, narrow + 4 * w, narrow + 5 * w};
  }

  /// Calls visit(share, sums, merged) on all threads, as often on each; it calls merged() once: all have been there, then.
  template <class Visit>
  void in_panels(std::byte* scratch, Visit const& visit) const {
    on_openmp_threads(threads_, [&](int thread, int threads) {
      auto const t = static_cast<std::size_t>(thread), all = static_cast<std::size_t>(threads);
      std::size_t const parts = std::max<std::size_t>(1, all / p_.count), at_once = all / parts;
      auto const wait = [&] {
        if (parts > 1) openmp_barrier();
      };
      for (std::size_t first = 0; first < p_.count; first += at_once) {
        std::size_t const panel = first + t / parts;
        share const mine{t / parts < at_once && panel < p_.count, panel, t % parts, parts, t / parts * parts};
        visit(mine, sums_of(scratch, t), wait);
        wait();
      }
    });
  }

  /// Rows that are summed in f32: so many that a merge of their sums is little beside them.
  std::size_t chunk() const { return std::clamp<std::size_t>(16384 / p_.width, 16, 1024); }

  /// Calls visit(offset of the first element, rows) for all of a share's rows, about so many at a time.
  template <class Visit>
  void each_piece(share const& mine, std::size_t most, Visit const& visit) const {
    std::size_t const all = p_.images * p_.rows, last = all * (mine.part + 1) / mine.parts;
    std::size_t const stride = p_.count * p_.rows * p_.width;
    for (std::size_t r = all * mine.part / mine.parts; r < last;) {
      std::size_t const image = r / p_.rows, row = r % p_.rows;
      std::size_t const whole = row > 0 ? 0 : std::min(last - r, most) / p_.rows;
      norm_rows const over{std::max<std::size_t>(1, whole),
                           whole > 0 ? p_.rows : std::min({most, p_.rows - row, last - r}), stride, p_.width};
      visit(((image * p_.count + mine.panel) * p_.rows + row) * p_.width, over);
      r += over.segments * over.rows;
    }
  }

  /// Means around which squares are summed are those of the rows before.
  template <class E>
  void measure(norm_passes<E> const& run, E const* x, share const& mine, sums const& own) const {
    std::fill_n(own.first, p_.width, 0.0);
    std::fill_n(own.second, p_.width, 0.0);
    double seen = 0;
    each_piece(mine, chunk(), [&](std::size_t at, norm_rows const& over) {
      double const more = static_cast<double>(over.segments * over.rows);
      if (seen == 0) {
        std::fill_n(own.mean, p_.width, 0.0F);
        run.moments({1, 1, 0, p_.width}, x + at, own.mean, own.mean, own.of_deviation);
      } else {
        std::copy_n(own.first, p_.width, own.mean);
      }
      run.moments(over, x + at, own.mean, own.of_mean, own.of_deviation);
      for (std::size_t c = 0; c < p_.width; ++c) {
        double const apart = static_cast<double>(own.of_mean[c]) / more;
        merge(own.first[c], own.second[c], seen, static_cast<double>(own.mean[c]) + apart,
              static_cast<double>(own.of_deviation[c]) - apart * apart * more, more);
      }
      seen += more;
    });
  }
  /// Source    Chan, Golub and LeVeque, see above.
  static void merge(double& mean, double& squares, double seen, double other_mean, double other_squares,
                    double more) {
    double const apart = other_mean - mean, share_of_other = more / (seen + more);
    mean += apart * share_of_other;
    squares += other_squares + apart * apart * seen * share_of_other;
  }
  /// The panel's mean and variance from those of its parts, in their order.
  void merge_parts(share const& mine, sums const& own, std::byte* scratch) const {
    std::size_t const all = p_.images * p_.rows;
    for (std::size_t c = 0; c < p_.width; ++c) {
      double mean = 0, squares = 0;
      std::size_t seen = 0;
      for (std::size_t part = 0; part < mine.parts; ++part) {
        std::size_t const more = all * (part + 1) / mine.parts - seen;
        sums const of = sums_of(scratch, mine.first_thread + part);
        if (more > 0)
          merge(mean, squares, static_cast<double>(seen), of.first[c], of.second[c],
                static_cast<double>(more));
        seen += more;
      }
      own.mean[c] = static_cast<float>(mean);
      own.variance[c] = static_cast<float>(squares / elements());
    }
  }
  void look_up(share const& mine, sums const& own, float const* means, float const* variances) const {
    for (std::size_t c = 0; c < p_.width; ++c) {
      bool const real = c < columns(mine);
      own.mean[c] = real ? means[mine.panel * p_.width + c] : 0;
      own.variance[c] = real ? variances[mine.panel * p_.width + c] : 0;
    }
  }

  template <class E>
  void add_gradients(norm_passes<E> const& run, backward_arguments<E> const& a, share const& mine,
                     sums const& own, norm_factors const& by) const {
    std::fill_n(own.first, p_.width, 0.0);
    std::fill_n(own.second, p_.width, 0.0);
    each_piece(mine, chunk(), [&](std::size_t at, norm_rows const& over) {
      run.sums(over, a.x + at, a.y ? a.y + at : nullptr, a.dy + at, a.gated + at, by, own.of_mean,
               own.of_deviation);
      for (std::size_t c = 0; c < p_.width; ++c) {
        own.first[c] += static_cast<double>(own.of_mean[c]);
        own.second[c] += static_cast<double>(own.of_deviation[c]);
      }
    });
  }

  std::size_t columns(share const& mine) const {
    return std::min(p_.width, p_.channels - mine.panel * p_.width);
  }
  double elements() const { return static_cast<double>(p_.images * p_.rows); }
  double inverse_deviation(float variance) const {
    return 1 / std::sqrt(static_cast<double>(variance) + epsilon_);
  }

  /// Padding gets factors of zero.
  norm_factors factors(share const& mine, sums const& own, float const* scale, float const* shift) const {
    for (std::size_t c = 0; c < p_.width; ++c) {
      bool const real = c < columns(mine);
      std::size_t const channel = mine.panel * p_.width + c;
      own.factor[c] = real ? static_cast<float>(scale[channel] * inverse_deviation(own.variance[c])) : 0;
      own.shift[c] = real ? shift[channel] : 0;
    }
    return {own.mean, own.factor, own.shift, own.of_mean, own.of_deviation, slope_};
  }

  panels p_;
  double epsilon_;
  float slope_;
  int threads_;
  isa isa_;
};

}  // namespace cohort::detail
