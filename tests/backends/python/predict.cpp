// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// For predict_test.py: writes models into a folder, and their inputs and outputs as .npy files.
#include <cohort/io/npy.hpp>
#include "../c/written_models.cpp"

int main(int count, char** words) {
  if (count != 2 || write_models(words[1]) != 0) return 2;
  std::string const folder = std::string(words[1]) + '/';
  std::vector<float> outputs(33 * 5);
  if (expected_outputs(words[1], "image", "onednn", 33, 0, outputs.data()) != 0) return 1;
  save_npy(folder + "digits.npy", tensor_view(outputs.data(), {33, 3}));
  save_npy(folder + "even.npy", tensor_view(outputs.data() + 33 * 3, {33, 2}));
  if (expected_outputs(words[1], "series", "onednn", 3, 0, outputs.data()) != 0) return 1;
  save_npy(folder + "series.npy", tensor_view(outputs.data(), {3, 5, 4}));
  if (expected_outputs(words[1], "series", "onednn", 3, 1, outputs.data()) != 0) return 1;
  save_npy(folder + "masked.npy", tensor_view(outputs.data(), {3, 5, 4}));
  if (expected_outputs(words[1], "words", "onednn", 5, 0, outputs.data()) != 0) return 1;
  save_npy(folder + "words.npy", tensor_view(outputs.data(), {5, 3}));
  if (expected_outputs(words[1], "pair", "onednn", 5, 0, outputs.data()) != 0) return 1;
  save_npy(folder + "pair.npy", tensor_view(outputs.data(), {5, 3}));
  if (expected_outputs(words[1], "last", "onednn", 3, 0, outputs.data()) != 0) return 1;
  save_npy(folder + "last.npy", tensor_view(outputs.data(), {3, 2}));
  return 0;
}
