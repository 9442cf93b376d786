// SPDX-License-Identifier: Apache-2.0
// Malformed IDX files: a file is refused by a data_error, or its elements are inside the file. The first
// byte is the expected rank.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/data_idx_fuzz some/folder tests/data/idx_fuzz
#include <cohort/data/idx.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  if (size == 0) return 0;
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  int const rank = data[0] % 5;
  try {
    idx_array const read = parse_idx({first + 1, first + size}, "file", rank);
    tensor_view const all = read.view();
    if (rank != 0 && all.dims.rank != rank) std::abort();
    unsigned sum = 0;
    for (std::size_t i = 0; i < all.bytes(); ++i) sum += std::to_integer<unsigned>(all.data[i]);
    if (all.bytes() >= size || sum > 255 * all.bytes()) std::abort();
  } catch (data_error const& refused) {
    if (!std::string_view(refused.why().where).starts_with("file")) std::abort();
  }
  return 0;
}
