// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/detail/implementation.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::audio {

/// A sound in memory.
///
/// Shapes    samples: frames × channels.
/// Units     rate: frames per second; samples in [−1, 1].
struct sound {
  int rate = 0;
  int channels = 1;
  std::vector<float> samples{};

  std::int64_t frames() const;
  /// Returns the mean of the channels of each frame.
  std::vector<float> mono() const;
};

/// Decodes a WAV file in memory: PCM of 8, 16, 24 and 32 bits, and floating point of 32 and 64 bits, also
/// with the extensible header. Other chunks are skipped.
///
/// Units     integers of b bits are divided by 2^(b−1); 128 of 8 bits is 0. Floating-point samples are
///           unchanged.
/// Before    the file may be untrusted. Sizes are compared with the file's size before memory is allocated.
/// Errors    data_error naming `where`: no WAV file, another encoding, truncated or damaged, a sample that is
///           not finite. A data chunk of the length 2³² − 1, as programs write to a pipe, ends with the file.
/// Exact     f32 contains all samples of up to 24 bits.
/// Source    Microsoft, Multimedia Programming Interface and Data Specifications 1.0, 1991;
///           WAVEFORMATEXTENSIBLE.
sound decoded_wav(std::span<std::byte const> file, std::string const& where);

}  // namespace cohort::audio
