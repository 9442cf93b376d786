// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/convolution_engine.hpp>
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/conv2d_transposed.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

/// One pass of a convolution with what has to be done around cuDNN's engine: weights of a transposed layer change places, and
/// where no engine takes paddings that differ from side to side, the image is padded before, or its gradient cut out after.
///
/// Before    run: scratch memory of scratch_bytes.
/// Errors    backend_error naming `where`, if cuDNN has no engine.
class convolution_on_gpu {
 public:
  convolution_on_gpu(gpu_target const& where, convolution_pass pass, convolution_windows const& its,
                     int batch, std::string const& name)
      : on_(where.stream), pass_(pass), swaps_(its.transposed) {
    int const depth = its.image[0] / its.groups, filters = its.map[0] / its.groups;
    int const rows = its.window.size.height, columns = its.window.size.width;
    weights_ = elements_of({its.map[0], depth, rows, columns});
    taps_ = static_cast<kernels::size>(rows * columns);
    depth_ = static_cast<kernels::size>(depth);
    filters_ = static_cast<kernels::size>(filters);
    convolution_extents extents{its.image.batched(batch),
                                {its.map[0], depth, rows, columns},
                                its.map.batched(batch),
                                its.window.stride,
                                its.window.dilation,
                                vertical_border(its.window, its.image[1]),
                                horizontal_border(its.window, its.image[2])};
    engine_.emplace(where.dnn, pass, extents, where.products);
    if (!engine_->found() && !extents.is_symmetric()) {
      frame(extents);
      engine_.emplace(where.dnn, pass, extents, where.products);
    }
    if (!engine_->found()) engine_->refuse(name);
  }

  std::size_t scratch_bytes() const {
    std::size_t const workspace = engine_->workspace_bytes();
    return (workspace > 0 ? workspace + convolution_engine::workspace_alignment : 0) + framed_bytes()
           + swapped_bytes();
  }
  std::string implementation() const { return "cudnn:" + std::to_string(engine_->number()); }

  /// Puts it into the stream; the pass says which of the tensors is written.
  void run(float* image, float* weights, float* map, void* scratch) const {
    auto* at = static_cast<std::byte*>(scratch);
    float *whole = image, *ordered = weights;
    if (framed_bytes() > 0) whole = reinterpret_cast<float*>(std::exchange(at, at + framed_bytes()));
    if (swaps_) ordered = reinterpret_cast<float*>(std::exchange(at, at + swapped_bytes()));
    if (whole != image && pass_ != convolution_pass::input)
      on_->launch(kernels::frame_image{image, whole, frame_}, framed_);
    if (swaps_ && pass_ != convolution_pass::weights)
      on_->launch(kernels::swap_filters{weights, ordered, depth_, filters_, taps_}, weights_);
    engine_->run(whole, ordered, map, aligned(at));
    if (whole != image && pass_ == convolution_pass::input)
      on_->launch(kernels::unframe_image{whole, image, frame_}, image_);
    if (swaps_ && pass_ == convolution_pass::weights)
      on_->launch(kernels::swap_filters{ordered, weights, filters_, depth_, taps_}, weights_);
  }

 private:
  /// Moves the padding into the image.
  void frame(convolution_extents& its) {
    shape const image = its.input;
    its.input[2] += its.rows.before + its.rows.after;
    its.input[3] += its.columns.before + its.columns.after;
    frame_ = {static_cast<kernels::size>(image[2]),        static_cast<kernels::size>(image[3]),
              static_cast<kernels::size>(its.rows.before), static_cast<kernels::size>(its.columns.before),
              static_cast<kernels::size>(its.input[2]),    static_cast<kernels::size>(its.input[3])};
    its.rows = its.columns = {};
    image_ = elements_of(image);
    framed_ = elements_of(its.input);
  }
  std::size_t framed_bytes() const { return round_to_alignment(framed_ * sizeof(float)); }
  std::size_t swapped_bytes() const { return swaps_ ? round_to_alignment(weights_ * sizeof(float)) : 0; }
  static void* aligned(std::byte* at) {
    constexpr std::size_t to = convolution_engine::workspace_alignment;
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(at) + to - 1) / to * to);
  }

  shared_stream on_;
  convolution_pass pass_;
  bool swaps_;
  std::size_t weights_ = 0, image_ = 0, framed_ = 0;  // elements; framed_ 0: no padding of ours
  kernels::size taps_ = 0, depth_ = 0, filters_ = 0;
  kernels::image_frame frame_{};
  std::optional<convolution_engine> engine_;
};

[[gnu::noinline]] inline gpu_operation prepare_convolution(gpu_target const& where,
                                                           gpu_request const& request,
                                                           convolution_windows const& its, double flops) {
  using enum operand_role;
  shape const from = batched_input(request), to = batched_output(request);
  bool const has_bias = request.parameter_specs.size() > 1, back = its.transposed;
  gpu_operation made;
  made.output = to;
  for (parameter_spec const& spec : request.parameter_specs) made.parameters.push_back(spec.dims);
  shape const weights = made.parameters[0];
  auto const pass = [&](convolution_pass which) {
    return std::make_shared<convolution_on_gpu const>(where, which, its, request.batch, request.name);
  };
  channel_sums_on_gpu const sums(where.stream, to);
  kernels::size const channels = sums.terms().channels, area = sums.terms().area;

  auto const forward = pass(back ? convolution_pass::input : convolution_pass::output);
  gpu_operands operands{{input, 0, from},
                        {parameter, 0, weights},
                        {output, 0, to},
                        {scratch, 0, room_for(forward->scratch_bytes())}};
  if (has_bias) operands.push_back({parameter, 1, made.parameters[1]});
  made.forward.push_back({[=, on = where.stream, n = elements_of(to)](std::span<void* const> a) {
                            float *const x = tensor_at(a, 0), *const y = tensor_at(a, 2);
                            forward->run(back ? y : x, tensor_at(a, 1), back ? x : y, a[3]);
                            if (a.size() > 4)
                              on->launch(kernels::add_to_channels{tensor_at(a, 4), y, channels, area}, n);
                          },
                          std::move(operands), forward->implementation(), flops});
  if (!request.training) return made;

  if (!request.frozen) {
    auto const correlate = pass(convolution_pass::weights);
    made.backward.push_back({[=](std::span<void* const> a) {
                               float *const x = tensor_at(a, 0), *const dy = tensor_at(a, 1);
                               correlate->run(back ? dy : x, tensor_at(a, 2), back ? x : dy, a[3]);
                             },
                             {{input, 0, from},
                              {diff_output, 0, to},
                              {diff_parameter, 0, weights},
                              {scratch, 0, room_for(correlate->scratch_bytes())}},
                             correlate->implementation(),
                             flops});
  }
  if (has_bias && !request.frozen)
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           sums.run(kernels::channel_sums{sums.terms(), tensor_at(a, 0), static_cast<double*>(a[2])},
                    tensor_at(a, 1));
         },
         {{diff_output, 0, to},
          {diff_parameter, 1, made.parameters[1]},
          {scratch, 0, room_for(sums.scratch_bytes())}},
         "nvrtc",
         static_cast<double>(to.elements())});
  if (request.wants_diff_input[0]) {
    auto const data = pass(back ? convolution_pass::output : convolution_pass::input);
    made.backward.push_back({[=](std::span<void* const> a) {
                               float *const dx = tensor_at(a, 2), *const dy = tensor_at(a, 1);
                               data->run(back ? dy : dx, tensor_at(a, 0), back ? dx : dy, a[3]);
                             },
                             {{parameter, 0, weights},
                              {diff_output, 0, to},
                              {diff_input, 0, from},
                              {scratch, 0, room_for(data->scratch_bytes())}},
                             data->implementation(),
                             flops});
  }
  return made;
}

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d const& layer) {
  return prepare_convolution(where, request,
                             {request.input_shapes[0], request.output_shape, layer.window(), layer.groups},
                             layer.flops(request.input_shapes) * request.batch);
}
/// A sequence is an image of one row.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv1d const& layer) {
  return prepare_convolution(
      where, request,
      {conv1d::row(request.input_shapes[0]), conv1d::row(request.output_shape), layer.window(), layer.groups},
      layer.flops(request.input_shapes) * request.batch);
}
/// Forward is what a convolution does to the gradient of its output.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                             conv2d_transposed const& layer) {
  return prepare_convolution(
      where, request, {request.output_shape, request.input_shapes[0], layer.window(), layer.groups, true},
      layer.flops(request.input_shapes) * request.batch);
}

}  // namespace cohort::detail
