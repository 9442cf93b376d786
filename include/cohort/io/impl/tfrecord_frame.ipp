// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/tfrecord_frame.hpp>
#include <cstring>

namespace cohort::detail {

std::uint32_t masked_crc32c(std::span<std::byte const> bytes) {
  std::uint32_t const crc = io::crc32c(best_isa(), bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

tfrecord_frame frame_of(std::span<std::byte const> content) {
  tfrecord_frame made{};
  std::uint64_t const bytes = content.size();
  std::memcpy(made.head.data(), &bytes, sizeof bytes);
  std::uint32_t const of_length = masked_crc32c(std::as_bytes(std::span(made.head).first<8>())),
                      of_content = masked_crc32c(content);
  std::memcpy(made.head.data() + 8, &of_length, sizeof of_length);
  std::memcpy(made.tail.data(), &of_content, sizeof of_content);
  return made;
}

}  // namespace cohort::detail
