// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// label: slow
// Eight threads classify one digit at a time with a saved network: directly, and through the dynamic batcher.
//   lenet_mnist --save lenet.safetensors && 04_serve lenet.safetensors
#include <atomic>
#include <chrono>
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cohort/prediction/dynamic_batcher.hpp>
#include <cohort/training/load.hpp>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

namespace {

constexpr int callers = 8;
constexpr int max_digits_per_caller = 500;

/// Runs all callers concurrently, each on different digits, and prints accuracy and throughput.
///
/// Errors    rethrows the first caller's exception.
template <class Predict>
void serve(char const* how, cohort::batch const& digits, Predict predict) {
  int const each = digits.count / callers, all = callers * each;
  std::atomic<int> correct{0};
  std::exception_ptr failures[callers];
  auto const begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller)
    threads.emplace_back([&, caller] {
      try {
        for (int i = caller * each; i < (caller + 1) * each; ++i) {
          cohort::predictions const made = predict(digits.input().rows(i, 1));
          correct += made.best(0) == digits.target().as<std::int32_t>()[static_cast<std::size_t>(i)];
        }
      } catch (...) {
        failures[caller] = std::current_exception();
      }
    });
  for (std::thread& one : threads) one.join();
  for (std::exception_ptr const& one : failures)
    if (one) std::rethrow_exception(one);
  std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
  std::printf("%-12s %.1f %% correct, %.0f digits/s\n", how, 100.0 * correct / all, all / taken.count());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 || *argv[1] == '-') {
    std::fputs("usage: 04_serve MODEL_FILE\n", stderr);
    return 2;
  }
  auto const trained = cohort::load_trained<cohort::onednn>(argv[1]);
  auto const data = cohort::mnist::real_or_synthetic();
  if (data.synthetic) std::puts("MNIST was not found: these digits are synthetic.");
  cohort::loader batches(data.test, {.batch = callers * max_digits_per_caller, .shuffle = false});
  cohort::batch const& digits = *batches.next();

  serve("one by one", digits, [&](cohort::tensor_view digit) { return trained.predict(digit); });
  cohort::dynamic_batcher batcher(trained, {.max_batch = callers,
                                            .max_delay = std::chrono::microseconds(200),
                                            .deadline = std::chrono::seconds(1),
                                            .runs = 2});
  serve("in batches", digits, [&](cohort::tensor_view digit) { return batcher.predict(digit); });
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
