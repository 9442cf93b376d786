// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/convolution_engine.hpp>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/conv2d_transposed.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// A window that moves over an image and makes a map: a convolution reads the image, a transposed one the map.
///
/// Shapes    image C×H×W, map K×P×Q. Weights K×(C/groups)×R×S, but a transposed layer's C×(K/groups)×R×S.
struct convolution_windows {
  shape image, map;
  cohort::window window;
  int groups = 1;
  bool transposed = false;
};

/// How a convolution's tensors lie, and what its factors are.
struct convolution_way {
  bool channels_last;
  product_precision products;

  bool is_narrow() const { return products == product_precision::bf16; }
  gpu_layout layout_of(shape const& dims) const;
};

/// What tensor cores like best first, then what has an engine all the same.
/// Source    NVIDIA, cuDNN Developer Guide: tensor cores read channels last.
std::vector<convolution_way> ways_of(product_precision products);

/// One pass of a convolution with what has to be done around cuDNN's engine: weights of a transposed layer change places; where no
/// engine takes paddings that differ from side to side, the image is padded before, or its gradient cut out after; and where none
/// makes the gradient of the weights in f32 of images in bf16, it is widened after.
///
/// Shapes    images and maps as the way says, weights too where they are read; their gradient is f32.
/// Before    run: scratch memory of scratch_bytes.
/// Errors    no_convolution_engine naming `where`.
class convolution_on_gpu {
 public:
  convolution_on_gpu(gpu_target const& where, convolution_pass pass, convolution_windows const& its,
                     int batch, std::string const& name, convolution_way const& way);

  std::size_t scratch_bytes() const;
  std::int64_t engine() const { return engine_->number(); }

  /// Puts it into the stream; the pass says which of the tensors is written.
  void run(void* image, void* weights, void* map, void* scratch) const;

 private:
  /// The weights' gradient rather widened from bf16 than by an engine that is a fallback.
  void look(gpu_target const& where, convolution_extents extents, product_precision products);
  /// Moves the padding into the image.
  void frame(convolution_extents& its);
  std::size_t framed_bytes() const { return round_to_alignment(framed_ * (narrow_ ? 2 : 4)); }
  /// Of weights as the engine has them.
  std::size_t ordered_bytes() const;
  shared_stream on_;
  convolution_pass pass_;
  bool last_, narrow_, swaps_, widens_ = false;
  std::size_t weights_ = 0, image_ = 0, framed_ = 0;  // elements; framed_ 0: no padding of ours
  kernels::size taps_ = 0, depth_ = 0, filters_ = 0;
  kernels::image_frame frame_{};
  std::optional<convolution_engine> engine_;
};

gpu_operation prepare_convolution(gpu_target const& where, gpu_request const& request,
                                  convolution_windows const& its, double flops, convolution_way const& way);

/// By the first way that has engines for all passes.
[[gnu::noinline]] gpu_operation prepare_convolution(gpu_target const& where, gpu_request const& request,
                                                    convolution_windows const& its, double flops);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d const& layer);
/// A sequence is an image of one row.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv1d const& layer);
/// Forward is what a convolution does to the gradient of its output.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d_transposed const& layer);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/convolution_on_gpu.ipp>
#endif
