// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <string>

#include "with_variable.hpp"

namespace isa_test {

using cohort::isa;
using cohort_test::with_variable;

TEST(isa_of_the_environment, is_the_instruction_set_of_the_machine_if_unset) {
  with_variable const none("COHORT_ISA", nullptr);
  EXPECT_EQ(cohort::best_isa(), cohort::machine_isa());
}

TEST(isa_of_the_environment, lowers_but_never_raises_the_machines_instruction_set) {
  for (isa const cap : {isa::baseline, isa::avx2, isa::avx512}) {
    with_variable const most("COHORT_ISA", std::string(cohort::name_of(cap)).c_str());
    EXPECT_EQ(cohort::best_isa(), std::min(cap, cohort::machine_isa()));
  }
}

TEST(isa_of_the_environment, refuses_an_unknown_name) {
  for (char const* const wrong : {"sse9", "", "AVX2"}) {
    with_variable const set("COHORT_ISA", wrong);
    try {
      cohort::best_isa();
      FAIL() << "accepted " << wrong;
    } catch (cohort::setting_error const& e) {
      EXPECT_EQ(e.why().got, '"' + std::string(wrong) + '"');
      EXPECT_NE(e.why().where.find("COHORT_ISA"), std::string::npos);
    }
  }
}

}  // namespace isa_test
