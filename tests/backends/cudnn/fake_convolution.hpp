// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <set>

#include "fake_description.hpp"

/// Sizes and strides of the loops over the products of a convolution.
struct fake_convolution_loops {
  std::int64_t batch, channels, rows, columns, filters, depth, high, wide, down, along;
  std::int64_t step[2], dilation[2], before[2];
  std::array<std::int64_t, 4> of_input, of_weights, of_output;  // strides

  static std::int64_t place(std::array<std::int64_t, 4> const& strides, std::int64_t a, std::int64_t b,
                            std::int64_t c, std::int64_t d) {
    return a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3];
  }

  /// Calls visit(input element, weight, output element) for each product.
  template <class Visit>
  void each_product(Visit visit) const {
    std::int64_t const group = filters / (channels / depth);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t k = 0; k < filters; ++k)
        for (std::int64_t p = 0; p < down; ++p)
          for (std::int64_t q = 0; q < along; ++q)
            for (std::int64_t c = 0; c < depth; ++c)
              for (std::int64_t r = 0; r < high; ++r)
                for (std::int64_t s = 0; s < wide; ++s) {
                  std::int64_t const h = p * step[0] + r * dilation[0] - before[0];
                  std::int64_t const v = q * step[1] + s * dilation[1] - before[1];
                  if (h >= 0 && h < rows && v >= 0 && v < columns)
                    visit(place(of_input, n, k / group * depth + c, h, v), place(of_weights, k, c, r, s),
                          place(of_output, n, k, p, q));
                }
  }
};

/// One pass of a convolution, as its operation descriptor defines it.
struct fake_convolution {
  fake_description *input = nullptr, *weights = nullptr, *output = nullptr, *moving = nullptr;
  fake_description* written = nullptr;
  float alpha = 0, beta = 1;

  explicit fake_convolution(fake_description& of) {
    auto const tensor = [&](cudnnBackendAttributeName_t name) {
      return of.other(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    };
    auto const window = [&](cudnnBackendAttributeName_t name) {
      return of.other(name, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    };
    if (of.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
      input = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
      weights = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
      written = output = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
      moving = window(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
      alpha = of.scalars.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
      beta = of.scalars.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
    } else if (of.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
      written = input = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
      weights = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
      output = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
      moving = window(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
      alpha = of.scalars.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
      beta = of.scalars.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
    } else {
      input = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
      written = weights = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
      output = tensor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
      moving = window(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
      alpha = of.scalars.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
      beta = of.scalars.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
    }
  }
  static std::int64_t extent(fake_description const* of, std::size_t axis) {
    return of->at(CUDNN_ATTR_TENSOR_DIMENSIONS, axis);
  }
  std::int64_t before(std::size_t axis) const {
    return moving->at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, axis);
  }
  std::int64_t after(std::size_t axis) const {
    return moving->at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, axis);
  }
  std::int64_t step(std::size_t axis) const {
    return moving->at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, axis);
  }
  std::int64_t dilation(std::size_t axis) const { return moving->at(CUDNN_ATTR_CONVOLUTION_DILATIONS, axis); }

  bool fits() const {
    if (!input || !weights || !output || !moving) return false;
    std::int64_t const channels = extent(input, 1), depth = extent(weights, 1), filters = extent(weights, 0);
    bool fit = extent(input, 0) == extent(output, 0) && extent(output, 1) == filters && channels % depth == 0
               && filters % (channels / depth) == 0;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      std::int64_t const reach = (extent(weights, axis + 2) - 1) * dilation(axis) + 1;
      std::int64_t const room = extent(input, axis + 2) + before(axis) + after(axis) - reach;
      fit = fit && room >= 0 && extent(output, axis + 2) == room / step(axis) + 1;
    }
    std::set<std::int64_t> ids;
    for (fake_description const* one : {input, weights, output})
      ids.insert(one->at(CUDNN_ATTR_TENSOR_UNIQUE_ID));
    return fit && ids.size() == 3;
  }
  static bool is_narrow(fake_description const* of) {
    return of->at(CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_BFLOAT16;
  }
  bool has_narrow() const { return is_narrow(input) || is_narrow(weights); }
  bool mixes_types() const { return is_narrow(input) != is_narrow(weights); }
  /// Whether the order of channels matters for a tensor.
  static bool has_an_order(fake_description const* of) {
    return extent(of, 1) > 1 && extent(of, 2) * extent(of, 3) > 1;
  }
  bool has_an_order() const { return has_an_order(input) || has_an_order(weights) || has_an_order(output); }
  bool is_channels_last() const {
    auto const lies_last = [](fake_description const* of) {
      return has_an_order(of) && of->at(CUDNN_ATTR_TENSOR_STRIDES, 1) == 1;
    };
    return lies_last(input) || lies_last(weights) || lies_last(output);
  }
  bool is_symmetric() const { return before(0) == after(0) && before(1) == after(1); }

  fake_convolution_loops loops() const {
    return {extent(input, 0),       extent(input, 1),   extent(input, 2),   extent(input, 3),
            extent(weights, 0),     extent(weights, 1), extent(weights, 2), extent(weights, 3),
            extent(output, 2),      extent(output, 3),  {step(0), step(1)}, {dilation(0), dilation(1)},
            {before(0), before(1)}, strides(input),     strides(weights),   strides(output)};
  }
  static std::array<std::int64_t, 4> strides(fake_description const* of) {
    std::array<std::int64_t, 4> all{};
    for (std::size_t axis = 0; axis < 4; ++axis) all[axis] = of->at(CUDNN_ATTR_TENSOR_STRIDES, axis);
    return all;
  }
  static std::int64_t elements(fake_description const& tensor) {
    std::int64_t product = 1;
    for (std::int64_t const one : tensor.numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS)) product *= one;
    return product;
  }
};
