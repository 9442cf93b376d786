// SPDX-License-Identifier: Apache-2.0
// needs: keras
// train_and_export MODEL FOLDER: imports a masked bidirectional model of Keras, trains it on two ranks, and
// writes it as FOLDER/model.onnx, with inputs and Cohort's outputs as FOLDER/{inputs,outputs}. Padding is 0.
// Prints the first and the last loss.
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/keras.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace cohort;

namespace {

constexpr int examples = 8, steps = 5, features = 3, classes = 3;

template <class T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::string const folder = std::string(arguments[2]) + '/';
  imported_model const model = load_keras(arguments[1]);

  std::vector<float> inputs(examples * steps * features);
  std::vector<std::int32_t> labels(examples);
  for (int n = 0; n < examples; ++n) {
    labels[static_cast<std::size_t>(n)] = n % classes;
    for (int t = 0; t < 1 + n % steps; ++t)
      for (int k = 0; k < features; ++k)
        inputs[static_cast<std::size_t>((n * steps + t) * features + k)] =
            static_cast<float>(std::sin(7 * n + 3 * t + k));
  }
  batch_view all(tensor_view(inputs.data(), {examples, steps, features}),
                 tensor_view(labels.data(), {examples}));

  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training run = trainer<reference<float>>(model.network(), world, allreduce{}, model.settings);
    model.read_parameters(run.parameters());
    int const half = examples / world.size();
    double first = 0, last = 0;
    for (int step = 0; step < 100; ++step) {
      last = run.train_on(all.rows(world.rank() * half, half)).loss;
      if (step == 0) first = last;
    }
    export_onnx(run, folder + "model.onnx", {.padding_at_end = true});
    if (world.rank() != 0) return;
    io::write_file(folder + "inputs", bytes_of(inputs));
    io::write_file(folder + "outputs", bytes_of(run.predict(all).values));
    std::printf("%.4f %.4f\n", first, last);
  });
}
