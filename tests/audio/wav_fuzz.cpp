// SPDX-License-Identifier: Apache-2.0
// Malformed WAV files: a file is refused by a data_error that names it, or its samples are finite and have no
// more elements than the file has bytes.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/audio_wav_fuzz some/folder tests/audio/wav_fuzz
#include <algorithm>
#include <cmath>
#include <cohort/audio/wav.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  std::vector<std::byte> const file(first, first + size);
  try {
    cohort::audio::sound const made = cohort::audio::decoded_wav(file, "file");
    if (made.samples.size() > size || made.rate < 1 || made.channels < 1) std::abort();
    if (!std::all_of(made.samples.begin(), made.samples.end(), [](float x) { return std::isfinite(x); }))
      std::abort();
    if (static_cast<std::int64_t>(made.mono().size()) != made.frames()) std::abort();
  } catch (cohort::data_error const& refused) {
    if (refused.why().where != "file") std::abort();
  }
  return 0;
}
