// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/team.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// The elements of a whole message, looked at before any of them is used. It keeps its memory: 4 bytes an element sent.
class message_reader {
 public:
  /// Errors    data_error if the codes of a block are not what the tables say.
  void read(message_view const& message, team* workers);

  std::span<sent_element const> block(std::size_t b) const;
  /// How many elements are sent in front of block b.
  std::size_t before(std::size_t b) const { return starts_[b]; }

 private:
  std::vector<std::size_t> starts_;
  std::vector<sent_element> list_;
};

/// dense += scale · the sparse message, whose elements the reader has read.
void add_blocks(message_view const& message, message_reader const& elements, tensor_table const& table,
                float scale, float* dense, team* workers);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/message_reader.ipp>
#endif
