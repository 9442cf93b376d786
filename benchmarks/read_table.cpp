// SPDX-License-Identifier: Apache-2.0
// Reads a CSV file repeatedly on one thread, and prints the time of a read as JSON, one line per block:
//   read_table FILE [f32|f64]
// The first line describes the program. Each line of standard input contains the seconds of a block.
// compare_read_table.py runs this program; pandas_read_csv.py is its counterpart.
#include "context.hpp"
#include "stopwatch.hpp"

#include <algorithm>
#include <cohort/data/read_table.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace benchmarks;

void block(char const* path, cohort::table_settings const& settings, double wanted) {
  std::vector<double> times;
  double sum = 0;
  for (double total = 0; total < wanted || times.size() < 3; total += times.back())
    times.push_back(seconds([&] {
      cohort::data_table const table = cohort::read_table(path, settings);
      std::string const& last =
          *std::find_if(table.columns().rbegin(), table.columns().rend(),
                        [&](std::string const& name) { return !table.has_texts(name); });
      sum = table.number_type() == cohort::element_type::f64
                ? table.numbers<double>(last).back()
                : static_cast<double>(table.numbers(last).back());
    }));
  std::printf("{\"ms_per_read\": %.6f, \"reads\": %zu, \"last\": %.17g}\n", median(times) * 1e3, times.size(),
              sum);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: read_table FILE [f32|f64]\n");
    return 2;
  }
  bool const singles = argc == 3 && std::strcmp(argv[2], "f32") == 0;
  cohort::table_settings const settings{.number_type =
                                            singles ? cohort::element_type::f32 : cohort::element_type::f64};
  std::printf("{\"name\": \"cohort\", \"commit\": \"%s\", \"compiler\": \"%s\"}\n", commit().c_str(),
              compiler().c_str());
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin);) block(argv[1], settings, std::atof(line));
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
