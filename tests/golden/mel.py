# SPDX-License-Identifier: Apache-2.0
"""mel.py > mel.txt: librosa's logarithmic mel spectrograms. Sample i of a sound is ((31·i·i + 17·i) mod 2001 − 1000) / 1000."""
import librosa
import numpy

CASES = {
    "whisper": {"samples": 1600, "rate": 16000, "window": 400, "hop": 160, "bands": 80, "low": 0, "high": 0, "htk": 0, "area": 1, "reflect": 0},
    "torchaudio": {"samples": 1000, "rate": 16000, "window": 400, "hop": 200, "bands": 40, "low": 0, "high": 0, "htk": 1, "area": 0, "reflect": 1},
    "librosa": {"samples": 2500, "rate": 22050, "window": 2048, "hop": 512, "bands": 128, "low": 0, "high": 0, "htk": 0, "area": 1, "reflect": 0},
    "odd_factors": {"samples": 900, "rate": 8000, "window": 250, "hop": 77, "bands": 20, "low": 60, "high": 3500, "htk": 1, "area": 1, "reflect": 1},
}
for name, how in CASES.items():
    i = numpy.arange(how["samples"], dtype=numpy.int64)
    sound = ((31 * i * i + 17 * i) % 2001 - 1000) / 1000
    sound[how["samples"] // 2:how["samples"] // 2 + 2 * how["window"]] = 0  # silence reaches the floor
    power = librosa.feature.melspectrogram(
        y=sound.astype(numpy.float32).astype(numpy.float64), sr=how["rate"], n_fft=how["window"], hop_length=how["hop"], n_mels=how["bands"],
        fmin=how["low"], fmax=how["high"] or how["rate"] / 2, htk=bool(how["htk"]), norm="slaney" if how["area"] else None,
        pad_mode="reflect" if how["reflect"] else "constant")
    decibels = librosa.power_to_db(power, top_db=None)
    print(f"case {name}")
    for key, value in how.items():
        print(key, value)
    print("decibels", *decibels.shape, ":", *(f"{value:.7g}" for value in decibels.flatten()))
