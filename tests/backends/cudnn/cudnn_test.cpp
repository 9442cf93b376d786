// SPDX-License-Identifier: Apache-2.0
// uses: onednn
#include <gtest/gtest.h>
#include <cohort/cudnn.hpp>
#include <cohort/trainer/trainer.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif
#include <cstdlib>
#include <string>
#include <vector>

#include "cudnn_cases.hpp"
#include "fake_machine.hpp"

namespace {

using namespace cohort;
using cohort_test::bright_thirds;

#if __has_include(<cohort/onednn.hpp>)
using of_the_processor = onednn;
#else
using of_the_processor = reference<float>;
#endif

/// cudnn on a pretended machine: plan, memory, layouts, descriptions and launches are the real ones.
struct pretended_cudnn : cudnn {
  static inline fake_machine* machine = nullptr;
  pretended_cudnn()
      : cudnn(
          std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine->source()), "")) {}
  static availability probe() { return {}; }
};

class cudnn_backend : public testing::Test {
 protected:
  cudnn_backend() { pretended_cudnn::machine = &machine; }
  ~cudnn_backend() override {
    EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU";
    EXPECT_EQ(fake_blas::descriptions, 0) << "descriptions of cuBLASLt are left";
  }
  fake_machine machine;
};

TEST_F(cudnn_backend, agrees_with_the_reference) {
  cudnn_cases::agrees_with_the_reference<pretended_cudnn>();
}
TEST_F(cudnn_backend, trains_as_the_reference_does) {
  cudnn_cases::trains_as_the_reference_does<pretended_cudnn>();
}
TEST_F(cudnn_backend, learns) { cudnn_cases::learns<pretended_cudnn>(); }

TEST_F(cudnn_backend, refuses_a_layer_that_it_has_no_kernels_for_by_name) {
  try {
    trainer<pretended_cudnn>(cohort_test::small);
    FAIL() << "a plan with a convolution was made";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(),
                 "the backend cudnn has no kernels for this kind of layer (conv2d_1): got conv2d");
  }
}

TEST_F(cudnn_backend, says_so_where_cublaslt_has_no_algorithm) {
  fake_blas::has_algorithms = false;
  EXPECT_THROW(trainer<pretended_cudnn>(cudnn_cases::mlp), backend_error);
  fake_blas::has_algorithms = true;
}

TEST(cudnn, is_passed_over_and_the_processor_trains) {
  ::unsetenv("BACKEND_PRIORITY_CPU");
  ::unsetenv("BACKEND_PRIORITY_GPU");
  std::vector<std::string> said;
  bright_thirds const examples(20);
  training made = trainer<priority<cudnn, of_the_processor>>(
      cudnn_cases::mlp, {.log = [&](std::string_view line) { said.emplace_back(line); }});
  made.fit(examples.data(), {.batch = 10});
  ASSERT_FALSE(said.empty());
  std::string const line = "backend: " + std::string(of_the_processor::name) + " (passed over: cudnn: ";
  EXPECT_EQ(said[0].substr(0, line.size()), line);
  EXPECT_EQ(said[0], line + cudnn::probe().reason + ")");
}

TEST(cudnn, says_why_it_cannot_be_used) {
  fake_machine machine;
  EXPECT_EQ(cudnn::probe(machine.source()).reason,
            "it has no convolutions yet (Pretended GPU could be used)");
  machine.libraries.erase("libcuda.so.1");
  availability const found = cudnn::probe(machine.source());
  EXPECT_FALSE(found.usable);
  EXPECT_EQ(found.reason, "the NVIDIA driver cannot be loaded (libcuda.so.1: no such file)");
}

}  // namespace
