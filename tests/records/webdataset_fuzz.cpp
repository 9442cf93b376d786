// SPDX-License-Identifier: Apache-2.0
// Malformed tar archives. Mutations repair the checksums of the headers.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/records_webdataset_fuzz some/folder tests/records/webdataset_fuzz
#include <algorithm>
#include <cohort/records/webdataset.hpp>
#include <cstdio>
#include "fuzzed_records.hpp"

namespace {

constexpr std::size_t block = 512;

/// Writes the checksum of each header. A header follows the content of the file before it.
void repair(std::uint8_t* data, std::size_t size) {
  for (std::size_t at = 0; at + block <= size;) {
    std::uint8_t* const header = data + at;
    if (std::all_of(header, header + block, [](std::uint8_t one) { return one == 0; })) return;
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (std::size_t k = 0; k < block; ++k) sum += header[k];
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    std::memcpy(header + 148, digits, 7);
    std::size_t bytes = 0;
    for (std::size_t k = 124; k < 136 && header[k] >= '0' && header[k] <= '7'; ++k)
      bytes = (bytes * 8 + header[k] - '0') & 0xffffff;
    bool const has_content = header[156] < '1' || header[156] > '6';
    at += block + (has_content ? (bytes + block - 1) / block * block : 0);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return fuzzed_records::mutate_and_repair(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static cohort::record_format const format = cohort::webdataset();
  fuzzed_records::read_all(format, data, size, [](auto const&...) {});
  return 0;
}
