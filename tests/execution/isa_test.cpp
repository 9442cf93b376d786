// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/execution/isa.hpp>
#include <cstdlib>
#include <optional>
#include <string>

namespace isa_test {

using cohort::isa;

class isa_of_the_environment : public testing::Test {
 protected:
  void SetUp() override {
    if (char const* value = std::getenv("COHORT_ISA")) before_ = value;
  }
  void TearDown() override {
    if (before_)
      setenv("COHORT_ISA", before_->c_str(), 1);
    else
      unsetenv("COHORT_ISA");
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(isa_of_the_environment, is_the_machines_when_nothing_is_set) {
  unsetenv("COHORT_ISA");
  EXPECT_EQ(cohort::best_isa(), cohort::machine_isa());
}

TEST_F(isa_of_the_environment, is_capped_and_never_raised) {
  for (isa const cap : {isa::baseline, isa::avx2, isa::avx512}) {
    setenv("COHORT_ISA", std::string(cohort::name_of(cap)).c_str(), 1);
    EXPECT_EQ(cohort::best_isa(), std::min(cap, cohort::machine_isa()));
  }
}

TEST_F(isa_of_the_environment, refuses_an_unknown_name) {
  for (char const* const wrong : {"sse9", "", "AVX2"}) {
    setenv("COHORT_ISA", wrong, 1);
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
