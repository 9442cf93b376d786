// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/convolution_on_gpu.hpp>
#include <cohort/cudnn/detail/fused_on_gpu.hpp>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace cohort::detail {

gpu_layout convolution_variant::layout_of(shape const& dims) const {
  return {dims, channels_last, is_narrow() ? element_type::bf16 : element_type::f32};
}

std::vector<convolution_variant> variants_of(product_precision products) {
  using enum product_precision;
  switch (products) {
    case f32:
      return {{false, f32}, {true, f32}};
    case tf32:
      return {{true, tf32}, {false, tf32}};
    default:
      return {{true, bf16}, {false, bf16}, {true, f32}, {false, f32}};
  }
}

convolution_on_gpu::convolution_on_gpu(gpu_target const& where, convolution_pass pass,
                                       convolution_windows const& windows, int batch, std::string const& name,
                                       convolution_variant const& variant)
    : on_(where.stream),
      pass_(pass),
      last_(variant.channels_last),
      narrow_(variant.is_narrow()),
      swaps_(windows.transposed),
      widens_(narrow_ && pass == convolution_pass::weights) {
  int const depth = windows.image[0] / windows.groups, filters = windows.map[0] / windows.groups;
  int const rows = windows.window.size.height, columns = windows.window.size.width;
  weights_ = elements_of({windows.map[0], depth, rows, columns});
  taps_ = static_cast<kernels::size>(rows * columns);
  depth_ = static_cast<kernels::size>(depth);
  filters_ = static_cast<kernels::size>(filters);
  convolution_extents extents{windows.image.batched(batch),
                              {windows.map[0], depth, rows, columns},
                              windows.map.batched(batch),
                              windows.window.stride,
                              windows.window.dilation,
                              vertical_border(windows.window, windows.image[1]),
                              horizontal_border(windows.window, windows.image[2]),
                              last_,
                              narrow_};
  engine_.emplace(where.dnn, pass_, extents, variant.products, where.tune);
  if (!engine_->found() && !extents.is_symmetric()) {
    frame(extents);
    engine_.emplace(where.dnn, pass_, extents, variant.products, where.tune);
  }
  if (!engine_->found()) engine_->refuse(name);
}

std::size_t convolution_on_gpu::scratch_bytes() const {
  std::size_t const workspace = engine_->workspace_bytes();
  return (workspace > 0 ? workspace + convolution_engine::workspace_alignment : 0) + framed_bytes()
         + ordered_bytes();
}

void convolution_on_gpu::run(void* image, void* weights, void* map, void* scratch) const {
  auto* at = static_cast<std::byte*>(scratch);
  void *whole = image, *ordered = weights;
  if (framed_bytes() > 0) whole = std::exchange(at, at + framed_bytes());
  if (ordered_bytes() > 0) ordered = std::exchange(at, at + ordered_bytes());
  bool const gives_weights = pass_ == convolution_pass::weights;
  kernels::values const framed{whole, narrow_}, given{image, narrow_};
  if (whole != image && pass_ != convolution_pass::input)
    on_->launch(kernels::frame_image{given, framed, frame_}, framed_);
  if (swaps_ && !gives_weights)
    on_->launch(kernels::swap_filters{{weights, narrow_}, {ordered, narrow_}, depth_, filters_, taps_, last_},
                weights_);
  engine_->run(whole, ordered, map, convolution_engine::aligned(at));
  if (whole != image && pass_ == convolution_pass::input)
    on_->launch(kernels::unframe_image{framed, given, frame_}, image_);
  if (swaps_ && gives_weights)
    on_->launch(kernels::swap_filters{{ordered, widens_}, {weights, false}, filters_, depth_, taps_, last_},
                weights_);
  else if (widens_)
    on_->launch(kernels::convert{{ordered, true}, {weights, false}}, weights_);
}

void convolution_on_gpu::frame(convolution_extents& extents) {
  shape const image = extents.input;
  extents.input[2] += extents.rows.before + extents.rows.after;
  extents.input[3] += extents.columns.before + extents.columns.after;
  frame_ = {static_cast<kernels::size>(image[2]),
            static_cast<kernels::size>(image[3]),
            static_cast<kernels::size>(extents.rows.before),
            static_cast<kernels::size>(extents.columns.before),
            static_cast<kernels::size>(extents.input[2]),
            static_cast<kernels::size>(extents.input[3]),
            last_ ? static_cast<kernels::size>(image[1]) : 1};
  extents.rows = extents.columns = {};
  image_ = elements_of(image);
  framed_ = elements_of(extents.input);
}

std::size_t convolution_on_gpu::ordered_bytes() const {
  return swaps_ || widens_ ? round_to_alignment(weights_ * (narrow_ ? 2 : 4)) : 0;
}

gpu_operation prepare_convolution(gpu_target const& where, gpu_request const& request,
                                  convolution_windows const& windows, double flops,
                                  convolution_variant const& variant) {
  using enum operand_role;
  gpu_layout const from = variant.layout_of(batched_input(request)),
                   to = variant.layout_of(batched_output(request)),
                   weights = variant.layout_of(request.parameter_specs[0].dims),
                   parameters_layout(weights.dims, variant.channels_last, element_type::f32);
  bool const has_bias = request.parameter_specs.size() > 1, back = windows.transposed;
  gpu_operation made;
  made.output = to;
  made.parameters.push_back(parameters_layout);
  if (has_bias) made.parameters.push_back(request.parameter_specs[1].dims);
  auto const pass = [&](convolution_pass which) {
    return std::make_shared<convolution_on_gpu const>(where, which, windows, request.batch, request.name,
                                                      variant);
  };
  auto const named = [&](convolution_on_gpu const& one) {
    return where.implementation("cudnn:" + std::to_string(one.engine()));
  };
  channel_sums_on_gpu const sums(where.stream, to);

  auto const forward = pass(back ? convolution_pass::input : convolution_pass::output);
  fused_epilogue const epilogue(request);
  gpu_operands operands{{input, 0, from},
                        {parameter, 0, weights},
                        {output, 0, to},
                        {scratch, 0, shape_for_bytes(forward->scratch_bytes())}};
  std::size_t const bias = operands.size(), summand = bias + (has_bias ? 1 : 0);
  if (has_bias) operands.push_back({parameter, 1, made.parameters[1]});
  if (epilogue.sums) operands.push_back({input, static_cast<int>(request.inputs.size()) - 1, to});
  made.forward.push_back(
      {[=, on = where.stream](std::span<void* const> a) {
         forward->run(a[back ? 2 : 0], a[1], a[back ? 0 : 2], a[3]);
         if (!has_bias && !epilogue.sums && !epilogue.rectifies()) return;
         on->launch(kernels::add_and_rectify{has_bias ? tensor_at(a, bias) : nullptr,
                                             epilogue.sums ? values_at(a, summand, to) : nullptr,
                                             values_at(a, 2, to), epilogue.slope, to.channels(), to.area()},
                    to.elements());
       },
       std::move(operands), named(*forward), flops});
  if (!request.training) return made;
  add_epilogue_backward(made, where.stream, request, epilogue);

  if (!request.frozen) {
    auto const correlate = pass(convolution_pass::weights);
    made.backward.push_back(
        {[=](std::span<void* const> a) { correlate->run(a[back ? 1 : 0], a[2], a[back ? 0 : 1], a[3]); },
         {{input, 0, from},
          {diff_output, 0, to},
          {diff_parameter, 0, parameters_layout},
          {scratch, 0, shape_for_bytes(correlate->scratch_bytes())}},
         named(*correlate),
         flops});
  }
  if (has_bias && !request.frozen)
    made.backward.push_back(
        {[=](std::span<void* const> a) { sums.sum(values_at(a, 0, to), a[2], tensor_at(a, 1)); },
         {{diff_output, 0, to},
          {diff_parameter, 1, made.parameters[1]},
          {scratch, 0, shape_for_bytes(sums.scratch_bytes())}},
         "nvrtc",
         static_cast<double>(to.elements())});
  if (request.wants_diff_input[0]) {
    auto const data = pass(back ? convolution_pass::output : convolution_pass::input);
    made.backward.push_back(
        {[=](std::span<void* const> a) { data->run(a[back ? 1 : 2], a[0], a[back ? 2 : 1], a[3]); },
         {{parameter, 0, weights},
          {diff_output, 0, to},
          {diff_input, 0, from},
          {scratch, 0, shape_for_bytes(data->scratch_bytes())}},
         named(*data),
         flops});
  }
  return made;
}

[[gnu::noinline]] gpu_operation prepare_convolution(gpu_target const& where, gpu_request const& request,
                                                    convolution_windows const& windows, double flops) {
  std::exception_ptr refused;
  for (convolution_variant const& variant : variants_of(where.products)) {
    try {
      return prepare_convolution(where, request, windows, flops, variant);
    } catch (no_convolution_engine const&) {
      if (!refused) refused = std::current_exception();
    }
  }
  std::rethrow_exception(refused);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d const& layer) {
  return prepare_convolution(where, request,
                             {request.input_shapes[0], request.output_shape, layer.window(), layer.groups},
                             layer.flops(request.input_shapes) * request.batch);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, conv2d_transposed const& layer) {
  return prepare_convolution(
      where, request, {request.output_shape, request.input_shapes[0], layer.window(), layer.groups, true},
      layer.flops(request.input_shapes) * request.batch);
}

}  // namespace cohort::detail
