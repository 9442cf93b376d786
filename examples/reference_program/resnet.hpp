// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/graph/network.hpp>
#include <string>

namespace reference_program {

/// Extents of a residual network with bottleneck blocks.
struct resnet_size {
  int side;     ///< height and width of the images, which have three channels
  int classes;  ///< number of classes
  std::array<int, 4> blocks;
};

inline constexpr resnet_size resnet50_size{224, 1000, {3, 4, 6, 3}};

/// The network of He, Zhang, Ren and Sun, CVPR 2016, with the stride in the 3×3 convolution ("v1.5"). Layers
/// have the names of torchvision's module: "layer1.0.conv1", "layer1.0.downsample.0". See
/// examples/torchvision_resnet.map.
inline cohort::graph resnet(resnet_size const& size) {
  using namespace cohort;
  return graph::build([&](builder& net) {
    auto const convolution = [](int filters, int kernel, int stride, std::string const& conv,
                                std::string const& norm) {
      return [=](tensor x) {
        return x
               | conv2d{.filters = filters,
                        .kernel = kernel,
                        .stride = stride,
                        .padding = kernel / 2,
                        .bias = false,
                        .name = conv}
               | batch_norm{.name = norm};
      };
    };
    tensor x = net.input({3, size.side, size.side}) | convolution(64, 7, 2, "conv1", "bn1") | relu{}
               | max_pool{.window = 3, .stride = 2, .padding = 1};
    for (int stage = 0; stage < 4; ++stage)
      for (int block = 0; block < size.blocks[static_cast<std::size_t>(stage)]; ++block) {
        std::string const at = "layer" + std::to_string(stage + 1) + '.' + std::to_string(block) + '.';
        int const filters = 64 << stage, stride = stage > 0 && block == 0 ? 2 : 1;
        tensor const body = x | convolution(filters, 1, 1, at + "conv1", at + "bn1") | relu{}
                            | convolution(filters, 3, stride, at + "conv2", at + "bn2") | relu{}
                            | convolution(4 * filters, 1, 1, at + "conv3", at + "bn3");
        tensor const skipped =
            block > 0 ? x : x | convolution(4 * filters, 1, stride, at + "downsample.0", at + "downsample.1");
        x = (body + skipped) | relu{};
      }
    x | global_avg_pool{} | dense{.units = size.classes, .name = "fc"} | softmax_cross_entropy{};
  });
}

}  // namespace reference_program
