// SPDX-License-Identifier: Apache-2.0
#ifndef WRITTEN_MODELS_H
#define WRITTEN_MODELS_H
// Models that a test in C opens, written in C++, and their outputs by training::predict.
#ifdef __cplusplus
extern "C" {
#endif

/// Writes FOLDER/image.safetensors (1×6×6 → 3 and 2; normalised inputs; the first 3 classes have names),
/// FOLDER/series.safetensors (a masked sequence 5×2 → 4, by an LSTM; normalised inputs),
/// FOLDER/backward.safetensors (the same in reverse), FOLDER/words.safetensors (4 indices → 3),
/// FOLDER/pair.safetensors (3 numbers and 2 indices → 3) and FOLDER/last.safetensors (5 indices → 2, by the
/// last step of an LSTM).  Returns 0, or 1 after an error.
int write_models(char const* folder);

/// Computes `outputs` (count × all outputs, one output after another) for inputs whose elements i are
/// input_number(i), on the backend `reference`, `onednn` or `onednn_bf16`. In a mask, only the first 3 of 5
/// steps are unmasked.  Returns 0, or 1 after an error.
int expected_outputs(char const* folder, char const* model, char const* backend, int count, int masked, float* outputs);

/// Element i of every input; indices are input_index(i).
float input_number(int i);
int input_index(int i);

#ifdef __cplusplus
}
#endif
#endif
