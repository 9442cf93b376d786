// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/file.hpp>
#include <cohort/io/file_reader.hpp>

namespace cohort::io {

std::vector<std::byte> read_file(std::string const& path, std::size_t max_bytes) {
  file_reader file(path);
  file.expect_at_most(max_bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read_exactly(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace cohort::io
