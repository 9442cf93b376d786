// SPDX-License-Identifier: Apache-2.0
// Malformed LMDB databases. Mutations repair the meta pages' first fields and the numbers of pages of 512
// bytes. To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/records_lmdb_fuzz some/folder tests/records/lmdb_fuzz
#include <cohort/records/lmdb.hpp>
#include "fuzzed_records.hpp"

namespace {

template <class T>
void put(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void repair(std::uint8_t* data, std::size_t size) {
  constexpr std::size_t page = 512;
  for (std::size_t number = 0; (number + 1) * page <= size; ++number) {
    std::uint8_t* const at = data + number * page;
    put<std::uint64_t>(at, number);
    if (number > 1) continue;
    at[10] |= 8;                              // a meta page
    put<std::uint32_t>(at + 16, 0xbeefc0de);  // magic
    put<std::uint32_t>(at + 20, 1);           // version
    put<std::uint32_t>(at + 40, page);        // bytes of a page
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return fuzzed_records::mutate_and_repair(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static cohort::record_format const format = cohort::lmdb();
  fuzzed_records::read_all(format, data, size, [](auto const&...) {});
  return 0;
}
