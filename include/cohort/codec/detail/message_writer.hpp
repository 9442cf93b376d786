// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/bit_stream.hpp>
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/execution/team.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Calls f(worker, first, last) for each worker's share of the blocks, on the caller alone where there is no team.
template <class F>
void share_blocks(team* workers, std::size_t blocks, F f) {
  if (!workers || workers->size() == 1) {
    f(0, std::size_t{0}, blocks);
    return;
  }
  auto const size = static_cast<std::size_t>(workers->size());
  workers->run([&](int worker) {
    auto const w = static_cast<std::size_t>(worker);
    f(worker, blocks * w / size, blocks * (w + 1) / size);
  });
}

/// What one worker has written of a message: consecutive blocks. Entries count bits from the part's own beginning.
struct message_part {
  bit_writer codes;
  std::vector<block_entry> entries;
  std::vector<sent_multiple> multiples;
  std::vector<float> values;
  std::vector<sent_element> list;   // scratch for one block
  std::vector<std::uint64_t> sent;  // elements, by threshold

  void begin(std::size_t thresholds);
};

/// The elements of a message that were coded elsewhere, behind its header and thresholds.
///
/// Units     entries count bits from the beginning of `codes`.
struct coded_elements {
  std::span<block_entry const> blocks{};
  std::span<std::byte const> codes{};
  std::span<sent_multiple const> multiples{};
};

/// Makes messages of what workers write block by block. It keeps its memory: once the messages have had their size, none is
/// allocated.
class message_writer {
 public:
  /// Calls write(part, block) for every block, on the worker that has the part, and joins the parts.
  ///
  /// After     valid until the next message. parts(): what the workers have left there.
  /// Exact     the same bytes for any number of workers.
  template <class Write>
  std::span<std::byte const> write(isa which, message_header header, std::span<bf16 const> thresholds,
                                   team* workers, Write write) {
    begin(workers ? static_cast<std::size_t>(workers->size()) : 1);
    std::uint64_t const blocks = blocks_of(header.elements);
    share_blocks(workers, static_cast<std::size_t>(blocks),
                 [&](int worker, std::size_t first, std::size_t last) {
                   message_part& part = parts_[static_cast<std::size_t>(worker)];
                   part.begin(std::max<std::size_t>(thresholds.size(), 1));
                   for (std::size_t b = first; b < last; ++b) write(part, b);
                 });
    return join(which, header, thresholds);
  }

  /// A message of which fill(bytes) writes what is behind the header, on a boundary of 16 bytes.
  template <class Fill>
  std::span<std::byte const> write_plain(isa which, message_header const& header, std::size_t behind,
                                         Fill fill) {
    begin(0);
    bytes_.resize(sizeof header + behind);
    fill(bytes_.data() + sizeof header);
    return sealed(which, header);
  }

  /// A message of elements that were coded elsewhere.
  std::span<std::byte const> write_coded(isa which, message_header header, std::span<bf16 const> thresholds,
                                         coded_elements const& coded);

  /// Whether this is the message that was written last.
  bool made(std::span<std::byte const> message) const;

  std::span<message_part> parts() { return std::span(parts_).first(used_); }

 private:
  void begin(std::size_t parts);

  std::span<std::byte const> join(isa which, message_header header, std::span<bf16 const> thresholds);

  std::span<std::byte const> sealed(isa which, message_header header);

  std::vector<message_part> parts_;
  std::size_t used_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/message_writer.ipp>
#endif
