// SPDX-License-Identifier: Apache-2.0
// User-defined types link against the implementation. Static libraries use the program's copy of the
// implementation. Shared libraries with hidden symbols have separate copies, and share the state of the
// process.
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/training/own_backend.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>

#include "process_state.hpp"
#include "training.hpp"

std::string checksum_in_first();
std::string checksum_in_second();
process_state state_in_first();
process_state state_in_second();

/// A layer: twice its input.
struct twice {
  static constexpr std::string_view kind_name = "twice";
  std::string_view name{};
  cohort::source_line at = cohort::source_line::here();

  static constexpr auto fields() { return cohort::field_list{}; }
  constexpr cohort::inference infer(std::span<cohort::shape const> inputs) const { return {inputs[0]}; }
  template <class T>
  void forward(cohort::host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.output[i] = 2 * a.inputs[0][i];
  }
  template <class T>
  void backward(cohort::host_arguments<T> const& a) const {
    if (a.diff_inputs[0])
      for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.diff_inputs[0][i] = 2 * a.diff_output[i];
  }
};

/// A backend: the reference loops under another name.
struct own_backend : cohort::reference<float> {
  static constexpr std::string_view name = "own_backend";
};

/// A strategy: allreduce under another type.
struct own_strategy {
  auto on(cohort::communicator& world) const { return cohort::allreduce{}.on(world); }
};

bool equal(char const* what, std::string const& a, std::string const& b) {
  if (a != b) std::printf("%s: %s and %s differ\n", what, a.c_str(), b.c_str());
  return a == b;
}

int main() {
  std::string const checksum = checksum_after_training<cohort::reference<float>>(cohort::allreduce{});
  bool good = equal("first static library", checksum, checksum_in_first());
  good &= equal("second static library", checksum, checksum_in_second());
  good &= equal("own backend", checksum, checksum_after_training<own_backend>(cohort::allreduce{}));
  good &= equal("own strategy", checksum, checksum_after_training<cohort::reference<float>>(own_strategy{}));
  good &= equal("process of the first shared library", std::to_string(process_state{}.id),
                std::to_string(state_in_first().id));
  good &= equal("process of the second shared library", std::to_string(process_state{}.id),
                std::to_string(state_in_second().id));
  auto const first = state_in_first().stop();
  std::raise(SIGTERM);
  auto const second = state_in_second().stop();
  good &= equal("signal", std::to_string(state_in_second().stopped()), "1");
  good &= equal("signal in the program", std::to_string(process_state{}.stopped()), "1");

  auto const doubling = cohort::trainer<cohort::reference<double>>(
      cohort::graph::build([](cohort::builder& net) { return net.input({2}) | twice{} | twice{}; }));
  double const two[]{1, 2};
  cohort::predictions const made = doubling.predict({two, {1, 2}});
  good &= equal("own layer", std::to_string(made[0][1]), std::to_string(8.0));
  return good ? 0 : 1;
}
