// SPDX-License-Identifier: Apache-2.0
// Malformed TFRecord files, and a tf.train.Example in each record. Mutations repair lengths and checksums.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/records_tfrecord_fuzz some/folder tests/records/tfrecord_fuzz
#include <algorithm>
#include <cohort/io/crc32c.hpp>
#include <cohort/records/tfrecord.hpp>
#include "fuzzed_records.hpp"

namespace {

using namespace cohort;

void write_checksum(std::uint8_t* at, std::uint8_t const* bytes, std::size_t size) {
  std::uint32_t const crc = io::crc32c(isa::baseline, std::as_bytes(std::span(bytes, size)));
  std::uint32_t const masked = (crc >> 15 | crc << 17) + 0xa282ead8U;
  std::memcpy(at, &masked, sizeof masked);
}

/// Writes the checksums. A record that is longer than the rest of the file becomes the last record.
void repair(std::uint8_t* data, std::size_t size) {
  for (std::size_t at = 0; at + 16 <= size;) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, data + at, sizeof bytes);
    bytes = std::min<std::uint64_t>(bytes, size - at - 16);
    std::memcpy(data + at, &bytes, sizeof bytes);
    write_checksum(data + at + 8, data + at, 8);
    write_checksum(data + at + 12 + bytes, data + at + 12, bytes);
    at += bytes + 16;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return fuzzed_records::mutate_and_repair(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static record_format const format = tfrecord();
  fuzzed_records::read_all(
      format, data, size, [](std::string const& where, std::string const&, std::span<std::byte const> bytes) {
        // A copy of exactly this size, so that the address sanitizer detects reads past the end.
        std::vector<std::byte> const message(bytes.begin(), bytes.end());
        for (auto const& [name, feature] : tf_example(message, where)) {
          std::size_t read = name.size() + feature.floats.size() + feature.integers.size();
          for (std::string_view const one : feature.bytes)
            read += one.size() + (one.empty() ? 0U : static_cast<std::size_t>(one.back() & 1));
          fuzzed_records::require(read <= 8 * message.size());
        }
      });
  return 0;
}
