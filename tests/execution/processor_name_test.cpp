// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/execution/processor_name.hpp>
#include <string>

#include "with_variable.hpp"

namespace processor_name_test {

using namespace cohort;

TEST(processor_name, is_constant_and_ends_with_the_instruction_set) {
  std::string const name = processor_name();
  EXPECT_EQ(processor_name(), name);
  EXPECT_TRUE(name.ends_with(name_of(best_isa()))) << name;
  EXPECT_EQ(name.find('\0'), name.npos);
  EXPECT_EQ(name.find('\n'), name.npos);
}

TEST(processor_name, distinguishes_instruction_sets) {
  std::string const name = processor_name();
  cohort_test::with_variable const least("COHORT_ISA", "baseline");
  EXPECT_EQ(processor_name() == name, machine_isa() == isa::baseline);
}

}  // namespace processor_name_test
