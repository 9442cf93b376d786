// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "row.hpp"

namespace operations {

/// A user-defined layer with its own kernels: gain·x + bend·x², with one gain per channel.
struct bent {
  static constexpr std::string_view kind_name = "bent";

  double bend = 0.1;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"bend", &bent::bend}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list;
    list.add({"gain", {inputs[0][0]}, parameter_role::weights, 1, 1, init::uniform{1.0}});
    return list;
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    each(a, [&](std::size_t i, std::size_t c) {
      T const x = a.inputs[0][i];
      a.output[i] = a.parameters[0][c] * x + static_cast<T>(bend) * x * x;
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (int c = 0; c < a.output_shape[0]; ++c) a.diff_parameters[0][c] = 0;
    each(a, [&](std::size_t i, std::size_t c) {
      T const x = a.inputs[0][i];
      a.diff_parameters[0][c] += a.diff_output[i] * x;
      if (a.diff_inputs[0])
        a.diff_inputs[0][i] = a.diff_output[i] * (a.parameters[0][c] + static_cast<T>(2 * bend) * x);
    });
  }

 private:
  template <class T, class Visit>
  static void each(host_arguments<T> const& a, Visit visit) {
    auto const channels = static_cast<std::size_t>(a.output_shape[0]);
    std::size_t const area = static_cast<std::size_t>(a.output_shape.elements()) / channels;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.batch) * channels * area; ++i)
      visit(i, i / area % channels);
  }
};

inline constexpr row basic[]{
    {"rung_01_dense",
     [](builder& net, draw& d) {
       int const inputs = d.between(1, 70), units = d.between(1, 40);
       return net.input({inputs}) | dense{.units = units};
     }},
    {"rung_02_dense_without_bias",
     [](builder& net, draw& d) {
       return net.input({9}) | dense{.units = d.between(1, 20)} | dense{.units = 7, .bias = false};
     }},
    {"rung_03_dense_on_an_image",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 20), 5, 4}) | dense{.units = 11} | dense{.units = 6};
     }},
    {"rung_04_dense_and_relu",
     [](builder& net, draw& d) {
       return net.input({d.between(2, 30)}) | dense{.units = 33} | relu{} | dense{.units = 17}
              | leaky_relu{.slope = 0.3};
     }},
    {"rung_05_conv2d",
     [](builder& net, draw& d) {
       int const channels = d.between(1, 5), filters = d.between(1, 20);
       return image(net, {channels, 7, 9}) | conv2d{.filters = filters, .kernel = 3};
     }},
    {"rung_06_conv2d_first_of_all",
     [](builder& net, draw& d) {
       int const channels = d.between(1, 4), filters = d.between(1, 24);
       return net.input({channels, 8, 8}) | conv2d{.filters = filters, .kernel = 5};
     }},
    {"rung_07_conv2d_without_bias",
     [](builder& net, draw& d) {
       return image(net, {3, 6, 6}) | conv2d{.filters = d.between(1, 9), .kernel = 2, .bias = false};
     }},
    {"rung_08_conv2d_with_a_stride",
     [](builder& net, draw& d) {
       extent2 const stride{d.between(1, 3), d.between(2, 3)};
       return image(net, {3, 12, 11}) | conv2d{.filters = 6, .kernel = {3, 5}, .stride = stride};
     }},
    {"rung_09_conv2d_with_padding_on_each_side",
     [](builder& net, draw& d) {
       padding const sides(d.between(0, 2), d.between(0, 2), d.between(0, 2), d.between(0, 2));
       return image(net, {4, 7, 6}) | conv2d{.filters = 5, .kernel = 3, .stride = 2, .padding = sides};
     }},
    {"rung_10_conv2d_same_with_even_kernels",
     [](builder& net, draw& d) {
       int const filters = d.between(2, 18);
       return image(net, {3, 9, 8}) | conv2d{.filters = filters, .kernel = 4, .padding = padding::same}
              | conv2d{.filters = 5, .kernel = 2, .stride = 2, .padding = padding::same};
     }},
    {"rung_11_conv2d_of_odd_and_of_many_channels",
     [](builder& net, draw& d) {
       int const channels = 2 * d.between(8, 18) + 1;
       return image(net, {channels, 5, 5}) | conv2d{.filters = 35, .kernel = 3, .padding = 1} | relu{}
              | conv2d{.filters = channels, .kernel = 1};
     }},
    {"rung_12_conv2d_and_leaky_relu",
     [](builder& net, draw& d) {
       return image(net, {3, 6, 6}) | conv2d{.filters = d.between(1, 19), .kernel = 3}
              | leaky_relu{.slope = 0.2};
     }},
    {"rung_13_max_pool",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 7, 6}) | max_pool{.window = 2};
     }},
    {"rung_14_max_pool_with_overlapping_windows",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 17), 8, 9}) | max_pool{.window = 3, .stride = 2};
     }},
    {"rung_15_max_pool_with_padding",
     [](builder& net, draw& d) {
       padding const sides(d.between(0, 1), 1, d.between(0, 2), 0);
       return image(net, {5, 7, 7}) | max_pool{.window = 3, .stride = {2, 1}, .padding = sides};
     }},
    {"rung_16_max_pool_same",
     [](builder& net, draw& d) {
       return image(net, {4, d.between(4, 9), 7})
              | max_pool{.window = {2, 3}, .stride = 2, .padding = padding::same};
     }},
    {"rung_17_relu_before_a_max_pool",
     [](builder& net, draw& d) {
       return image(net, {3, 10, 10}) | conv2d{.filters = d.between(1, 18), .kernel = 3} | relu{}
              | max_pool{.window = 2} | leaky_relu{} | max_pool{.window = 2};
     }},
    {"rung_18_relu_read_by_a_max_pool_and_another",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 9), 6, 6}) | relu{};
       tensor const pooled = x | max_pool{.window = 3, .stride = 1, .padding = 1};
       return pooled + x;
     }},
    {"rung_19_two_relus_on_one_value",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 9), 4, 5});
       tensor const a = x | relu{}, b = x | leaky_relu{.slope = 0.5};
       return concat(a, b);
     }},
    {"rung_20_add_two",
     [](builder& net, draw& d) {
       tensor const x = image(net, {3, 6, 6});
       int const filters = d.between(1, 20);
       tensor const a = x | conv2d{.filters = filters, .kernel = 3};
       tensor const b = x | conv2d{.filters = filters, .kernel = 2} | max_pool{.window = 2, .stride = 1};
       return (a + b) | relu{};
     }},
    {"rung_21_add_three_vectors",
     [](builder& net, draw& d) {
       tensor const x = net.input({d.between(1, 12)});
       tensor const a = x | dense{.units = 21}, b = x | dense{.units = 21} | relu{},
                    c = x | dense{.units = 21};
       return join(add{}, a, b, c);
     }},
    {"rung_22_add_a_value_to_itself",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 20), 3, 3});
       return join(add{}, x, x, x) | conv2d{.filters = 4, .kernel = 2};
     }},
    {"rung_23_concatenate_odd_channels",
     [](builder& net, draw& d) {
       tensor const x = image(net, {5, 6, 6});
       int const one = d.between(1, 9), two = d.between(1, 19);
       tensor const a = x | conv2d{.filters = one, .kernel = 3, .padding = 1} | relu{};
       tensor const b = x | conv2d{.filters = two, .kernel = 1};
       return concat(a, x, b) | conv2d{.filters = 7, .kernel = 2};
     }},
    {"rung_24_concatenate_whole_blocks",
     [](builder& net, draw& d) {
       tensor const x = image(net, {16, 5, 5});
       tensor const y = x | conv2d{.filters = 16 * d.between(1, 2), .kernel = 3, .padding = 1} | relu{};
       return concat(x, y) | conv2d{.filters = 16, .kernel = 3};
     }},
    {"rung_25_concatenate_vectors_and_one_of_them_twice",
     [](builder& net, draw& d) {
       tensor const x = net.input({6});
       tensor const a = x | dense{.units = d.between(1, 9)}, b = x | dense{.units = 5} | relu{};
       return concat(a, b, a) | dense{.units = 8};
     }},
    {"rung_26_a_value_read_by_three",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 18), 6, 6}) | relu{};
       tensor const a = x | conv2d{.filters = 6, .kernel = 3}, b = x | conv2d{.filters = 6, .kernel = 3};
       tensor const c = x | max_pool{.window = 6} | dense{.units = 6};
       return concat(a | dense{.units = 3}, b | max_pool{.window = 2} | dense{.units = 2}, c);
     }},
    {"rung_27_residual_blocks",
     [](builder& net, draw& d) {
       int const width = d.between(3, 18);
       auto const block = [&](tensor x) {
         tensor const y = x | conv2d{.filters = width, .kernel = 3, .padding = padding::same, .bias = false}
                          | relu{} | conv2d{.filters = width, .kernel = 3, .padding = padding::same};
         return (x + y) | relu{};
       };
       return image(net, {width, 6, 6}) | block | block | max_pool{.window = 2};
     }},
    {"rung_28_two_inputs",
     [](builder& net, draw& d) {
       tensor const x = net.input({2, 6, 6}, "picture") | conv2d{.filters = 3, .kernel = 3} | relu{};
       tensor const y = net.input({d.between(1, 9)}, "facts") | dense{.units = 4};
       return concat(x | dense{.units = 5}, y);
     }},
    {"rung_29_an_input_read_by_two_and_joined",
     [](builder& net, draw& d) {
       tensor const x = net.input({d.between(1, 3), 5, 5});
       tensor const y = x | conv2d{.filters = 4, .kernel = 3, .padding = 1};
       return concat(x | relu{}, y, x);
     }},
    {"rung_30_two_losses",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 7), 4, 4}) | relu{};
       tensor const first = x | dense{.units = 3};
       first | softmax_cross_entropy{};
       return concat(x | dense{.units = 7}, first);
     }},
    {"rung_31_a_layer_of_a_user",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 9), 5, 5}) | bent{} | conv2d{.filters = 17, .kernel = 2}
              | bent{.bend = -0.05} | relu{} | dense{.units = 9} | bent{};
     }},
    {"rung_32_a_small_lenet",
     [](builder& net, draw& d) {
       return net.input({1, 20, 20}) | conv2d{.filters = d.between(5, 20), .kernel = 5} | relu{}
              | max_pool{.window = 2} | conv2d{.filters = 12, .kernel = 5, .stride = 2} | relu{}
              | max_pool{.window = 2, .stride = 1} | dense{.units = 20} | relu{};
     }},
    {"rung_33_parameters_that_layers_share",
     [](builder& net, draw& d) {
       int const width = d.between(3, 20), units = d.between(3, 20);
       auto const again = [&](tensor x) {
         return x | conv2d{.filters = width, .kernel = 3, .padding = 1, .settings = {.shares = "conv"}}
                | relu{};
       };
       tensor const x = image(net, {width, 5, 5})
                        | conv2d{.filters = width, .kernel = 3, .padding = 1, .name = "conv"} | relu{} | again
                        | again;
       tensor const y = x | dense{.units = units} | relu{} | dense{.units = units, .name = "dense"} | relu{};
       return y | dense{.units = units, .settings = {.shares = "dense"}} | relu{};
     }},
};

}  // namespace operations
