// SPDX-License-Identifier: Apache-2.0
// needs: transform
#include <cohort/communicator/launch.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <cstdio>

int main() try {
  using namespace cohort;
  transform_pipeline const how{
      .schema = {{{.name = "machine", .type = column_type::text},
                  {.name = "time", .type = column_type::time},
                  {.name = "load", .lowest = 0},
                  {.name = "mode", .type = column_type::text},
                  {.name = "state", .type = column_type::category, .values = {"healthy", "worn"}}}},
      .steps = {pipeline::filter{"mode != 'test'"}, pipeline::derive{"night", "hour(time) < 6"},
                pipeline::impute{.columns = {"load"}, .with = pipeline::replacement::median},
                pipeline::categories{.columns = {"mode"}, .other = "other"}, pipeline::one_hot{{"mode"}},
                pipeline::normalise{{"load"}}, pipeline::group_by_key{{"machine"}, "time"},
                pipeline::windows{.length = 12, .stride = 6}}};

  launch<threads>(2, [&](communicator& world) {
    std::vector<std::string> const files{world.rank() == 0 ? "north.csv" : "south.csv"};
    table_pieces const rows = pieces_of(files, how.schema);
    transform_settings const settings{.bad = bad_record::skip};
    fitted_pipeline const fitted(how, rows, world, settings);

    keyed_sequences const windows(fitted, rows, world, settings);
    dataset const examples = windows.examples({.target = "state"});
    std::vector<std::uint64_t> count{static_cast<std::uint64_t>(examples.size())};
    world.allreduce(std::span(count));
    if (world.rank() == 0) {
      std::printf("%lld rows, %lld removed, %lld skipped\n", static_cast<long long>(windows.report().rows),
                  static_cast<long long>(windows.report().removed),
                  static_cast<long long>(windows.report().skipped));
      for (std::string const& problem : windows.report().problems) std::printf("%s\n", problem.c_str());
      std::printf("%llu examples of %s\n", static_cast<unsigned long long>(count[0]),
                  to_string(examples.describe().inputs[0].example).c_str());
      io::write_file("log.json", to_json(fitted));
    }
  });

  fitted_pipeline const fitted = fitted_pipeline::from_json(io::read_text("log.json"), "log.json");
  table_row const row{"m1", "2026-11-25T03:30:00Z", {}, "eco", "healthy"};
  std::optional<table_row> const made = fitted.apply(row);
  for (std::size_t c = 0; made && c < made->size(); ++c)
    if (double const* const number = std::get_if<double>(&(*made)[c]))
      std::printf("%s %.2f\n", fitted.schema().columns[c].name.c_str(), *number);
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
