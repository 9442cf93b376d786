// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/hdf5_rows.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/inflater.hpp>
#include <cohort/records/record_set.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "../../data/refused.hpp"

/// Reads rows of a file with random damage in each of `rounds` rounds: 1 to `most_changes` bytes, and in
/// every tenth round another size. Rows are read within the file, or refused by a data_error. Returns the
/// number of refused files.
inline int refusals_of_damaged_rows(std::string const& path, std::vector<std::string> const& arrays,
                                    int rounds, int most_changes, cohort::io::inflater const& inflate = {}) {
  constexpr std::int64_t most_rows = 1000;  // damaged extents may claim more, all of the fill value
  std::string const whole = cohort::io::read_text(path), damaged = fresh_path("damaged.h5");
  std::mt19937 random(3);
  int refusals = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text = whole;
    for (int changes = 1 + round % most_changes; changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(random());
    if (round % 10 == 0) text.resize(random() % text.size());
    cohort::io::write_file(damaged, text);
    try {
      cohort::record_set const records({damaged}, cohort::hdf5_rows(arrays, inflate),
                                       {.cache = "", .max_field_bytes = 1 << 20});
      std::vector<std::byte> memory;
      for (std::int64_t record = 0; record < std::min(records.size(), most_rows); ++record)
        for (std::size_t field = 0; field < arrays.size(); ++field) (void)records.read(record, field, memory);
    } catch (cohort::data_error const&) {
      ++refusals;
    }
  }
  std::filesystem::remove(damaged);
  return refusals;
}
