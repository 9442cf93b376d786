// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/cudnn/detail/convolution_on_gpu.hpp>
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>
#include <cohort/cudnn/detail/probe_convolution.hpp>
#include <cohort/tensor/buffer.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

availability probe_convolution(std::shared_ptr<compute_stream> const& on, product_precision products) {
  auto const dnn = std::make_shared<dnn_on_gpu>(on);
  constexpr int side = 4, kernel = 3, result = side - kernel + 1, channels = 8, taps = kernel * kernel;
  shape const image{1, channels, side, side}, filters{channels, channels, kernel, kernel},
      map{1, channels, result, result};
  convolution_variant variant{};
  std::optional<convolution_engine> engine;
  for (convolution_variant const& one : variants_of(products)) {
    if (one.products != products || (engine && engine->found())) continue;
    variant = one;
    engine.emplace(dnn, convolution_pass::output,
                   convolution_extents{.input = image,
                                       .weights = filters,
                                       .output = map,
                                       .stride = 1,
                                       .dilation = 1,
                                       .rows = {},
                                       .columns = {},
                                       .channels_last = variant.channels_last,
                                       .narrow = variant.is_narrow()},
                   products);
  }
  if (!engine->found()) engine->refuse("a 3x3 kernel on 4x4 elements");
  // The values are integers that bf16 represents exactly.
  std::vector<float> x(elements_of(image)), w(elements_of(filters)), wanted(elements_of(map)), got(wanted);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i % 5) - 2);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i % 7 % 3) - 1);
  for (int o = 0; o < static_cast<int>(wanted.size()); ++o)
    for (int t = 0; t < channels * taps; ++t) {
      int const row = o / result % result + t % taps / kernel, column = o % result + t % kernel;
      wanted[static_cast<std::size_t>(o)] +=
          w[static_cast<std::size_t>(o / result / result * channels * taps + t)]
          * x[static_cast<std::size_t>((t / taps * side + row) * side + column)];
    }
  auto const space = std::static_pointer_cast<memory_space>(on);
  auto const move = [&](gpu_layout const& from, buffer const& source, gpu_layout const& to,
                        buffer const& target) {
    void* const addresses[]{source.data(), target.data()};
    reorder_on_gpu(on, from, to)(addresses);
  };
  auto const upload = [&](shape const& dims, std::vector<float> const& values) {
    buffer const dense(values.size() * sizeof(float), space);
    buffer made(variant.layout_of(dims).bytes(), space);
    on->upload(values.data(), dense.data(), dense.bytes());
    move(dims, dense, variant.layout_of(dims), made);
    return made;
  };
  buffer const from = upload(image, x), weights = upload(filters, w), to = upload(map, got),
               workspace(engine->workspace_bytes(), space), dense(got.size() * sizeof(float), space);
  engine->run(from.data(), weights.data(), to.data(), workspace.data());
  move(variant.layout_of(map), to, map, dense);
  on->download(dense.data(), got.data(), dense.bytes());
  for (std::size_t o = 0; o < got.size(); ++o)
    if (!(std::abs(got[o] - wanted[o]) < 1e-3F))  // engines may round differently, for example Winograd's
      return {false, "a convolution gives wrong results on " + on->device().name()};
  return {true, "", on->device().name()};
}

}  // namespace cohort::detail
