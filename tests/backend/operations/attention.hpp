// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/rms_norm.hpp>

#include "recurrent.hpp"

namespace operations {

inline constexpr row attention_layers[]{
    {"attention_01_of_one_sequence",
     [](builder& net, draw& d) {
       int const heads = d.between(1, 3);
       return dense_sequence(net, 3 * heads * d.between(1, 9), d.between(1, 9)) | attention{.heads = heads};
     }},
    {"attention_02_causal_with_rotary_positions",
     [](builder& net, draw& d) {
       int const heads = d.between(1, 3);
       return dense_sequence(net, 6 * heads * d.between(1, 5), d.between(1, 9))
              | attention{.heads = heads, .causal = true, .rotary = 100};
     }},
    {"attention_03_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 5), d.between(2, 9)) | dense{.units = 24}
              | attention{.heads = 2} | dense{.units = 3};
     }},
    {"attention_04_of_two_sequences",
     [](builder& net, draw& d) {
       tensor const queries = dense_sequence(net, 6, d.between(1, 9));
       tensor const memory = net.input({d.between(1, 9), 3});
       return join(attention{.heads = 3}, queries, memory | dense{.units = 6}, memory | dense{.units = 9});
     }},
    {"attention_05_a_block_of_a_transformer",
     [](builder& net, draw& d) {
       tensor x = dense_sequence(net, 8, d.between(2, 7)) | learned_positions{};
       x = x
           + (x | layer_norm{} | dense{.units = 24} | attention{.heads = 2, .causal = true}
              | dense{.units = 8});
       return x + (x | layer_norm{} | dense{.units = 32} | gelu_tanh{} | dense{.units = 8});
     }},
    {"attention_06_rms_norm_and_sinusoidal_positions",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 9), d.between(1, 7)) | dense{.units = 6}
              | sinusoidal_positions{} | rms_norm{} | dense{.units = 3};
     }},
    {"attention_07_sums_that_share_gradients",
     [](builder& net, draw& d) {
       tensor const x = dense_sequence(net, 4, d.between(1, 5)) | dense{.units = 8};
       tensor const y = x + (x | dense{.units = 8} | relu{});
       tensor const z = y + y;
       return (z + (y | relu{}) + (x | tanh_activation{}) + x) | dense{.units = 3};
     }},
    {"attention_08_of_two_masked_sequences",
     [](builder& net, draw& d) {
       tensor const queries = masked_sequence(net, 3, d.between(1, 9)) | dense{.units = 6};
       tensor const memory = masked_sequence(net, 4, d.between(1, 9));
       return join(attention{.heads = 3}, queries, memory | dense{.units = 6}, memory | dense{.units = 9})
              | dense{.units = 2};
     }},
    {"attention_09_of_masked_keys",
     [](builder& net, draw& d) {
       tensor const queries = dense_sequence(net, 8, d.between(1, 60));
       tensor const memory = masked_sequence(net, 4, d.between(1, 60)) | dense{.units = 8};
       return join(attention{.heads = 2}, queries, memory, memory);
     }},
};

}  // namespace operations
