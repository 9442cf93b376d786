// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/codec/detail/message_reader.hpp>
#include <cohort/codec/detail/message_writer.hpp>
#include <cstdint>

namespace cohort::detail {

void message_reader::read(message_view const& message, team* workers) {
  std::size_t const blocks = message.header.blocks;
  starts_.resize(blocks + 1);
  starts_[0] = 0;
  for (std::size_t b = 0; b < blocks; ++b) starts_[b + 1] = starts_[b] + message.block(b).count();
  if (list_.size() < starts_[blocks]) list_.resize(starts_[blocks]);
  for_block_ranges(workers, blocks, [&](int, std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) read_block(message, b, list_.data() + starts_[b]);
  });
}

std::span<sent_element const> message_reader::block(std::size_t b) const {
  return std::span(list_).subspan(starts_[b], starts_[b + 1] - starts_[b]);
}

void add_blocks(message_view const& message, message_reader const& elements, tensor_table const& table,
                float scale, float* dense, team* workers) {
  bool const ternary = message.header.coding == message_coding::ternary;
  bool const global = message.header.thresholds == 1;
  auto const ends = table.ends();
  for_block_ranges(workers, message.header.blocks, [&](int, std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      float* const block = dense + b * block_elements;
      std::span<sent_element const> list = elements.block(b);
      if (!ternary) {
        std::size_t k = elements.before(b);
        for (sent_element const one : list) {
          float const v = message.value(k++) * scale;
          block[one.index()] += one.sign() ? -v : v;
        }
        continue;
      }
      while (!list.empty()) {
        std::size_t k = 0;
        auto some = list.end();
        if (!global) {
          std::uint64_t const index = b * std::uint64_t{block_elements} + list[0].index();
          auto const end = std::upper_bound(ends.begin(), ends.end(), index);
          k = static_cast<std::size_t>(end - ends.begin());
          some = std::partition_point(list.begin(), list.end(), [&](sent_element one) {
            return b * std::uint64_t{block_elements} + one.index() < *end;
          });
        }
        auto const t = std::bit_cast<std::uint32_t>(message.threshold(k).value() * scale);
        auto const count = static_cast<std::size_t>(some - list.begin());
        for (sent_element const one : list.first(count))
          block[one.index()] += std::bit_cast<float>(t ^ one.sign());
        list = list.subspan(count);
      }
    }
  });
  for (std::uint64_t m = 0; m < message.header.multiples; ++m) {
    sent_multiple const one = message.multiple(m);
    auto const k = global ? 0 : std::upper_bound(ends.begin(), ends.end(), one.index) - ends.begin();
    float const t = message.threshold(static_cast<std::size_t>(k)).value();
    dense[one.index] += static_cast<float>(one.multiple * double{t}) * scale;
  }
}

}  // namespace cohort::detail
