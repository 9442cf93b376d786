// SPDX-License-Identifier: Apache-2.0
// For lmdb_python_test.py: prints each entry as KEY BYTES CRC, one per line.
#include <cohort/io/crc32c.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/record_set.hpp>
#include <cstdio>
#include <string>
#include <vector>

int main(int count, char** words) {
  if (count != 2) return 2;
  try {
    cohort::record_set const records({cohort::lmdb_file(words[1])}, cohort::lmdb(), {.cache = ""});
    std::vector<std::byte> memory;
    for (std::int64_t i = 0; i < records.size(); ++i) {
      auto const bytes = records.read(i, 0, memory);
      std::printf("%s %zu %08x\n", std::string(records.key(i)).c_str(), bytes.size(),
                  cohort::io::crc32c(cohort::best_isa(), bytes));
    }
  } catch (cohort::error const& refused) {
    std::puts(refused.what());
    return 1;
  }
}
