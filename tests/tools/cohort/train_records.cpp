// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib image
// For train_records_test.py: trains the network of that test on images in records, and prints the
// checksum of the parameters. Its arguments are the format and the file.
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/image/image_records.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstdio>
#include <string>

using namespace cohort;

int main(int count, char** words) {
  if (count != 3) return 2;
  std::string const format = words[1], path = words[2];
  image_settings const how{.labels = {"dark", "bright"}};
  dataset const images =
      format == "lmdb"
          ? dataset(image_records::of_caffe(record_set({lmdb_file(path)}, lmdb(), {.cache = ""}), how))
          : dataset(image_records(record_set(numbered_paths(path), webdataset(), {.cache = ""}), how));
  training run = trainer<reference<float>>(
      graph::build([](builder& net) {
        return net.input({3, 8, 8}) | flatten{} | dense{.units = 2} | softmax_cross_entropy{};
      }),
      {.optimizer = {adam{.learning_rate = 0.02}}});
  run.fit(images, {.batch = 5, .epochs = 3});
  std::puts(run.checksum().c_str());
}
