// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/message_codec.hpp>
#include <concepts>
#include <cstddef>
#include <span>

namespace cohort {

/// Encodes gradients as messages. Values that are not sent stay in the sender's residual.
///
/// encode       residual += gradient; then moves the values to send from the residual to the message
/// merge        combines the messages `lower` and `upper` of neighbouring ranks; values that the result does
///              not contain are added to the residual
/// parse        parses and checks a message
/// decode_add   dense += scale · the message's values
/// not_finite, nothing   write the messages that contain no gradient
/// state, restore        checkpoint state besides the residual
/// report       statistics of the last message
///
/// Exact     message values + residual after = fl(residual before + gradient), exactly.
template <class C>
concept compressor = requires(C c, C const& seen, message_stamp const& stamp,
                              expected_messages const& expected, std::span<float> residual,
                              std::span<float const> gradient, std::span<std::byte const> message,
                              message_view const& parsed, std::span<double const> state) {
  { c.encode(stamp, residual, gradient) } -> std::same_as<std::span<std::byte const>>;
  { c.merge(message, message, expected, residual) } -> std::same_as<std::span<std::byte const>>;
  { seen.parse(message, expected) } -> std::same_as<message_view>;
  c.decode_add(parsed, 1.0F, residual);
  { c.not_finite(stamp) } -> std::same_as<std::span<std::byte const>>;
  { c.nothing(stamp) } -> std::same_as<std::span<std::byte const>>;
  { seen.table() } -> std::same_as<tensor_table const&>;
  { seen.report() } -> std::same_as<message_report const&>;
  { seen.state() } -> std::convertible_to<std::span<double const>>;
  c.restore(state);
};

}  // namespace cohort
