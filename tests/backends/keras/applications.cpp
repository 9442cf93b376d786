// SPDX-License-Identifier: Apache-2.0
// needs: keras onednn
// applications MODEL INPUT OUTPUT: predicts with a Keras model. INPUT has images C×H×W as f32; OUTPUT gets
// the outputs as f32.
#include <cohort/cohort.hpp>
#include <cohort/io/file.hpp>
#include <cohort/keras.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

int main(int count, char** arguments) {
  if (count != 4) return 2;
  cohort::imported_model const model = cohort::load_keras(arguments[1], {.training = false});
  cohort::training const run = cohort::load_imported<cohort::onednn>(model);
  auto const bytes = cohort::io::read_file(arguments[2]);
  std::vector<float> images(bytes.size() / sizeof(float));
  std::memcpy(images.data(), bytes.data(), images.size() * sizeof(float));
  cohort::shape const example = run.network()[0].output;
  int const examples = static_cast<int>(images.size()) / static_cast<int>(example.elements());
  auto const made = run.predict(cohort::tensor_view(images.data(), example.batched(examples)));
  std::ofstream(arguments[3], std::ios::binary)
      .write(reinterpret_cast<char const*>(made.values.data()),
             static_cast<std::streamsize>(made.values.size() * sizeof(float)));
  std::printf("%lld parameters\n", static_cast<long long>(run.network().parameter_count()));
}
