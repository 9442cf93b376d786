// SPDX-License-Identifier: Apache-2.0
// An application that trains a network on arrays in memory and then uses it in two threads.
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

namespace {

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({2}) | dense{.units = 16} | relu{} | dense{.units = 16} | relu{} | dense{.units = 2}
         | softmax_cross_entropy{};
}>();

/// Points of a grid over the square from (-1, -1) to (1, 1). The label of a point is whether it is inside a
/// ring.
struct grid {
  std::vector<float> points;
  std::vector<std::int32_t> in_ring;

  explicit grid(int side) {
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column) {
        float const x = 2 * (static_cast<float>(column) + 0.5F) / static_cast<float>(side) - 1;
        float const y = 2 * (static_cast<float>(row) + 0.5F) / static_cast<float>(side) - 1;
        points.insert(points.end(), {x, y});
        float const square = x * x + y * y;
        in_ring.push_back(square > 0.2F && square < 0.7F ? 1 : 0);
      }
  }
  int size() const { return static_cast<int>(in_ring.size()); }
};

/// Fraction of correctly classified points, in thousandths. Threads share the model without changing it.
int accuracy_of(cohort::training const& model, grid const& asked) {
  auto const answers = model.predict(cohort::tensor_view(asked.points.data(), {asked.size(), 2}));
  int right = 0;
  for (int i = 0; i < asked.size(); ++i)
    right += answers.best(i) == asked.in_ring[static_cast<std::size_t>(i)];
  return 1000 * right / asked.size();
}

}  // namespace

int main() try {
  grid const known(64), coarse(37), fine(101);
  auto model = cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adam{.learning_rate = 5e-3}}});
  model.fit(cohort::arrays(known.points, {2}, known.in_ring, 2), {.batch = 64, .epochs = 20});

  int of_coarse = 0, of_fine = 0;
  std::exception_ptr failures[2];  // exceptions must not leave a thread
  auto const ask = [&](grid const& asked, int& right, std::exception_ptr& failure) {
    try {
      right = accuracy_of(model, asked);
    } catch (...) {
      failure = std::current_exception();
    }
  };
  std::thread one([&] { ask(coarse, of_coarse, failures[0]); }),
      other([&] { ask(fine, of_fine, failures[1]); });
  one.join();
  other.join();
  for (auto const& failure : failures)
    if (failure) std::rethrow_exception(failure);
  std::printf("correctly classified: %.1f %% of %d, %.1f %% of %d\n", of_coarse / 10.0, coarse.size(),
              of_fine / 10.0, fine.size());
  return of_coarse > 900 && of_fine > 900 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
