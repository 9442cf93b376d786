// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn.hpp>
#include <cohort/cudnn/detail/activation_on_gpu.hpp>
#include <cohort/cudnn/detail/attention_on_gpu.hpp>
#include <cohort/cudnn/detail/convolution_on_gpu.hpp>
#include <cohort/cudnn/detail/dense_on_gpu.hpp>
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>
#include <cohort/cudnn/detail/embedding_on_gpu.hpp>
#include <cohort/cudnn/detail/fused_on_gpu.hpp>
#include <cohort/cudnn/detail/joining_on_gpu.hpp>
#include <cohort/cudnn/detail/layer_norm_on_gpu.hpp>
#include <cohort/cudnn/detail/lrn_on_gpu.hpp>
#include <cohort/cudnn/detail/matrix_product.hpp>
#include <cohort/cudnn/detail/norm_on_gpu.hpp>
#include <cohort/cudnn/detail/pad_crop_slice_gpu.hpp>
#include <cohort/cudnn/detail/pooling_on_gpu.hpp>
#include <cohort/cudnn/detail/prelu_on_gpu.hpp>
#include <cohort/cudnn/detail/probe_convolution.hpp>
#include <cohort/cudnn/detail/random_on_gpu.hpp>
#include <cohort/cudnn/detail/recurrent_on_gpu.hpp>
#include <cohort/cudnn/detail/regression_on_gpu.hpp>
#include <cohort/cudnn/detail/scale_on_gpu.hpp>
#include <cohort/cudnn/detail/sequences_on_gpu.hpp>
#include <cohort/cudnn/detail/softmax_on_gpu.hpp>
#include <cohort/cudnn/detail/threshold_on_gpu.hpp>
#include <cohort/layer/layers.hpp>
#include <iterator>
#include <type_traits>

namespace cohort {

namespace detail {

/// Returns the function that prepares layers of kind `k`, if it is one of L...; otherwise null.
template <layer... L>
auto prepare_function_of(kind const& k) {
  gpu_operation (*found)(gpu_target const&, gpu_request const&) = nullptr;
  auto const look = [&]<layer One>(std::type_identity<One>) {
    if (k == kind_of<One>)
      found = [](gpu_target const& where, gpu_request const& request) {
        return prepare(where, request, decode<One>(request.fields));
      };
  };
  (look(std::type_identity<L>{}), ...);
  return found;
}

/// Returns whether the layer computes each step of a sequence independently.
bool runs_by_steps(kind const& k) {
  return k == kind_of<dense> || k == kind_of<concatenate> || k.name == prelu::kind_name
         || k.name == softmax::kind_name || k.name == subset::kind_name || k.name == scale::kind_name;
}

/// Returns whether an input is a sequence T×C that the layer's kernels would misread as C×T.
bool has_sequences(kind const& k, std::span<shape const> inputs) {
  bool const has_channels = runs_by_steps(k)
                            || k == kind_of<batch_norm> || k.name == synchronised_batch_norm::kind_name
                            || k.name == global_avg_pool::kind_name || k.name == global_max_pool::kind_name;
  return has_channels && std::ranges::any_of(inputs, [](shape const& one) { return one.rank == 2; });
}

/// Returns whether a layer for which has_sequences is true has kernels for sequences T×C.
bool has_sequence_kernels(kind const& k) {
  return k != kind_of<batch_norm> && k.name != synchronised_batch_norm::kind_name;
}

/// Prepares a layer with `by_channels`, its function for tensors with channels first. Adapts sequences T×C.
///
/// Errors    backend_error naming the layer, if it has no kernels for sequences.
gpu_operation prepare_with(gpu_operation (*by_channels)(gpu_target const&, gpu_request const&),
                           gpu_target const& where, gpu_request const& request) {
  kind const& k = *request.kind;
  if (!has_sequences(k, request.input_shapes)) return by_channels(where, request);
  if (!has_sequence_kernels(k))
    throw backend_error({.what = "the GPU backends have no kernels for this layer on sequences",
                         .where = request.name,
                         .expected = "a backend of the processor: priority<cudnn, onednn>",
                         .got = {k.name, " on ", to_string(request.input_shapes[0])}});
  if (!runs_by_steps(k)) return prepare_pool_of_steps(where, request, k.name == global_max_pool::kind_name);
  steps_as_examples const steps(request);
  return steps.on_sequences(by_channels(where, steps.request()));
}

}  // namespace detail

availability cudnn::probe() { return probe(detail::system_libraries(), io::cache_folder("kernels")); }

availability cudnn::probe(detail::library_source const& from, std::string const& cache) {
  return probe(from, cache, detail::product_precision::f32);
}

std::shared_ptr<arena_passes> cudnn::passes() const {
  return std::make_shared<detail::sharing_passes_on_gpu>(stream_);
}

bool cudnn::fuses(kind const& layer, kind const& follower, bool training) const {
  return detail::fuses_on_gpu(layer, follower, training);
}

cudnn::kernel cudnn::reorder(layout const& from, layout const& to) const {
  return detail::reorder_on_gpu(stream_, from, to);
}

cudnn::kernel cudnn::accumulate(layout const& l) const {
  return [on = stream_, l](std::span<void* const> a) {
    on->launch(detail::kernels::add_to{detail::values_at(a, 0, l), detail::values_at(a, 1, l)}, l.elements());
  };
}

basic_operation<cudnn::kernel, cudnn::layout> cudnn::prepare(basic_request<layout> const& request) const {
  return detail::prepare_with(kernels_of(*request.kind), on_, request);
}

basic_operation<cudnn::kernel, cudnn::layout> cudnn::prepare(basic_request<layout> const& request,
                                                             tuning& by) const {
  detail::gpu_target timed = on_;
  timed.tune = &by;
  return detail::prepare_with(kernels_of(*request.kind), timed, request);
}

cudnn::cudnn(std::shared_ptr<detail::compute_stream> on, detail::product_precision products)
    : stream_(std::move(on)),
      on_{stream_, std::make_shared<detail::blas_on_gpu>(stream_),
          std::make_shared<detail::dnn_on_gpu>(stream_), products} {}

availability cudnn::probe(detail::library_source const& from, std::string const& cache,
                          detail::product_precision products) try {
  auto const found = std::make_shared<detail::gpu>(from);
  if (products != detail::product_precision::f32) found->require_tensor_cores(detail::name_of(products));
  return detail::probe_convolution(std::make_shared<detail::compute_stream>(found, cache), products);
} catch (error const& why) {
  return {false, why.what()};
}

bool cudnn::supports(kind const& k, std::span<shape const> inputs, shape const& output) {
  bool const joins = k == kind_of<add> || k == kind_of<multiply>;
  return supports(k) && (detail::has_sequence_kernels(k) || !detail::has_sequences(k, inputs))
         && (!joins || std::ranges::count(inputs, output) == std::ssize(inputs));
}

cudnn::prepare_function cudnn::kernels_of(kind const& k) {
  return detail::prepare_function_of<
      conv2d, conv2d_transposed, dense, batch_norm, synchronised_batch_norm, layer_norm, lrn, max_pool,
      avg_pool, global_avg_pool, global_max_pool, upsampling, relu, leaky_relu, prelu, relu6, elu, selu,
      sigmoid, hard_sigmoid, tanh_activation, hard_tanh, softplus, softsign, swish, gelu, gelu_tanh, mish,
      identity_activation, softmax, add, multiply, average, maximum, concatenate, subset, scale, zero_padding,
      cropping, reshape, flatten, embedding, dropout, spatial_dropout, gaussian_noise, zero_masked,
      learned_positions, sinusoidal_positions, rms_norm, simple_rnn, lstm, gru, recurrent_output, attention,
      softmax_cross_entropy, kullback_leibler, binary_cross_entropy, mean_squared_error, mean_absolute_error,
      huber, hinge>(k);
}

}  // namespace cohort
