// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// label: slow
// An autoencoder on MNIST: it learns to restore images from 16 numbers. Prints its reconstruction error
// beside that of principal component analysis with as many components, the best linear autoencoder.
#include <algorithm>
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace {

constexpr int pixels = 28 * 28;
constexpr int codes = 16;  // numbers per image
constexpr int most_images = 10'000;

// clang-format off
constexpr auto autoencoder = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({pixels})
       | dense{.units = 256} | relu{}
       | dense{.units = codes, .name = "code"}
       | dense{.units = 256} | relu{}
       | dense{.units = pixels} | sigmoid{} | mean_squared_error{};
}>();
// clang-format on

/// Returns the first images of a data set, at most most_images, one per row.
std::vector<float> pixels_of(cohort::dataset const& images) {
  std::vector<float> rows;
  cohort::loader batches(images, {.batch = 500, .shuffle = false});
  while (cohort::batch const* const some = batches.next()) {
    auto const values = some->input().as<float>();
    rows.insert(rows.end(), values.begin(), values.end());
    if (rows.size() >= std::size_t{most_images} * pixels) break;
  }
  return rows;
}

/// Images as inputs and as targets.
cohort::arrays images_of(std::vector<float> const& rows) {
  cohort::tensor_view const values(rows.data(), {static_cast<int>(rows.size() / pixels), pixels});
  return cohort::arrays({{.name = "image", .values = values}}, {{.name = "restored", .values = values}});
}

using direction = std::vector<double>;

double product(direction const& a, direction const& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Mean image and principal components, which are orthogonal unit vectors.
struct principal_components {
  direction mean = direction(pixels);
  std::vector<direction> components{};

  direction centred(float const* image) const {
    direction made(image, image + pixels);
    std::transform(made.begin(), made.end(), mean.begin(), made.begin(), std::minus<>());
    return made;
  }

  /// Returns the mean squared error per pixel of images restored from their first `count` components.
  double error(std::vector<float> const& rows, std::size_t count) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); i += pixels) {
      direction const image = centred(rows.data() + i);
      sum += product(image, image);
      for (std::size_t k = 0; k < count; ++k) {
        double const score = product(image, components[k]);
        sum -= score * score;
      }
    }
    return sum / static_cast<double>(rows.size());
  }
};

/// Computes the components of the covariance's largest eigenvalues by orthogonal iteration.
principal_components fit_components(std::vector<float> const& rows) {
  principal_components fitted;
  auto const images = static_cast<double>(rows.size() / pixels);
  for (std::size_t i = 0; i < rows.size(); ++i) fitted.mean[i % pixels] += rows[i] / images;
  std::vector<direction> covariance(pixels, direction(pixels));
  for (std::size_t i = 0; i < rows.size(); i += pixels) {
    direction const image = fitted.centred(rows.data() + i);
    for (std::size_t a = 0; a < pixels; ++a)
      for (std::size_t b = 0; b < pixels; ++b) covariance[a][b] += image[a] * image[b];
  }
  cohort::random_stream const random(1, "components");
  for (std::size_t k = 0; k < codes; ++k) {
    direction& start = fitted.components.emplace_back(pixels);
    for (std::size_t a = 0; a < pixels; ++a) start[a] = random.normal(k * pixels + a);
  }
  for (int iteration = 0; iteration < 200; ++iteration)
    for (std::size_t k = 0; k < codes; ++k) {
      direction next(pixels);
      for (std::size_t a = 0; a < pixels; ++a) next[a] = product(covariance[a], fitted.components[k]);
      for (std::size_t before = 0; before < k; ++before) {
        double const shadow = product(next, fitted.components[before]);
        for (std::size_t a = 0; a < pixels; ++a) next[a] -= shadow * fitted.components[before][a];
      }
      double const length = std::sqrt(product(next, next));
      for (double& element : next) element /= length;
      fitted.components[k] = std::move(next);
    }
  return fitted;
}

}  // namespace

int main() try {
  auto const digits = cohort::mnist::real_or_synthetic();
  std::vector<float> const training_rows = pixels_of(digits.train), test_rows = pixels_of(digits.test);
  if (digits.synthetic) std::puts("MNIST was not found: these digits are synthetic.");
  std::printf("%d images to train, %d to test; %d numbers per image\n",
              static_cast<int>(training_rows.size() / pixels), static_cast<int>(test_rows.size() / pixels),
              codes);

  principal_components const linear = fit_components(training_rows);
  std::printf("mean squared error per pixel, test images:\n  mean image      %.5f\n  components      %.5f\n",
              linear.error(test_rows, 0), linear.error(test_rows, codes));

  auto training = cohort::trainer<cohort::onednn>(
      autoencoder, {.optimizer = {.rule = cohort::adam{.learning_rate = 1e-3}}, .seed = 1});
  training.fit(images_of(training_rows), {.batch = 64, .epochs = 20});
  cohort::regression_report restored(pixels);
  training.evaluate(images_of(test_rows), {&restored});
  std::printf("  autoencoder     %.5f\n", restored.mse().value());
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
