// SPDX-License-Identifier: Apache-2.0
// Malformed bytes: a message is rejected and nothing changes, or it is read, merged and read again. The bits
// of the first byte select: 1, a table of 66,000 elements; 2, a valid checksum; 4, valid header fields that
// match the table and the run, and a valid checksum. Fields and checksum are set before decoding.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/codec_decode_fuzz some/folder tests/codec/decode_fuzz
#include <algorithm>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace cohort;

constexpr expected_messages expected{.run = 7, .first_step = 3, .last_step = 5, .ranks = 4};

struct codecs {
  explicit codecs(tensor_table const& table)
      : each(table, {.threshold = threshold::fixed{0.5}, .per_tensor = true}),
        global(table, {.threshold = threshold::fixed{0.5}}),
        values(table, {.density = 0.01}),
        dense(table.elements()),
        zeros(table.elements()),
        ours(table.elements(), 0.375F) {
    for (std::size_t i = 0; i < ours.size(); i += 3) ours[i] = i % 2 ? 1.0F : -1e6F;
  }
  threshold_compressor each, global;
  top_k_compressor values;
  std::vector<float> dense, zeros, ours;
};

void require(bool holds) {
  if (!holds) std::abort();
}

bool read(message_codec& codec, std::span<std::byte const> message, codecs& at) {
  try {
    codec.decode_add(message, expected, 0.5F, at.dense);
  } catch (data_error const&) {
    require(std::memcmp(at.dense.data(), at.zeros.data(), at.dense.size() * sizeof(float)) == 0);
    return false;
  }
  for (float const one : at.dense) require(is_finite(one));
  std::fill(at.dense.begin(), at.dense.end(), 0.0F);
  return true;
}

template <class C>
void merge(C& codec, std::vector<std::byte> const& theirs, message_header const& header, codecs& at) {
  std::vector<float> r(at.zeros);
  auto const bytes =
      codec.encode({.run = 7, .step = header.step, .rank = header.rank + header.ranks}, r, at.ours);
  std::vector<std::byte> const mine(bytes.begin(), bytes.end());
  std::vector<float> const before = r;
  try {
    codec.merge(theirs, mine, {.run = 7, .first_step = 3, .last_step = 5, .ranks = 8}, r);
  } catch (data_error const&) {
    require(r == before);
  }
  for (float const one : r) require(is_finite(one));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static codecs small(tensor_table{{"a", 300}, {"b", 1}, {"c", 700}});
  static codecs large(tensor_table{{"a", 40'000}, {"b", 25'999}, {"c", 1}});
  if (size == 0) return 0;
  int const how = data[0];
  codecs& at = how & 1 ? large : small;
  std::vector<std::byte> message(size - 1);
  if (size > 1) std::memcpy(message.data(), data + 1, size - 1);
  message_header header;
  if (message.size() >= sizeof header) {
    std::memcpy(static_cast<void*>(&header), message.data(), sizeof header);
    if (how & 4) {
      message_header const ours;
      header.magic = ours.magic;
      header.version = ours.version;
      header.run = expected.run;
      header.table = at.each.table().hash();
      header.elements = at.each.table().elements();
      header.step = 3 + header.step % 3;
      header.rank %= 3;
      header.ranks = 1;
      header.weight = 1;
      if (header.kind == message_kind::sparse) header.blocks = how & 1 ? 2 : 1;
      std::size_t const tables =
          sizeof header + 2 * std::size_t{header.thresholds} + 8 * std::size_t{header.blocks};
      if (tables <= message.size()) header.payload_bytes = message.size() - tables;
    }
    if (how & 6) {
      std::memcpy(message.data(), &header, sizeof header);
      header.crc = detail::message_crc(isa::baseline, message);
      std::memcpy(message.data(), &header, sizeof header);
    }
  }
  if (!read(at.each, message, at)) return 0;
  merge(at.each, message, header, at);
  merge(at.global, message, header, at);
  merge(at.values, message, header, at);
  return 0;
}
