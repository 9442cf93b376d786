// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

/// The bytes around a record of a TFRecord file; TensorBoard's event files have the same format.
namespace cohort::detail {

inline constexpr std::size_t tfrecord_head = 12, tfrecord_tail = 4;

/// Returns the masked CRC-32C that TFRecord stores.
std::uint32_t masked_crc32c(std::span<std::byte const> bytes);

/// head: the record's length (u64) and the checksum of the length. tail: the checksum of the content.
struct tfrecord_frame {
  std::array<char, tfrecord_head> head;
  std::array<char, tfrecord_tail> tail;
};

tfrecord_frame frame_of(std::span<std::byte const> content);

}  // namespace cohort::detail
