// SPDX-License-Identifier: Apache-2.0
// label: slow
#include "conformance.hpp"
#include "pretended_cudnn.hpp"

namespace conformance_test {

using namespace cohort;

fake_machine machine;
bool const ready = (pretended_cudnn::machine = &machine) != nullptr;
bool const registered = cudnn_ladder::register_rungs<pretended_cudnn>("cudnn");

TEST(ladder, has_its_rungs) { EXPECT_TRUE(ready && registered); }

TEST(ladder, leaves_out_what_has_no_kernels_alone) {
  EXPECT_EQ(cudnn_ladder::rows_without_kernels<pretended_cudnn>(),
            (std::vector<std::string>{"rung_31_a_layer_of_a_user"}));
}

}  // namespace conformance_test
