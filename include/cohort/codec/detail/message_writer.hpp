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

/// Calls f(worker, first, last) for each worker's range of the blocks. Without a team, the caller handles all
/// blocks.
template <class F>
void for_block_ranges(team* workers, std::size_t blocks, F f) {
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

/// The consecutive blocks of a message that one worker has written. The bit positions in `entries` count from
/// the beginning of the part.
struct message_part {
  bit_writer codes;
  std::vector<block_entry> entries;
  std::vector<sent_multiple> multiples;
  std::vector<float> values;
  std::vector<sent_element> list;   // scratch for one block
  std::vector<std::uint64_t> sent;  // number of elements of each threshold

  /// Clears the part for the next message.
  void begin(std::size_t thresholds);
};

/// Elements that were coded on a device: the content of a message after its header and thresholds.
///
/// Units     the bit positions in `blocks` count from the beginning of `codes`.
struct coded_elements {
  std::span<block_entry const> blocks{};
  std::span<std::byte const> codes{};
  std::span<sent_multiple const> multiples{};
};

/// Assembles messages from blocks that workers write in parallel. Reuses its memory, and allocates only for a
/// message that is larger than all previous messages.
class message_writer {
 public:
  /// Calls write(part, block) for every block on the worker that owns the part, and concatenates the parts.
  ///
  /// After     the message and parts() are valid until the next message.
  /// Exact     the same bytes for any number of workers.
  template <class Write>
  std::span<std::byte const> write(isa which, message_header header, std::span<bf16 const> thresholds,
                                   team* workers, Write write) {
    begin(workers ? static_cast<std::size_t>(workers->size()) : 1);
    std::uint64_t const blocks = blocks_of(header.elements);
    for_block_ranges(workers, static_cast<std::size_t>(blocks),
                     [&](int worker, std::size_t first, std::size_t last) {
                       message_part& part = parts_[static_cast<std::size_t>(worker)];
                       part.begin(std::max<std::size_t>(thresholds.size(), 1));
                       for (std::size_t b = first; b < last; ++b) write(part, b);
                     });
    return join(which, header, thresholds);
  }

  /// Writes a message that consists of a header and `body_bytes` bytes. fill(bytes) writes the bytes after
  /// the header; `bytes` is aligned to 16 bytes.
  template <class Fill>
  std::span<std::byte const> write_plain(isa which, message_header const& header, std::size_t body_bytes,
                                         Fill fill) {
    begin(0);
    bytes_.resize(sizeof header + body_bytes);
    fill(bytes_.data() + sizeof header);
    return write_header(which, header);
  }

  /// Writes a message of elements that were coded on a device.
  std::span<std::byte const> write_coded(isa which, message_header header, std::span<bf16 const> thresholds,
                                         coded_elements const& coded);

  /// Returns whether this is the message that was written last.
  bool is_latest(std::span<std::byte const> message) const;

  /// The parts of the message that was written last, one per worker.
  std::span<message_part> parts() { return std::span(parts_).first(used_); }

 private:
  void begin(std::size_t parts);

  /// Concatenates the parts into a message.
  std::span<std::byte const> join(isa which, message_header header, std::span<bf16 const> thresholds);

  /// Writes the header with the checksum, and returns the message.
  std::span<std::byte const> write_header(isa which, message_header header);

  std::vector<message_part> parts_;
  std::size_t used_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace cohort::detail
