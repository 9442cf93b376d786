// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/message_codec.hpp>
#include <concepts>
#include <cstddef>
#include <span>

namespace cohort {

/// A way to write a gradient: what is not sent stays in the residual of who sends it.
///
/// encode       residual += gradient; what leaves it is the message
/// merge        one message for those of neighbouring ranks, `lower` and `upper`; what is rounded off stays in the residual
/// parse        the message that bytes are
/// decode_add   dense += scale · what a message brings
/// not_finite, nothing   the messages that bring no gradient
/// state, restore               what a checkpoint keeps besides the residual
/// report       what the last message was like
///
/// Exact     what a message brings + residual after = fl(residual before + gradient), in real numbers.
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
