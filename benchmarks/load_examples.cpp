// SPDX-License-Identifier: Apache-2.0
// Loads examples in batches, and prints the examples per second as JSON, one line per block:
//   load_examples jpeg TAR READERS     images of a WebDataset in random order, randomly cropped and flipped;
//                                      batches of 64
//   load_examples lmdb FOLDER READERS  raw Datums of 3x32x32 bytes in random order; batches of 128
//   load_examples csv FILE READERS     a table of numbers in the order of the file; batches of 1024
//   load_examples csv_shuffled FILE READERS  the same, shuffled by blocks
// The first line describes the program. Each line of standard input contains the seconds of a block.
// compare_loading.py runs this program; pytorch_load.py is its counterpart.
// needs: image records
#include "arguments.hpp"
#include "context.hpp"
#include "stopwatch.hpp"

#include <sys/resource.h>
#include <chrono>
#include <cohort/data/loader.hpp>
#include <cohort/image.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/table_rows.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cohort;

std::vector<std::string> ten_classes() {
  std::vector<std::string> names;
  for (int k = 0; k < 10; ++k) names.push_back(std::to_string(k));
  return names;
}

dataset jpeg_images(std::string const& path) {
  image_records images(record_set({path}, webdataset()),
                       {.height = 224, .width = 224, .labels = ten_classes()});
  return augmented(std::move(images), {.padding = 8, .place = placing::anywhere, .flip = true, .seed = 1});
}

dataset datums(std::string const& folder) {
  return image_records::of_caffe(record_set({lmdb_file(folder)}, lmdb()),
                                 {.height = 32, .width = 32, .labels = ten_classes()});
}

dataset numbers(std::string const& path) {
  table_rows const rows({path});
  return rows.examples(table_encoder(rows.read(0, 1000), {.target = "y", .regression = true}));
}

void block(loader& batches, std::int64_t& epoch, double wanted) {
  using clock = std::chrono::steady_clock;
  auto const begin = clock::now();
  std::chrono::duration<double> passed{};
  std::int64_t loaded = 0;
  double sum = 0;
  while (passed.count() < wanted) {
    batch const* next = batches.next();
    if (!next) {
      batches.start(++epoch);
      next = batches.next();
    }
    loaded += next->count;
    sum += static_cast<double>(next->input().as<float>()[0]);
    passed = clock::now() - begin;
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("{\"examples_per_second\": %.6g, \"examples\": %lld, \"memory_bytes\": %lld, \"sum\": %.9g}\n",
              static_cast<double>(loaded) / passed.count(), static_cast<long long>(loaded),
              static_cast<long long>(used.ru_maxrss) << 10, sum);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  std::string const kind = argc == 4 ? argv[1] : "";
  if (kind != "jpeg" && kind != "lmdb" && kind != "csv" && kind != "csv_shuffled") {
    std::fprintf(stderr, "usage: load_examples jpeg|lmdb|csv|csv_shuffled PATH READERS\n");
    return 2;
  }
  int const readers = benchmarks::whole_number(argv[3], "READERS");
  dataset const data = kind == "jpeg"   ? jpeg_images(argv[2])
                       : kind == "lmdb" ? datums(argv[2])
                                        : numbers(argv[2]);
  loader_settings how{.batch = kind == "jpeg"   ? 64
                               : kind == "lmdb" ? 128
                                                : 1024,
                      .seed = 1,
                      .prefetch = 4,
                      .readers = readers};
  how.shuffle = kind != "csv";
  if (kind == "csv_shuffled") how.blocks = {.block = 4096, .window = 65536};
  loader batches(data, how);
  std::int64_t epoch = 0;
  batches.start(epoch);
  std::printf("{\"name\": \"cohort\", \"commit\": \"%s\", \"compiler\": \"%s\", \"examples\": %lld}\n",
              benchmarks::commit().c_str(), benchmarks::compiler().c_str(),
              static_cast<long long>(data.size()));
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin);) block(batches, epoch, std::atof(line));
} catch (std::exception const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
