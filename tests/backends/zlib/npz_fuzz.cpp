// SPDX-License-Identifier: Apache-2.0
// needs: zlib
// Malformed files of NumPy: a file is rejected by a data_error with its position or entry, or it is read and
// its arrays are within the file's bounds. The first byte selects .npy (even) or .npz (odd).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/backends_zlib_npz_fuzz some/folder tests/backends/zlib/npz_fuzz
#include <cohort/error/exceptions.hpp>
#include <cohort/npz.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Reads every byte, so that the address sanitizer detects a view that is too large. Returns the number of
/// bytes.
std::size_t read_all(tensor_view view) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < view.bytes(); ++i) sum += std::to_integer<unsigned>(view.data[i]);
  require(sum <= 255 * view.bytes());
  return view.bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::size_t max_bytes = 1 << 20;
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  std::vector<std::byte> const file(first + 1, first + size);
  try {
    if (data[0] % 2 == 0) {
      npy_array const read = npy_array::parse(file, "file");
      require(read_all(read.view()) < file.size());
    } else {
      npz_file const read = npz_file::parse(file, "file", max_bytes);
      std::size_t sum = 0;
      for (stored_tensor const& one : read.tensors()) {
        require(!one.name.empty());
        sum += read_all(one.view);
      }
      require(sum <= max_bytes);
    }
  } catch (data_error const& refused) {
    require(std::string_view(refused.why().where).starts_with("file, "));
  }
  return 0;
}
