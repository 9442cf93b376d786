// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/convolution_engine.hpp>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/conv2d_transposed.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// A window that slides over an image and produces a feature map. The input is the image or, for a transposed
/// convolution, the map.
///
/// Shapes    image C×H×W, map K×P×Q, weights K×(C/groups)×R×S; weights of a transposed layer
///           C×(K/groups)×R×S.
struct convolution_windows {
  shape image, map;
  detail::sliding_window window;
  int groups = 1;
  bool transposed = false;
};

/// Order of axes and precision of a convolution's tensors.
struct convolution_variant {
  bool channels_last;
  product_precision products;

  bool is_narrow() const { return products == product_precision::bf16; }
  gpu_layout layout_of(shape const& dims) const;
};

/// Returns the variants in order of preference: f32 begins with channels first; TF32 and bf16 begin with
/// channels last, which is faster on tensor cores. The other variants are tried if cuDNN has no engine.
/// Source    NVIDIA, cuDNN Developer Guide: tensor cores read channels last.
std::vector<convolution_variant> variants_of(product_precision products);

/// One pass of a convolution: cuDNN's engine, and the steps before and after it. The weights of a transposed
/// layer are permuted. If no engine supports asymmetric padding, the image is padded before the pass, or its
/// gradient is cropped after it. The weights' gradient of a bf16 variant is computed in bf16 and converted to
/// f32.
///
/// Shapes    images, maps and weights are in the variant's layout; the weights' gradient is f32.
/// Before    run requires scratch_bytes() bytes at `scratch`.
/// Errors    no_convolution_engine naming `where`.
class convolution_on_gpu {
 public:
  convolution_on_gpu(gpu_target const& where, convolution_pass pass, convolution_windows const& windows,
                     int batch, std::string const& name, convolution_variant const& variant);

  std::size_t scratch_bytes() const;
  std::int64_t engine() const { return engine_->number(); }

  /// Enqueues the pass, which writes the tensor that the constructor's `pass` names.
  void run(void* image, void* weights, void* map, void* scratch) const;

 private:
  /// Replaces the convolution's padding with a padded copy of the image.
  void frame(convolution_extents& extents);
  std::size_t framed_bytes() const { return round_to_alignment(framed_ * (narrow_ ? 2 : 4)); }
  /// Returns the bytes of a copy of the weights in the engine's order and type; 0 if no copy is needed.
  std::size_t ordered_bytes() const;
  shared_stream on_;
  convolution_pass pass_;
  bool last_, narrow_, swaps_;
  bool widens_;                                       // converts the weights' gradient from bf16 to f32
  std::size_t weights_ = 0, image_ = 0, framed_ = 0;  // elements; framed_ 0: no padded copy
  kernels::size taps_ = 0, depth_ = 0, filters_ = 0;
  kernels::image_frame frame_{};
  std::optional<convolution_engine> engine_;
};

gpu_operation prepare_convolution(gpu_target const& where, gpu_request const& request,
                                  convolution_windows const& windows, double flops,
                                  convolution_variant const& variant);

/// Uses the first variant that has engines for all passes.
gpu_operation prepare_convolution(gpu_target const& where, gpu_request const& request,
                                  convolution_windows const& windows, double flops);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d const& layer);
/// Prepares a transposed convolution, whose forward is the backward-data of a convolution.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d_transposed const& layer);

}  // namespace cohort::detail
