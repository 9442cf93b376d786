// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cohort/backend/detail/thread_scope.hpp>
#include <cohort/onednn/detail/activation.hpp>
#include <cohort/onednn/detail/joining.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <cohort/onednn/detail/threads.hpp>
#include <cohort/onednn/detail/winograd.hpp>
#include <cohort/onednn/detail/winograd_simd.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Shape of a convolution on tiles of 4×4 input pixels. A tile yields 2×2 output pixels for a 3×3 kernel, and
/// 3×3 for a 2×2 kernel.
struct winograd_shape {
  int batch, channels, height, width;
  int filters, out_height, out_width;
  int kernel, top, left;

  int tile() const { return 5 - kernel; }
  int rows() const { return (out_height + tile() - 1) / tile(); }
  int columns() const { return (out_width + tile() - 1) / tile(); }
  int tiles() const { return batch * rows() * columns(); }
  /// Returns the number of multiplications of the direct convolution, divided by the number in Winograd's
  /// algorithm.
  double saving() const {
    return static_cast<double>(kernel * kernel) * out_height * out_width / (16.0 * rows() * columns());
  }
};

/// Runs a convolution chunk by chunk (transform of tiles, 16 matrix products, inverse transform), so that
/// intermediate values stay in a cache.
///
/// Shapes    products (16, chunk, channels) × (16, channels, filters); images channels last.
/// Order     thread t processes chunks t, t + threads, …, so results do not depend on scheduling. Each copy
///           of this object has separate memory objects.
class winograd_convolution {
 public:
  winograd_convolution(winograd_shape const& s, float slope, int chunk, int threads, dnnl_kernel products)
      : s_(s),
        slope_(slope),
        chunk_(chunk),
        threads_(threads),
        products_(std::move(products)),
        zeros_(static_cast<std::size_t>(std::max(s.channels, s.filters))) {}
  winograd_convolution(winograd_convolution const& other)
      : winograd_convolution(other.s_, other.slope_, other.chunk_, other.threads_, other.products_) {}
  winograd_convolution& operator=(winograd_convolution const&) = delete;

  std::size_t floats_of_thread() const { return in_floats() + out_floats() + scratchpad_floats(); }

  /// Arguments: input, weights transformed by winograd_weights, output, memory of all threads, and the bias
  /// if there is one.
  void operator()(std::span<void* const> a) {
    if (bound_.empty())
      for (int t = 0; t < threads_; ++t) {
        float* const thread_memory = memory_of(a, t);
        void* const addresses[]{thread_memory, a[1], thread_memory + in_floats(),
                                thread_memory + in_floats() + out_floats()};
        bound_.emplace_back(products_, addresses);
      }
    std::pair<winograd_convolution*, std::span<void* const>> all(this, a);
    auto const run = [](void* data) {
      auto const& [self, arguments] = *static_cast<decltype(all)*>(data);
      self->work(arguments, omp_get_thread_num(), omp_get_num_threads());
    };
    if (threads_ > 1)
      GOMP_parallel(run, &all, static_cast<unsigned>(threads_), 0);
    else
      work(a, 0, 1);
  }

 private:
  std::size_t in_floats() const { return std::size_t{16} * std::size_t(chunk_) * std::size_t(s_.channels); }
  std::size_t out_floats() const { return std::size_t{16} * std::size_t(chunk_) * std::size_t(s_.filters); }
  std::size_t scratchpad_floats() const {
    constexpr std::size_t scratchpad = 3;  // index among the products' arguments, if there is one
    if (products_.layouts.size() <= scratchpad) return 0;
    return round_to_alignment(products_.layouts[scratchpad].bytes()) / sizeof(float);
  }
  float* memory_of(std::span<void* const> a, int thread) const {
    return static_cast<float*>(a[3]) + static_cast<std::size_t>(thread) * floats_of_thread();
  }

  void work(std::span<void* const> a, int thread, int threads) {
    for (int first = thread * chunk_; first < s_.tiles(); first += threads * chunk_) {
      int const count = std::min(chunk_, s_.tiles() - first);
      float* const thread_memory = memory_of(a, thread);
      for (int t = 0; t < count; ++t)
        transform_input(static_cast<float const*>(a[0]), first + t,
                        thread_memory + std::size_t(t) * std::size_t(s_.channels));
      bound_[static_cast<std::size_t>(thread)]();
      float const* const products = thread_memory + in_floats();
      for (int t = 0; t < count; ++t)
        transform_output(static_cast<float*>(a[2]), first + t,
                         products + std::size_t(t) * std::size_t(s_.filters),
                         a.size() > 4 ? static_cast<float const*>(a[4]) : zeros_.data());
    }
  }
  void transform_input(float const* input, int tile, float* to) const {
    auto const [n, y, x] = position_of(tile);
    float const* pixels[16];
    for (int i = 0; i < 16; ++i) {
      int const h = y - s_.top + i / 4, w = x - s_.left + i % 4;
      bool const inside = h >= 0 && h < s_.height && w >= 0 && w < s_.width;
      pixels[i] =
          inside ? input + pixel(n, h, w, s_.height, s_.width) * std::size_t(s_.channels) : zeros_.data();
    }
    winograd_input(isa_, pixels, std::size_t(s_.channels), to,
                   std::size_t(chunk_) * std::size_t(s_.channels));
  }
  void transform_output(float* output, int tile, float const* from, float const* bias) const {
    auto const [n, y, x] = position_of(tile);
    float* pixels[9];
    int const side = s_.tile();
    for (int i = 0; i < side * side; ++i) {
      int const h = y + i / side, w = x + i % side;
      bool const inside = h < s_.out_height && w < s_.out_width;
      pixels[i] =
          inside ? output + pixel(n, h, w, s_.out_height, s_.out_width) * std::size_t(s_.filters) : nullptr;
    }
    std::size_t const step = std::size_t(chunk_) * std::size_t(s_.filters);
    if (side == 2)
      winograd_output<2>(isa_, from, step, bias, slope_, std::size_t(s_.filters), pixels);
    else
      winograd_output<3>(isa_, from, step, bias, slope_, std::size_t(s_.filters), pixels);
  }
  struct position {
    int n, y, x;  // position of a tile's first pixel in the output
  };
  position position_of(int tile) const {
    int const columns = s_.columns(), each = s_.rows() * columns;
    return {tile / each, tile % each / columns * s_.tile(), tile % columns * s_.tile()};
  }
  static std::size_t pixel(int n, int h, int w, int height, int width) {
    return (std::size_t(n) * std::size_t(height) + std::size_t(h)) * std::size_t(width) + std::size_t(w);
  }

  winograd_shape s_;
  float slope_;
  int chunk_;
  int threads_;
  dnnl_kernel products_;
  std::vector<float> zeros_;
  std::vector<dnnl_call> bound_;  // products of each thread
  isa isa_ = best_isa();
};

bool is_winograd(memory_layout const& from, memory_layout const& to) {
  auto const dims = to.dims();
  return from.dims().size() == 4 && dims.size() == 3 && dims[0] == 16;
}

dnnl_kernel winograd_weights(dnnl_engine_handle const& engine, memory_layout const& from,
                             memory_layout const& to) {
  auto const run = [engine, from, to](std::span<void* const> a) {
    auto const dims = from.dims();
    auto const filters = std::size_t(dims[0]), channels = std::size_t(dims[1]), r = std::size_t(dims[2]);
    std::vector<float> plain(filters * channels * r * r), made(16 * channels * filters);
    memory_layout const dense = memory_layout::dense(dims);
    void* const in[]{a[0], plain.data()};
    dnnl_call(reorder_kernel(engine, from, dense), in)();
    float const g[2][4][3]{{{1, 0, 0}, {0.5F, 0.5F, 0}, {0.5F, -0.5F, 0}, {0, 1, 0}},
                           {{1, 0, 0}, {0.5F, 0.5F, 0.5F}, {0.5F, -0.5F, 0.5F}, {0, 0, 1}}};
    auto const& G = g[r - 2];
    for (std::size_t k = 0; k < filters; ++k)
      for (std::size_t c = 0; c < channels; ++c) {
        float const* const w = plain.data() + (k * channels + c) * r * r;
        for (std::size_t i = 0; i < 16; ++i) {
          float sum = 0;
          for (std::size_t p = 0; p < r; ++p)
            for (std::size_t q = 0; q < r; ++q) sum += G[i / 4][p] * G[i % 4][q] * w[p * r + q];
          made[(i * channels + c) * filters + k] = sum;
        }
      }
    void* const out[]{made.data(), a[1]};
    dnnl_call(reorder_kernel(engine, memory_layout::dense(to.dims()), to), out)();
  };
  return host_function(run);
}

/// Returns the 16 matrix products of a chunk, for execution by a single thread; nothing if oneDNN has no
/// optimised implementation.
std::optional<dnnl_kernel> winograd_products(dnnl_engine_handle const& engine, winograd_shape const& s,
                                             int chunk) {
  thread_scope<onednn> const alone(1);
  auto const matrices = [&](int columns) { return memory_layout::dense({16, chunk, columns}); };
  auto const weights = memory_layout::tagged({16, s.channels, s.filters}, dnnl_f32);
  dnnl_attributes const plain;
  dnnl_primitive_desc_t created = nullptr;
  dnnl_matmul_primitive_desc_create(&created, engine.get(), matrices(s.channels).get(), weights.get(),
                                    nullptr, matrices(s.filters).get(), plain.get());
  dnnl_pd const pd(created);
  if (!is_optimised(pd)) return {};
  return invoke(engine, pd,
                {{operand_role::input, 0, DNNL_ARG_SRC},
                 {operand_role::parameter, 0, DNNL_ARG_WEIGHTS},
                 {operand_role::output, 0, DNNL_ARG_DST}})
      .kernel;
}

/// Returns the slope below 0 if the activation is a rectifier, 1 without an activation, nothing otherwise.
std::optional<float> slope_of_activation(operation_request<onednn> const& request) {
  if (!request.activation) return 1.0F;
  dnnl_activation const activation = activation_of(*request.activation, request.activation_fields);
  if (activation.forward == dnnl_eltwise_relu && activation.alpha >= 0 && activation.alpha <= 1)
    return activation.alpha;
  return {};
}

[[gnu::noinline]] std::optional<backend_operation<onednn>> prepare_winograd(
    dnnl_target const& on, operation_request<onednn> const& request, conv2d const& l) {
  constexpr int block = 16, fewest_channels = 32, fewest_tiles = 32;
  constexpr double least = 1.3;
  shape const in = request.input_shapes[0], out = request.output_shape;
  extent2 const kernel = l.kernel, stride = l.stride, dilation = l.dilation;
  bool const fits = !request.training && !request.sums && on.type == dnnl_f32 && l.groups == 1
                    && kernel.height == kernel.width && (kernel.width == 2 || kernel.width == 3)
                    && stride.height == 1 && stride.width == 1 && dilation.height == 1 && dilation.width == 1
                    && in[0] % block == 0 && out[0] % block == 0 && in[0] >= fewest_channels
                    && out[0] >= fewest_channels;
  auto const slope = slope_of_activation(request);
  if (!fits || !slope) return {};
  winograd_shape const s{request.batch,
                         in[0],
                         in[1],
                         in[2],
                         out[0],
                         out[1],
                         out[2],
                         kernel.width,
                         vertical_border(l.window(), in[1]).before,
                         horizontal_border(l.window(), in[2]).before};
  if (s.saving() < least || s.tiles() < fewest_tiles) return {};

  int const threads = omp_get_max_threads();
  constexpr int bytes_between = 768 << 10, fewest_in_chunk = 48;
  int const most = std::max(fewest_in_chunk, bytes_between / (16 * (in[0] + out[0]) * int(sizeof(float))));
  int const rounds = (s.tiles() + most * threads - 1) / (most * threads);
  int chunk = (s.tiles() + rounds * threads - 1) / (rounds * threads);
  auto products = winograd_products(on.engine, s, chunk);
  // gemm's order of summation depends on the size of its matrices, so the chunk size must not depend on the
  // number of threads.
  if (products && implementation_of(*products).starts_with("gemm")) {
    chunk = std::min(fewest_in_chunk, s.tiles());
    products = winograd_products(on.engine, s, chunk);
  }
  if (!products) return {};
  winograd_convolution const run(s, *slope, chunk, threads, *products);

  using enum operand_role;
  auto const image = [&](shape const& of) {
    return memory_layout::tagged(batched_dims(of, request.batch), dnnl_f32, dnnl_acdb);
  };
  auto const memory = static_cast<dnnl_dim_t>(run.floats_of_thread() * std::size_t(threads));
  shape const& weights = request.parameter_specs[0].dims;
  backend_operation<onednn> made;
  made.output = image(out);
  made.parameters.push_back(
      request.parameters[0].value_or(memory_layout::dense(batched_dims(weights.example(), weights[0]))));
  invocation<onednn> call{host_function(run),
                          {{input, 0, image(in)},
                           {parameter, 0, products->layouts[1]},
                           {output, 0, made.output},
                           {scratch, 0, memory_layout::dense({memory})}},
                          "winograd+" + implementation_of(*products),
                          l.flops(request.input_shapes) * request.batch};
  if (request.parameter_specs.size() > 1) {
    made.parameters.push_back(memory_layout::dense({out[0]}));
    call.operands.push_back({parameter, 1, made.parameters[1]});
  }
  made.forward.push_back(std::move(call));
  return made;
}

}  // namespace cohort::detail
