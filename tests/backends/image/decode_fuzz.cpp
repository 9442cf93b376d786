// SPDX-License-Identifier: Apache-2.0
// needs: image
// Malformed images: a file is refused by a data_error that names it, or it becomes an image of the size
// that its header contains. The bits of the first byte select grey (1), salvage (2) and orientation (4).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/backends_image_decode_fuzz some/folder tests/backends/image/decode_fuzz
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  if (size == 0) return 0;
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  std::vector<std::byte> const file(first + 1, first + size);
  decoding const how{.channels = (data[0] & 1) != 0 ? 1 : 3,
                     .max_pixels = 1 << 14,
                     .salvage = (data[0] & 2) != 0,
                     .apply_exif_orientation = (data[0] & 4) != 0};
  try {
    image const made = decoded(file, "file", how);
    shape const header = image_size(file, "file", how.apply_exif_orientation);
    if (made.dims != shape{how.channels, header[1], header[2]}) std::abort();
    if (made.pixels.size() != static_cast<std::size_t>(made.dims.elements())) std::abort();
  } catch (data_error const& refused) {
    if (refused.why().where != "file") std::abort();
  }
  return 0;
}
