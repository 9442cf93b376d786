// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/with_state.hpp>
#include <cohort/layer/recurrent.hpp>

#include "sequences.hpp"

namespace operations {

/// A sequence, length × channels, that depends on parameters.
inline tensor dense_sequence(builder& net, int channels, int length) {
  return net.input({length, 2}) | dense{.units = channels};
}

inline constexpr row recurrent[]{
    {"recurrent_01_simple_rnn",
     [](builder& net, draw& d) {
       return dense_sequence(net, d.between(1, 19), d.between(1, 6)) | simple_rnn{.units = d.between(1, 19)};
     }},
    {"recurrent_02_simple_rnn_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 9), d.between(1, 8))
              | simple_rnn{.units = d.between(1, 19), .activation = recurrent_activation::hard_tanh}
              | simple_rnn{.units = 4, .last_step = true, .reverse = true, .bias = false};
     }},
    {"recurrent_03_lstm",
     [](builder& net, draw& d) {
       return dense_sequence(net, d.between(1, 19), d.between(1, 6)) | lstm{.units = d.between(1, 35)};
     }},
    {"recurrent_04_lstm_first_of_all",
     [](builder& net, draw& d) {
       return net.input({d.between(1, 9), d.between(1, 3)})
              | lstm{.units = d.between(1, 18), .last_step = true, .bias = false};
     }},
    {"recurrent_05_lstm_stacked_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 9), d.between(1, 12)) | lstm{.units = d.between(1, 33)}
              | lstm{.units = 5, .resets_masked = true} | lstm{.units = 3, .last_step = true};
     }},
    {"recurrent_06_lstm_with_peepholes",
     [](builder& net, draw& d) {
       return masked_sequence(net, 3, d.between(2, 7))
              | lstm{.units = d.between(1, 18), .reverse = true, .peepholes = true}
              | lstm{.units = 4,
                     .last_step = true,
                     .peepholes = true,
                     .activation = recurrent_activation::hard_tanh,
                     .gate_activation = recurrent_activation::hard_sigmoid};
     }},
    {"recurrent_07_gru",
     [](builder& net, draw& d) {
       return dense_sequence(net, d.between(1, 19), d.between(1, 6)) | gru{.units = d.between(1, 35)};
     }},
    {"recurrent_08_gru_stacked_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 9), d.between(1, 12)) | gru{.units = d.between(1, 33)}
              | gru{.units = 5, .reverse = true, .resets_masked = true}
              | gru{.units = 3, .last_step = true, .bias = false};
     }},
    {"recurrent_09_gru_with_the_reset_before_the_product",
     [](builder& net, draw& d) {
       return dense_sequence(net, 3, d.between(1, 7)) | gru{.units = d.between(1, 18), .reset_after = false}
              | gru{.units = 4,
                    .last_step = true,
                    .reset_after = false,
                    .activation = recurrent_activation::identity,
                    .gate_activation = recurrent_activation::hard_sigmoid};
     }},
    {"recurrent_10_gru_with_the_reset_before_the_product_and_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, 3, d.between(2, 9)) | gru{.units = d.between(1, 18), .reset_after = false}
              | gru{.units = 4,
                    .last_step = true,
                    .reverse = true,
                    .reset_after = false,
                    .resets_masked = true};
     }},
    {"recurrent_11_dropouts",
     [](builder& net, draw& d) {
       tensor const x = masked_sequence(net, d.between(1, 9), d.between(2, 6));
       return concat(x | lstm{.units = 7, .dropout = 0.3, .recurrent_dropout = 0.4},
                     x | gru{.units = 5, .dropout = 0.4, .recurrent_dropout = 0.3},
                     x | gru{.units = 4, .reset_after = false, .recurrent_dropout = 0.5},
                     x | simple_rnn{.units = 6, .recurrent_dropout = 0.2});
     }},
    {"recurrent_12_both_directions",
     [](builder& net, draw& d) {
       tensor const x = masked_sequence(net, d.between(1, 9), d.between(1, 9));
       int const units = d.between(1, 9);
       return concat(x | lstm{.units = units}, x | lstm{.units = units, .reverse = true})
              | softmax_cross_entropy{};
     }},
    {"recurrent_13_lstm_from_an_encoders_state",
     [](builder& net, draw& d) {
       int const units = d.between(1, 18), length = d.between(1, 6);
       auto const encoder =
           with_state(lstm{.units = units, .last_step = true}, dense_sequence(net, 3, length));
       tensor const target = dense_sequence(net, d.between(1, 5), d.between(1, 6));
       return join(lstm{.units = units}, target, encoder.state(), encoder.cells());
     }},
    {"recurrent_14_lstm_from_an_encoders_state_with_masks",
     [](builder& net, draw& d) {
       int const units = d.between(1, 18);
       tensor const x = masked_sequence(net, 3, d.between(1, 8));
       auto const first = with_state(lstm{.units = units, .peepholes = true}, x);
       auto const second = with_state(lstm{.units = units, .reverse = true, .peepholes = true}, first.steps(),
                                      first.cells(), first.state());
       return concat(second.steps() | global_avg_pool{}, second.state(), second.cells());
     }},
    {"recurrent_15_gru_from_an_encoders_state",
     [](builder& net, draw& d) {
       int const units = d.between(1, 18);
       tensor const x = masked_sequence(net, d.between(1, 5), d.between(1, 8));
       auto const first = with_state(gru{.units = units}, x);
       auto const second =
           with_state(gru{.units = units, .reset_after = false}, first.steps(), first.state());
       return concat(second.state(), join(gru{.units = 4, .last_step = true}, second.steps(),
                                          x | dense{.units = 4} | global_avg_pool{}));
     }},
    {"recurrent_16_simple_rnn_from_a_state_with_dropouts",
     [](builder& net, draw& d) {
       int const units = d.between(1, 18);
       tensor const x = dense_sequence(net, d.between(1, 5), d.between(1, 6));
       auto const first =
           with_state(simple_rnn{.units = units, .reverse = true, .recurrent_dropout = 0.3}, x);
       auto const second = with_state(lstm{.units = units, .dropout = 0.2, .recurrent_dropout = 0.4}, x,
                                      first.state(), first.state());
       return join(gru{.units = units, .reset_after = false, .recurrent_dropout = 0.4},
                   second.steps() + first.steps(), second.cells());
     }},
};

}  // namespace operations
