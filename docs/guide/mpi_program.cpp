// SPDX-License-Identifier: Apache-2.0
// needs: mpi onednn
#include <mpi.h>

#include <cohort/cohort.hpp>
#include <cohort/mpi.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({2}) | dense{.units = 16} | relu{} | dense{.units = 1} | mean_squared_error{};
}>();

/// The examples of this process; no other process has a copy of them. Sizes differ.
struct own_samples {
  std::vector<float> points, values;
  int count;

  explicit own_samples(int rank) : count(300 + 100 * rank) {
    cohort::random_stream const numbers(1, "samples", static_cast<std::uint64_t>(rank));
    for (int i = 0; i < count; ++i) {
      float const x = numbers.uniform01(2 * static_cast<std::uint64_t>(i));
      float const y = numbers.uniform01(2 * static_cast<std::uint64_t>(i) + 1);
      points.insert(points.end(), {x, y});
      values.push_back(x * y);
    }
  }
  cohort::dataset data() const {
    return cohort::arrays({{.name = "point", .values = {points.data(), {count, 2}}}},
                          {{.name = "value", .values = {values.data(), {count, 1}}}});
  }
};

/// The body of the program, the same on every rank. Returns whether the network has learned.
bool train(cohort::communicator& world) {
  own_samples const mine(world.rank());
  int all = 0;
  MPI_Allreduce(&mine.count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  auto training = cohort::trainer<cohort::onednn>(net, world, cohort::allreduce{},
                                                  {.optimizer = {cohort::adam{.learning_rate = 5e-3}}});
  auto const done =
      training.fit(mine.data(), {.batch = 25, .epochs = 40, .sharding = cohort::sharding::local});

  cohort::regression_report report;
  training.evaluate(mine.data(), {&report}, {.sharding = cohort::sharding::local});
  if (world.rank() == 0)
    std::printf("%lld steps, %d examples, R² %.3f\n", static_cast<long long>(done.steps), all,
                report.r2().value_or(0));
  return report.r2() > 0.9 && report.examples() == all;
}

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  bool learned = false;
  try {
    auto const world = cohort::make_mpi(MPI_COMM_WORLD, {.log = cohort::stderr_sink()});
    try {
      learned = train(*world);
    } catch (std::exception const& problem) {
      world->abort(problem.what());  // the other ranks report this text
      throw;
    }
  } catch (cohort::communicator_error const& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    std::_Exit(failed.exit_status());  // without MPI_Finalize, which would wait for lost ranks
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    std::_Exit(1);
  }
  MPI_Finalize();
  return learned ? 0 : 1;
}
