// SPDX-License-Identifier: Apache-2.0
// Malformed messages of Caffe and CaffeOnSpark. The first byte selects a Datum (even) or the key of a record
// of CaffeOnSpark (odd).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/records_caffe_datum_fuzz some/folder tests/records/caffe_datum_fuzz
#include <cohort/error/exceptions.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <cohort/records/caffe_on_spark.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_datum(std::span<std::byte const> message) {
  caffe_datum const read = caffe_datum::parse(message, "record 7");
  require(read.channels >= 0 && read.height >= 0 && read.width >= 0 && read.label >= 0);
  unsigned sum = 0;
  for (char const one : read.data) sum += static_cast<unsigned char>(one);
  require(sum <= 255 * read.data.size());
  if (read.encoded) return;
  std::size_t const count = read.numbers.empty() ? read.data.size() : read.numbers.size();
  require(count == static_cast<std::size_t>(read.extents().elements()));
}

void read_key(std::span<std::byte const> key) {
  caffe_on_spark_key const read = caffe_on_spark_key::parse(key, "record 7");
  require(read.id.size() <= key.size() && read.label.size() <= key.size());
  require(read.channels >= 0 && read.height >= 0 && read.width >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  std::vector<std::byte> const bytes(first + 1, first + size);
  try {
    data[0] % 2 == 0 ? read_datum(bytes) : read_key(bytes);
  } catch (data_error const& refused) {
    require(std::string_view(refused.why().where).starts_with("record 7"));
  }
  return 0;
}
