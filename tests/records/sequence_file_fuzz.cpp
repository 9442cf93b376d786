// SPDX-License-Identifier: Apache-2.0
// Malformed SequenceFiles. Mutations repair the sync marks. In place of zlib, "compressed" bytes begin with
// the number of times that the rest is repeated, so that mutations reach the content of blocks.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/records_sequence_file_fuzz some/folder tests/records/sequence_file_fuzz
#include <algorithm>
#include <cohort/records/caffe_on_spark.hpp>
#include <cohort/records/sequence_file.hpp>
#include "fuzzed_records.hpp"

namespace {

using namespace cohort;

std::uint64_t repeat(std::span<std::byte const> packed, std::span<std::byte> to, std::uint64_t max_bytes,
                     std::function<std::string()> const& where) {
  if (packed.empty()) throw data_error({.what = "the stream is truncated", .where = where()});
  std::span<std::byte const> const piece = packed.subspan(1);
  std::uint64_t const bytes = piece.size() * std::to_integer<std::uint64_t>(packed[0]);
  if (bytes > max_bytes) throw data_error({.what = "the result is too large", .where = where()});
  for (std::size_t k = 0; k < std::min<std::uint64_t>(bytes, to.size()); ++k) to[k] = piece[k % piece.size()];
  return bytes;
}

/// Returns the byte after a text whose length is stored in one byte.
std::size_t after_text(std::uint8_t const* data, std::size_t size, std::size_t at) {
  return at < size && data[at] < 0x80 ? at + 1 + data[at] : size;
}

/// Copies the sync mark of the header after each length −1.
void repair(std::uint8_t* data, std::size_t size) {
  std::size_t at = after_text(data, size, after_text(data, size, 4));
  if (at + 2 > size) return;
  bool const compressed = data[at] != 0;
  at = compressed ? after_text(data, size, at + 2) : at + 2;
  std::size_t const mark = at + 4;  // after the number of metadata pairs, which is 0
  for (std::size_t k = mark + 16; k + 20 <= size; ++k)
    if (std::all_of(data + k, data + k + 4, [](std::uint8_t one) { return one == 0xff; }))
      std::memmove(data + k + 4, data + mark, 16);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return fuzzed_records::mutate_and_repair(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static record_format const format = sequence_file(repeat);
  fuzzed_records::read_all(
      format, data, size,
      [](std::string const& where, std::string const& field, std::span<std::byte const> bytes) {
        std::vector<std::byte> const key(bytes.begin(), bytes.end());
        if (field == "key") caffe_on_spark_key::parse(key, where);
      });
  return 0;
}
