// SPDX-License-Identifier: Apache-2.0
#include <cohort/audio/detail/implementation.hpp>
#include <cohort/audio/impl/audio_folder.ipp>
#include <cohort/audio/impl/audio_records.ipp>
#include <cohort/audio/impl/fourier_transform.ipp>
#include <cohort/audio/impl/mel_spectrogram.ipp>
#include <cohort/audio/impl/sound_reader.ipp>
#include <cohort/audio/impl/wav.ipp>

COHORT_IS_IMPLEMENTATION(cohort_audio_src_hpp)
