// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/data/dataset.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort {

void dataset::require_random_access(char const* user) const {
  if (!indexed())
    throw setting_error({.what = "this data set is a stream, whose examples cannot be accessed by index",
                         .where = user,
                         .expected = "an indexed data set",
                         .got = "a stream"});
}

}  // namespace cohort

namespace cohort::detail {

void batch_writer::gather(dataset_interface const& data, std::span<std::int64_t const> indices,
                          example_view& scratch, batch& b) const {
  if (!data.in_memory()) {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      data.get(indices[row], scratch);
      write(scratch, b, row);
    }
    return;
  }
  std::array<std::byte const*, dataset_interface::max_located> sources;
  for (std::size_t first = 0; first < indices.size(); first += sources.size()) {
    auto const some = indices.subspan(first, std::min(sources.size(), indices.size() - first));
    for (std::size_t part = 0; part < writers_.size(); ++part) {
      part_writer const& writer = writers_[part];
      data.locate(some, part, sources.data());
      std::byte* destination = tensor(b, part).memory.data() + first * writer.bytes;
      for (std::size_t row = 0; row < some.size(); ++row) {
        if (row + 2 < some.size())  // prefetches, because shuffled rows are far apart
          for (std::size_t byte = 0; byte < std::min<std::size_t>(writer.stored_bytes, 1024); byte += 64)
            __builtin_prefetch(sources[row + 2] + byte);
        writer(sources[row], destination);
        destination += writer.bytes;
      }
    }
  }
}

}  // namespace cohort::detail
