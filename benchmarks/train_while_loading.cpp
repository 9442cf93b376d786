// SPDX-License-Identifier: Apache-2.0
// needs: image onednn records
// Measures whether training and decoding share two processors without waiting for each other:
//   train_while_loading TAR CHANNELS READERS [ROUNDS] [SECONDS]
// TAR: a WebDataset of JPEG images with 10 classes, as compare_loading.py writes it. CHANNELS: 16, 32, 48, 64
// or 96; more channels make a step more expensive. Each round measures four blocks: loading (READERS
// threads); steps on one batch (one thread); both at the same time, where the steps do not use the loaded
// batches; and training on the loaded batches. The ideal rate is two processors divided by the processor time
// of loading an image and of its step. These times are measured twice: alone, and at the same time, when the
// threads share caches and memory. Prints medians.
#include "arguments.hpp"
#include "context.hpp"
#include "stopwatch.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cohort/cohort.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/image.hpp>
#include <cohort/onednn.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/webdataset.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace cohort;

constexpr int batch_size = 64;
constexpr double processors = 2;

template <int Channels>
constexpr auto net = network<[](builder& net) {
  return net.input({3, 224, 224}) | conv2d{.filters = Channels, .kernel = 8, .stride = 8} | relu{}
         | global_avg_pool{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

dataset images(std::string const& path) {
  std::vector<std::string> classes;
  for (int k = 0; k < 10; ++k) classes.push_back(std::to_string(k));
  image_records records(record_set({path}, webdataset()), {.height = 224, .width = 224, .labels = classes});
  return augmented(std::move(records), {.padding = 8, .place = placing::anywhere, .flip = true, .seed = 1});
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct rate {
  double per_second = 0;      // images per second
  double processor_time = 0;  // seconds per image
};

/// Repeats a call that processes one batch, for the given time.
template <class Call>
rate measured(double wanted, Call call) {
  using clock = std::chrono::steady_clock;
  double const used = processor_seconds();
  auto const begin = clock::now();
  std::chrono::duration<double> passed{};
  double images = 0;
  for (; passed.count() < wanted; passed = clock::now() - begin) {
    call();
    images += batch_size;
  }
  return {images / passed.count(), (processor_seconds() - used) / images};
}

template <int Channels>
void compare(std::string const& path, int readers, int rounds, double seconds) {
  loader batches(images(path),
                 {.batch = batch_size, .seed = 1, .drop_last = true, .prefetch = 4, .readers = readers});
  auto run = trainer<onednn>(net<Channels>, {.optimizer = {sgd{.learning_rate = 0.01}}, .workers = 1});
  training_loop loop(run);
  loader one_batch(images(path), {.batch = batch_size, .seed = 1, .drop_last = true});
  one_batch.start(0);
  batch const* const fixed = one_batch.next();
  std::int64_t epoch = 0;
  batches.start(epoch);
  auto const load = [&] {
    batch const* next = batches.next();
    if (next) return next;
    batches.start(++epoch);
    return batches.next();
  };
  auto const step = [&](batch const& one) {
    loop.forward(batch_view(one));
    loop.backward();
    loop.step();
  };
  std::vector<double> loads, steps, training, alone, shared, shares, of_alone, of_shared;
  for (int round = 0; round <= rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the reader fills its queue and then waits
    rate const stepping = measured(seconds, [&] { step(*fixed); });
    for (int k = 0; k < 5; ++k) load();  // empties the queue
    rate const loading = measured(seconds, [&] { load(); });
    rate loading_beside;
    std::thread consumer([&] { loading_beside = measured(seconds, [&] { load(); }); });
    rate const stepping_beside = measured(seconds, [&] { step(*fixed); });
    consumer.join();
    rate const together = measured(seconds, [&] { step(*load()); });
    if (round == 0) continue;  // the first round is a warm-up
    loads.push_back(loading.per_second);
    steps.push_back(stepping.per_second);
    training.push_back(together.per_second);
    alone.push_back(processors / (loading.processor_time + stepping.processor_time));
    shared.push_back(processors / (1 / loading_beside.per_second + 1 / stepping_beside.per_second));
    shares.push_back(stepping.processor_time / loading.processor_time);
    of_alone.push_back(training.back() / alone.back());
    of_shared.push_back(training.back() / shared.back());
  }
  using benchmarks::median;
  std::printf("commit %s, %s\n", benchmarks::commit().c_str(), benchmarks::compiler().c_str());
  std::printf("loading %.0f/s, steps %.0f/s, processor time of a step / of loading %.2f\n", median(loads),
              median(steps), median(shares));
  std::printf("training %.0f/s, ideal %.0f/s, side by side %.0f/s, ratios %.3f and %.3f (", median(training),
              median(alone), median(shared), median(of_alone), median(of_shared));
  for (double const one : of_shared) std::printf(" %.3f", one);
  std::printf(" )\n");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4 || argc > 6) {
    std::fprintf(stderr, "usage: train_while_loading TAR CHANNELS READERS [ROUNDS] [SECONDS]\n");
    return 2;
  }
  int const readers = benchmarks::whole_number(argv[3], "READERS");
  int const rounds = argc > 4 ? benchmarks::whole_number(argv[4], "ROUNDS") : 5;
  double const seconds = argc > 5 ? benchmarks::real_number(argv[5], "SECONDS") : 4;
  switch (benchmarks::whole_number(argv[2], "CHANNELS")) {
    case 16:
      compare<16>(argv[1], readers, rounds, seconds);
      break;
    case 32:
      compare<32>(argv[1], readers, rounds, seconds);
      break;
    case 48:
      compare<48>(argv[1], readers, rounds, seconds);
      break;
    case 64:
      compare<64>(argv[1], readers, rounds, seconds);
      break;
    case 96:
      compare<96>(argv[1], readers, rounds, seconds);
      break;
    default:
      std::fprintf(stderr, "CHANNELS: expected 16, 32, 48, 64 or 96, got %s\n", argv[2]);
      return 2;
  }
  return 0;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
