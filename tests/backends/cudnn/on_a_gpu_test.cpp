// SPDX-License-Identifier: Apache-2.0
// label: gpu
// The cases of a pretended GPU on the one that is there; without one they are skipped, which this label alone may.
#include <cohort/cudnn.hpp>
#include <memory>
#include <string>

#include "cudnn_cases.hpp"

namespace {

struct machine_under_test {
  std::string missing{};
  std::shared_ptr<cohort::detail::gpu> found{};

  machine_under_test() {
    try {
      found = std::make_shared<cohort::detail::gpu>();
    } catch (cohort::backend_error const& why) {
      missing = why.what();
    }
  }
  std::shared_ptr<cohort::detail::compute_stream> stream() const {
    return std::make_shared<cohort::detail::compute_stream>(found);
  }
};

}  // namespace

#include "passes_cases.hpp"

namespace {

/// cudnn where a GPU is, although it has not all layers yet.
struct with_few_layers : cudnn {
  static availability probe() { return {}; }
};

class on_a_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (machine_under_test const machine; !machine.missing.empty()) GTEST_SKIP() << machine.missing;
  }
};

TEST_F(on_a_gpu, a_network_agrees_with_the_reference) {
  cudnn_cases::agrees_with_the_reference<with_few_layers>();
}
TEST_F(on_a_gpu, a_network_trains_as_on_the_reference) {
  cudnn_cases::trains_as_the_reference_does<with_few_layers>();
}
TEST_F(on_a_gpu, a_network_learns) { cudnn_cases::learns<with_few_layers>(); }

}  // namespace
