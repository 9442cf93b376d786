// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/detail/message_writer.hpp>
#include <cstring>

namespace cohort::detail {

void message_part::begin(std::size_t thresholds) {
  codes.clear();
  entries.clear();
  multiples.clear();
  values.clear();
  sent.assign(thresholds, 0);
}

std::span<std::byte const> message_writer::write_coded(isa which, message_header header,
                                                       std::span<bf16 const> thresholds,
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

bool message_writer::is_latest(std::span<std::byte const> message) const {
  return !message.empty() && message.data() == bytes_.data();
}

void message_writer::begin(std::size_t parts) {
  if (parts_.size() < parts) parts_.resize(parts);
  used_ = parts;
}

std::span<std::byte const> message_writer::join(isa which, message_header header,
                                                std::span<bf16 const> thresholds) {
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
  constexpr std::size_t slack = 16;  // a bit_cursor stores whole words
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
  return write_header(which, header);
}

std::span<std::byte const> message_writer::write_header(isa which, message_header header) {
  std::memcpy(bytes_.data(), &header, sizeof header);
  header.crc = message_crc(which, bytes_);
  std::memcpy(bytes_.data(), &header, sizeof header);
  return bytes_;
}

}  // namespace cohort::detail
