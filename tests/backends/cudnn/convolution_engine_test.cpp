// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/detail/convolution_engine.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_convolution_engine_test {

using namespace cohort;
using detail::convolution_engine, detail::convolution_pass;
using counts = std::map<std::int64_t, int>;

class engine_of_a_convolution : public testing::Test {
 protected:
  engine_of_a_convolution() { fake_dnn::now.varies_with_shape = false; }
  ~engine_of_a_convolution() override {
    dnn.reset();
    EXPECT_EQ(fake_dnn::descriptions(), 0) << "descriptions of cuDNN are left";
    EXPECT_EQ(fake_dnn::handles, 0) << "handles of cuDNN are left";
  }

  static detail::convolution_extents extents() {
    return {.input = {2, 3, 5, 6},
            .weights = {4, 3, 3, 2},
            .output = {2, 4, 4, 7},
            .stride = 1,
            .dilation = 1,
            .rows = {1, 0},
            .columns = {0, 2}};
  }
  /// Runs the engine on three tensors of ones and a workspace, adjacent in memory.
  void run(convolution_engine const& engine) const {
    alignas(convolution_engine::workspace_alignment) float x[2048];
    for (float& one : x) one = 1;
    engine.run(x, x + 256, x + 512, x + 1024);
    dnn->stream().wait();
  }
  std::string refusal(detail::product_precision products = detail::product_precision::f32) {
    convolution_engine const none(dnn, convolution_pass::output, extents(), products);
    EXPECT_FALSE(none.found());
    try {
      none.refuse("conv2d_7");
    } catch (backend_error const& why) {
      return why.what();
    }
  }

  fake_dnn::settings with;
  fake_machine machine;
  std::shared_ptr<detail::dnn_on_gpu const> dnn = std::make_shared<detail::dnn_on_gpu>(
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), ""));
};

TEST_F(engine_of_a_convolution, is_the_best_that_is_exact_and_can_be_planned) {
  for (convolution_pass const pass :
       {convolution_pass::output, convolution_pass::input, convolution_pass::weights}) {
    convolution_engine const chosen(dnn, pass, extents());
    ASSERT_TRUE(chosen.found());
    EXPECT_EQ(chosen.number(), 6);
    EXPECT_EQ(chosen.workspace_bytes(), 1000U);
    run(chosen);
  }
  EXPECT_EQ(fake_dnn::runs, (counts{{6, 3}}));
}

TEST_F(engine_of_a_convolution, may_use_tensor_cores_if_tf32_is_requested) {
  convolution_engine const chosen(dnn, convolution_pass::output, extents(), detail::product_precision::tf32);
  EXPECT_EQ(chosen.number(), 3) << "not one that rounds to less";
  fake_dnn::now.best.resize(2);
  fake_dnn::now.fallback.resize(1);
  EXPECT_EQ(refusal(detail::product_precision::tf32),
            "cuDNN has no engine for this convolution (conv2d_7): expected a deterministic engine in TF32 or "
            "f32, got 3 engines, 3 of them rejected");
}

TEST_F(engine_of_a_convolution, may_need_no_workspace) {
  fake_dnn::now.best = {{8, {}}};
  convolution_engine const chosen(dnn, convolution_pass::output, extents());
  EXPECT_EQ(chosen.workspace_bytes(), 0U);
  run(chosen);
  EXPECT_EQ(fake_dnn::runs, (counts{{8, 1}}));
}

TEST_F(engine_of_a_convolution, is_a_fallback_if_no_better_engine_is_exact) {
  fake_dnn::now.best.resize(5);
  convolution_engine const chosen(dnn, convolution_pass::weights, extents());
  EXPECT_EQ(chosen.number(), 21);
  run(chosen);
  EXPECT_EQ(fake_dnn::runs, (counts{{21, 1}}));
}

TEST_F(engine_of_a_convolution, is_found_by_another_heuristic_if_a_heuristic_fails) {
  fake_dnn::now.second = {{11, {}}};
  auto const number = [&](std::set<std::int64_t> failing) {
    fake_dnn::now.failing_modes = std::move(failing);
    return convolution_engine(dnn, convolution_pass::output, extents()).number();
  };
  EXPECT_EQ(number({}), 6);
  EXPECT_EQ(number({CUDNN_HEUR_MODE_A}), 11);
  EXPECT_EQ(number({CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B}), 21);
  EXPECT_EQ(number({CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}), 6);
}

TEST_F(engine_of_a_convolution, depends_on_the_shapes) {
  fake_dnn::now.varies_with_shape = true;
  auto const number = [&](int channels, int filters, int kernel) {
    detail::convolution_extents made{.input = {2, channels, 8, 8},
                                     .weights = {filters, channels, kernel, kernel},
                                     .output = {2, filters, 9 - kernel, 9 - kernel},
                                     .stride = 1,
                                     .dilation = 1,
                                     .rows = {0, 0},
                                     .columns = {0, 0}};
    return convolution_engine(dnn, convolution_pass::output, made, detail::product_precision::tf32).number();
  };
  EXPECT_EQ(number(4, 8, 3), 3);  // the shape suits tensor cores and Winograd
  EXPECT_EQ(number(3, 8, 3), 6);  // the shape suits neither of them
  EXPECT_EQ(number(4, 8, 5), 6);
}

TEST_F(engine_of_a_convolution, excludes_engines_with_unknown_notes) {
  using notes = std::vector<cudnnBackendNumericalNote_t>;
  fake_dnn::now.best = {{8, notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT + 1, CUDNN_NUMERICAL_NOTE_FFT)}};
  EXPECT_EQ(convolution_engine(dnn, convolution_pass::output, extents()).number(), 21);
}

TEST_F(engine_of_a_convolution, that_does_not_exist_is_reported_with_the_name_of_the_layer) {
  fake_dnn::now.best.resize(4);
  fake_dnn::now.fallback.resize(1);
  EXPECT_EQ(refusal(),
            "cuDNN has no engine for this convolution (conv2d_7): expected a deterministic engine in f32, "
            "got 5 engines, 5 of them rejected");
  fake_dnn::now.best.resize(0);
  fake_dnn::now.fallback = {{9, {}, false}};
  EXPECT_EQ(refusal(),
            "cuDNN has no engine for this convolution (conv2d_7): expected a deterministic engine in f32, "
            "got 1 engines, 0 of them rejected, status CUDNN_STATUS_NOT_SUPPORTED");
  fake_dnn::now.failing_modes = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
  EXPECT_EQ(refusal(),
            "cuDNN has no engine for this convolution (conv2d_7): expected a deterministic engine in f32, "
            "got 0 engines, 0 of them rejected, status CUDNN_STATUS_NOT_SUPPORTED");
}

TEST_F(engine_of_a_convolution, reports_cudnns_message_for_unsupported_sizes) {
  detail::convolution_extents wrong = extents();
  wrong.output[3] = 6;
  try {
    convolution_engine const made(dnn, convolution_pass::output, wrong);
    FAIL() << "a convolution was made that cannot be";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(), "building a cuDNN descriptor failed (CUDNN_STATUS_BAD_PARAM)");
  }
}

}  // namespace cudnn_convolution_engine_test
