// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// label: slow
// Classifies ten test digits with a model file saved by lenet_mnist. The file also contains the network.
//   lenet_mnist --save lenet.safetensors && 03_predict lenet.safetensors
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/load.hpp>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace {

constexpr int side = 28;
constexpr int cell_width = 2, cell_height = 4;  // pixels per character
constexpr int digits_per_line = 5;

/// Returns one line of a digit, drawn with characters.
std::string line_of(std::span<float const> pixels, int row) {
  constexpr std::string_view shades = " .:-=+*#%@";
  std::string line;
  for (int column = 0; column < side / cell_width; ++column) {
    float sum = 0;
    for (int y = 0; y < cell_height; ++y)
      for (int x = 0; x < cell_width; ++x)
        sum += pixels[static_cast<std::size_t>((row * cell_height + y) * side + column * cell_width + x)];
    auto const shade = static_cast<std::size_t>(sum / (cell_width * cell_height) * 9.99F);
    line += shades[shade];
  }
  return line;
}

/// Prints digits side by side, and below each its predicted class and probability.
void print(std::span<float const> pixels, std::span<std::int32_t const> labels,
           cohort::predictions const& made, int first) {
  for (int row = 0; row < side / cell_height; ++row) {
    for (int i = first; i < first + digits_per_line; ++i)
      std::printf(
          "%s  ",
          line_of(pixels.subspan(static_cast<std::size_t>(i * side * side), side * side), row).c_str());
    std::puts("");
  }
  for (int i = first; i < first + digits_per_line; ++i) {
    int const best = made.best(i);
    int const label = labels[static_cast<std::size_t>(i)];
    char caption[40];
    std::snprintf(caption, sizeof caption, "%d %.1f %%%s", best,
                  100 * static_cast<double>(made[i][static_cast<std::size_t>(best)]),
                  best == label ? "" : (", not " + std::to_string(label)).c_str());
    std::printf("%-16s", caption);
  }
  std::puts("\n");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 || *argv[1] == '-') {
    std::fputs("usage: 03_predict MODEL_FILE\n", stderr);
    return 2;
  }
  auto const trained = cohort::load_trained<cohort::onednn>(argv[1]);
  auto const digits = cohort::mnist::real_or_synthetic();
  if (digits.synthetic) std::puts("MNIST was not found: these digits are synthetic.\n");

  cohort::loader batches(digits.test, {.batch = 2 * digits_per_line, .shuffle = false});
  cohort::batch const* const ten = batches.next();
  cohort::predictions const made = trained.predict(ten->input());
  for (int first : {0, digits_per_line})
    print(ten->input().as<float>(), ten->target().as<std::int32_t>(), made, first);
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
