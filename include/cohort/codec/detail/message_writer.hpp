// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/bit_stream.hpp>
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/execution/team.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
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

  void begin(std::size_t thresholds) {
    codes.clear();
    entries.clear();
    multiples.clear();
    values.clear();
    sent.assign(thresholds, 0);
  }
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
                                         coded_elements const& coded) {
    header.blocks = static_cast<std::uint32_t>(coded.blocks.size());
    header.thresholds = static_cast<std::uint32_t>(thresholds.size());
    header.multiples = coded.multiples.size();
    header.payload_bytes = coded.codes.size() + coded.multiples.size_bytes();
    std::size_t const tables = thresholds.size_bytes() + coded.blocks.size_bytes();
    return write_plain(which, header, tables + static_cast<std::size_t>(header.payload_bytes),
                       [&](std::byte* to) {
                         auto const put = [&to](auto list) {
                           if (list.empty()) return;
                           std::memcpy(to, list.data(), list.size_bytes());
                           to += list.size_bytes();
                         };
                         put(thresholds);
                         put(coded.blocks);
                         put(coded.codes);
                         put(coded.multiples);
                       });
  }

  /// Whether this is the message that was written last.
  bool made(std::span<std::byte const> message) const {
    return !message.empty() && message.data() == bytes_.data();
  }

  std::span<message_part> parts() { return std::span(parts_).first(used_); }

 private:
  void begin(std::size_t parts) {
    if (parts_.size() < parts) parts_.resize(parts);
    used_ = parts;
  }

  std::span<std::byte const> join(isa which, message_header header, std::span<bf16 const> thresholds) {
    std::uint64_t bits = 0;
    std::size_t values = 0;
    header.blocks = static_cast<std::uint32_t>(blocks_of(header.elements));
    header.thresholds = static_cast<std::uint32_t>(thresholds.size());
    header.multiples = 0;
    for (message_part const& part : parts()) {
      bits += part.codes.bits();
      values += part.values.size();
      header.multiples += part.multiples.size();
    }
    auto const codes = static_cast<std::size_t>((bits + 7) / 8);
    std::size_t const tail =
        sizeof(float) * values + sizeof(sent_multiple) * static_cast<std::size_t>(header.multiples);
    header.payload_bytes = codes + tail;
    std::size_t const tables = sizeof header + 2 * thresholds.size() + sizeof(block_entry) * header.blocks;
    std::size_t const size = tables + codes + tail;
    constexpr std::size_t slack = 16;  // a cursor stores whole words
    if (bytes_.size() < size + slack) bytes_.resize(size + slack);

    std::byte* to = bytes_.data() + sizeof header;
    auto const put = [&to](auto const* list, std::size_t count) {
      if (count == 0) return;
      std::memcpy(to, list, sizeof *list * count);
      to += sizeof *list * count;
    };
    put(thresholds.data(), thresholds.size());
    bit_cursor cursor{bytes_.data() + tables, 0, 0};
    std::uint64_t base = 0;
    for (message_part& part : parts()) {
      for (block_entry& entry : part.entries) entry.word += base;
      put(part.entries.data(), part.entries.size());
      part.codes.append_to(cursor);
      base += part.codes.bits();
    }
    to = bytes_.data() + tables + codes;
    for (message_part const& part : parts()) put(part.multiples.data(), part.multiples.size());
    for (message_part const& part : parts()) put(part.values.data(), part.values.size());
    bytes_.resize(size);
    return sealed(which, header);
  }

  std::span<std::byte const> sealed(isa which, message_header header) {
    std::memcpy(bytes_.data(), &header, sizeof header);
    header.crc = message_crc(which, bytes_);
    std::memcpy(bytes_.data(), &header, sizeof header);
    return bytes_;
  }

  std::vector<message_part> parts_;
  std::size_t used_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace cohort::detail
