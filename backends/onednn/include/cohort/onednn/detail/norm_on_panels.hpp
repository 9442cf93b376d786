// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/onednn/detail/norm_simd.hpp>
#include <cstddef>

namespace cohort::detail {

/// How a batch of images, sequences or vectors lies: images × panels × rows × width elements, the channels along panels and
/// width. Blocks of 16 channels are panels of width 16; channels last is one panel of all.
struct panels {
  std::size_t images = 1, count = 1, rows = 1, width = 1;
  std::size_t channels = 1;  ///< at most count·width: the others are padding, which is zero and stays so
  bool narrow = false;       ///< bf16, else f32
};

/// Tensors of a norm's forward or backward.
///
/// Shapes    scale, shift, means, variances and their gradients: channels;  scratch: norm_on_panels::scratch_bytes.
struct norm_tensors {
  void const* x = nullptr;
  void const* other = nullptr;  ///< forward adds it, if not null
  void* y = nullptr;            ///< backward: null where x says what passed the rectifier
  void const* dy = nullptr;
  void* gated = nullptr;  ///< dy behind the rectifier: the gradient of `other`; it may be dx
  void* dx = nullptr;
  float const* scale = nullptr;
  float const* shift = nullptr;
  float* means = nullptr;  ///< forward writes both where they are of the batch
  float* variances = nullptr;
  float* diff_scale = nullptr;
  float* diff_shift = nullptr;
  std::byte* scratch = nullptr;
};

/// Batch normalisation with what stands behind it: y = act(norm(x) + other), act a rectifier or nothing.
///
/// Order     a thread takes whole panels: a panel is read from memory once, and a second time from the cache. Where there are
///           fewer panels than threads, some share one, each a part of its rows.
/// Exact     a panel's partition depends on the number of threads alone, and its parts are merged in their order. Means and
///           squares are summed in f32 by some hundred rows and merged in double.
/// Source    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
class norm_on_panels {
 public:
  /// `of_batch`: by the batch's statistics, else by those given. `threads`: the most that will take part.
  /// Before    `which` is at most machine_isa().
  norm_on_panels(panels const& lies, double epsilon, float slope, bool of_batch, int threads, isa which);

  std::size_t scratch_bytes() const { return static_cast<std::size_t>(threads_) * thread_bytes(); }
  void forward(norm_tensors const& a) const { each_panel(a, &norm_on_panels::forward_of); }
  void backward(norm_tensors const& a) const { each_panel(a, &norm_on_panels::backward_of); }

 private:
  /// A thread's part of a panel; parts of a panel belong to threads one after another.
  struct share {
    std::size_t panel, part, parts, thread;
    bool takes_part;
  };
  /// A thread's memory: two sums a column, and numbers for the passes.
  struct numbers {
    double *first, *second;
    float *mean, *variance, *factor, *shift, *of_mean, *of_deviation;
  };

  std::size_t thread_bytes() const;
  numbers numbers_of(std::byte* scratch, std::size_t thread) const;

  /// All threads come by as often, with or without a share: they wait for each other where panels are shared.
  void each_panel(norm_tensors const& a,
                  void (norm_on_panels::*visit)(norm_tensors const&, share const&) const) const;
  static void wait(std::size_t parts);

  void forward_of(norm_tensors const& a, share const& mine) const;

  void backward_of(norm_tensors const& a, share const& mine) const;

  /// Some of a share's rows, from the first one; `offset` in bytes.
  struct piece {
    std::size_t row;
    norm_rows over;
    std::size_t offset;
  };
  piece beginning(share const& mine) const;
  /// Goes on to the next rows, about so many; whether there are any.
  bool next(piece& at, share const& mine, std::size_t most) const;
  static void const* in(void const* tensor, piece const& at);
  static void* in(void* tensor, piece const& at);
  /// Rows that are summed in f32: so many that a merge of their sums is little beside them.
  std::size_t chunk() const { return std::clamp<std::size_t>(16384 / p_.width, 16, 1024); }

  /// Squares are summed around the mean of the rows before, at first that of some rows.
  void measure(norm_tensors const& a, share const& mine, numbers const& own) const;
  static void merge(double& mean, double& squares, double seen, double other_mean, double other_squares,
                    double more);
  void merge_parts(norm_tensors const& a, share const& mine, numbers const& own) const;
  void look_up(norm_tensors const& a, share const& mine, numbers const& own) const;
  void add_gradients(norm_tensors const& a, share const& mine, numbers const& own) const;

  std::size_t columns_of(share const& mine) const;
  double elements() const { return static_cast<double>(p_.images * p_.rows); }
  double inverse_deviation(float variance) const;
  /// Padding gets factors of zero.
  norm_factors factors(norm_tensors const& a, share const& mine, numbers const& own) const;

  panels p_;
  norm_passes run_;
  double epsilon_;
  float slope_;
  bool of_batch_;
  int threads_;
};

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/norm_on_panels.ipp>
#endif
