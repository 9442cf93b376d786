// SPDX-License-Identifier: Apache-2.0
// For webdataset_python_test.py: prints each field of each record as KEY FIELD BYTES CRC, one per line.
#include <cohort/io/crc32c.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstdio>
#include <string>
#include <vector>

int main(int count, char** words) {
  try {
    cohort::record_set const records({words + 1, words + count}, cohort::webdataset(), {.cache = ""});
    std::vector<std::byte> memory;
    for (std::int64_t i = 0; i < records.size(); ++i)
      for (std::size_t field = 0; field < records.fields().size(); ++field) {
        if (!records.has(i, field)) continue;
        auto const bytes = records.read(i, field, memory);
        std::printf("%s %s %zu %08x\n", std::string(records.key(i)).c_str(), records.fields()[field].c_str(),
                    bytes.size(), cohort::io::crc32c(cohort::best_isa(), bytes));
      }
  } catch (cohort::error const& refused) {
    std::puts(refused.what());
    return 1;
  }
}
