// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/records/record_set.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../io/memory_file.hpp"

// Defined by libFuzzer; null when a corpus is only replayed.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size)
    __attribute__((weak));

/// Functions shared by the fuzzers of record formats.
namespace fuzzed_records {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Indexes the bytes as a file, and reads all fields. `visit` receives each field: record, name, bytes. A
/// file is rejected by a data_error with its path, or all its records can be read or are rejected with file
/// and record.
template <class Visit>
void read_all(cohort::record_format const& format, std::uint8_t const* data, std::size_t size, Visit visit) {
  static memory_file const file;
  file.set(data, size);
  try {
    cohort::record_index const index = format.index(file.path());
    std::uint64_t end = size;
    for (cohort::packed_block const& one : index.blocks) {
      require(one.first == end && one.offset <= size && one.packed <= size - one.offset);
      end += one.bytes;
    }
    if (index.fields.empty()) return require(index.places.empty());  // an archive without files
    require(index.places.size() % index.fields.size() == 0);
    require(index.keys.empty() || std::ssize(index.keys) == index.size());
    for (cohort::field_place const& one : index.places) {
      if (one.offset == cohort::field_place::missing) continue;
      require(one.offset <= end && one.bytes <= end - one.offset);
    }
    require(cohort::detail::decoded_index(cohort::detail::encoded_index(index)) == index);
  } catch (cohort::data_error const& refused) {
    require(std::string_view(refused.why().where).starts_with(file.path()));
    return;
  }
  cohort::record_set const records({file.path()}, format, {.cache = "", .max_field_bytes = 1 << 20});
  std::vector<std::byte> memory;
  for (std::int64_t record = 0; record < records.size(); ++record)
    for (std::size_t field = 0; field < records.fields().size(); ++field) {
      if (!records.has(record, field)) continue;
      try {
        visit(records.where(record), records.fields()[field], records.read(record, field, memory));
      } catch (cohort::data_error const& refused) {
        require(std::string_view(refused.why().where).starts_with(file.path() + ", record "));
      }
    }
}

/// Changes an input, and repairs it by `repair(bytes, size)` except for one seed of 16.
template <class Repair>
std::size_t mutate_and_repair(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                              Repair repair) {
  std::size_t const changed = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 16 != 0) repair(data, changed);
  return changed;
}

}  // namespace fuzzed_records
