// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/team.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// Decodes and checks all elements of a message before any element is used. Reuses its memory, 4 bytes per
/// element sent.
class message_reader {
 public:
  /// Reads a message.
  ///
  /// Errors    data_error if the codes of a block do not match the message's tables.
  void read(message_view const& message, team* workers);

  /// Returns the elements of block b, in ascending order.
  std::span<sent_element const> block(std::size_t b) const;
  /// Returns the number of elements in the blocks before block b.
  std::size_t before(std::size_t b) const { return starts_[b]; }

 private:
  std::vector<std::size_t> starts_;
  std::vector<sent_element> list_;
};

/// dense += scale · the values of a sparse message.
///
/// Before    elements.read(message) has returned.
void add_blocks(message_view const& message, message_reader const& elements, tensor_table const& table,
                float scale, float* dense, team* workers);

}  // namespace cohort::detail
