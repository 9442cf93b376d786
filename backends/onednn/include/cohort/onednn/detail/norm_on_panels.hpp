// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/onednn/detail/norm_simd.hpp>
#include <cstddef>

namespace cohort::detail {

/// Layout of a batch of images, sequences or vectors: images × panels × rows × width elements, with the
/// channels along panels and width. In a layout with blocks of 16 channels, each block is a panel of width
/// 16; channels last is one panel of all channels.
struct panels {
  std::size_t images = 1, count = 1, rows = 1, width = 1;
  std::size_t channels = 1;  ///< at most count·width; the remaining columns are padding, which stays zero
  bool narrow = false;       ///< bf16 instead of f32
};

/// Tensors of a norm's forward or backward.
///
/// Shapes    scale, shift, means, variances and their gradients: channels; scratch:
///           norm_on_panels::scratch_bytes.
struct norm_tensors {
  void const* x = nullptr;
  void const* other = nullptr;  ///< summand of forward, or null
  void* y = nullptr;            ///< backward: null if the rectifier's mask is computed from x
  void const* dy = nullptr;
  void* gated = nullptr;  ///< gradient of the rectifier's input and of `other`; may alias dx
  void* dx = nullptr;
  float const* scale = nullptr;
  float const* shift = nullptr;
  float* means = nullptr;  ///< forward writes both if it computes the batch's statistics
  float* variances = nullptr;
  float* diff_scale = nullptr;
  float* diff_shift = nullptr;
  std::byte* scratch = nullptr;
};

/// Batch normalisation with a sum and an activation: y = act(norm(x) + other), where act is a rectifier or
/// the identity.
///
/// Order     each thread processes whole panels: it reads a panel from memory once, then again from the
///           cache. If there are fewer panels than threads, several threads share a panel, each with a part
///           of its rows.
/// Exact     the division of a panel into parts depends only on the number of threads, and the parts are
///           merged in order. Values and squares are summed in f32 over at most 1024 rows; these sums are
///           merged in double.
/// Source    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample
///           variances, 1979.
class norm_on_panels {
 public:
  /// `of_batch`: whether to compute the batch's statistics; otherwise `means` and `variances` are inputs.
  /// `threads`: maximum number of threads.
  ///
  /// Before    `which` is at most machine_isa().
  norm_on_panels(panels const& layout, double epsilon, float slope, bool of_batch, int threads, isa which);

  std::size_t scratch_bytes() const { return static_cast<std::size_t>(threads_) * thread_bytes(); }
  void forward(norm_tensors const& a) const { for_each_panel(a, &norm_on_panels::forward_of); }
  /// Computes only the means and variances of x.  Before: of_batch.
  void statistics(norm_tensors const& a) const { for_each_panel(a, &norm_on_panels::statistics_of); }
  void backward(norm_tensors const& a) const { for_each_panel(a, &norm_on_panels::backward_of); }

 private:
  /// A thread's part of a panel. The parts of one panel belong to consecutive threads.
  struct panel_slice {
    std::size_t panel, part, parts, thread;
    bool active;
  };
  /// A thread's scratch memory, `width` values each: two sums, and the values that the passes read and write.
  struct thread_buffers {
    double *first, *second;
    float *mean, *variance, *factor, *shift, *of_mean, *of_deviation;
  };

  std::size_t thread_bytes() const;
  thread_buffers buffers_of(std::byte* scratch, std::size_t thread) const;

  /// Calls `visit` on every thread once per round of panels, also with an inactive slice, because threads
  /// that share panels synchronise by barriers.
  void for_each_panel(norm_tensors const& a,
                      void (norm_on_panels::*visit)(norm_tensors const&, panel_slice const&) const) const;
  static void wait_for_slices(std::size_t parts);

  void forward_of(norm_tensors const& a, panel_slice const& slice) const;

  /// Computes the statistics of the slice's panel, and also stores them in the thread's buffers.
  void statistics_of(norm_tensors const& a, panel_slice const& slice) const;

  void backward_of(norm_tensors const& a, panel_slice const& slice) const;

  /// Some rows of a slice, beginning at `row`. `offset`: bytes from the start of a tensor to these rows.
  struct row_block {
    std::size_t row;
    norm_rows over;
    std::size_t offset;
  };
  row_block first_block(panel_slice const& slice) const;
  /// Sets `at` to the next rows, at most `most`. Returns false at the end of the slice.
  bool advance(row_block& at, panel_slice const& slice, std::size_t most) const;
  static void const* address(void const* tensor, row_block const& at);
  static void* address(void* tensor, row_block const& at);
  /// Returns the number of rows to sum in f32 between merges, 16 to 1024.
  std::size_t chunk() const { return std::clamp<std::size_t>(16384 / p_.width, 16, 1024); }

  /// Computes the mean and Σ (x − mean)² of the slice. Each chunk of rows is summed relative to the mean of
  /// the previous chunks. For the first chunk, this mean is estimated from up to 16 of its rows.
  void compute_moments(norm_tensors const& a, panel_slice const& slice, thread_buffers const& buffers) const;
  static void merge(double& mean, double& squares, double seen, double other_mean, double other_squares,
                    double more);
  void merge_parts(norm_tensors const& a, panel_slice const& slice, thread_buffers const& buffers) const;
  void load_statistics(norm_tensors const& a, panel_slice const& slice, thread_buffers const& buffers) const;
  void sum_gradients(norm_tensors const& a, panel_slice const& slice, thread_buffers const& buffers) const;

  std::size_t columns_of(panel_slice const& slice) const;
  double elements() const { return static_cast<double>(p_.images * p_.rows); }
  double inverse_deviation(float variance) const;
  /// Returns the factors per column; the factors of padding are zero.
  norm_factors factors(norm_tensors const& a, panel_slice const& slice, thread_buffers const& buffers) const;

  panels p_;
  norm_passes run_;
  double epsilon_;
  float slope_;
  bool of_batch_;
  int threads_;
};

}  // namespace cohort::detail
