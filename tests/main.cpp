// SPDX-License-Identifier: Apache-2.0
// Main function of the tests: like GoogleTest's, with three differences. A program whose filter selects no
// test fails, unless the filter only excludes tests (-…). A test that is skipped for a reason not listed here
// fails. The temporary folder is removed at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/scratch_folder.hpp"

namespace {

/// Reasons that a machine or a build may have for skipping a test.
constexpr std::array<std::string_view, 6> accepted{
    "bf16",                                   // the processor lacks these instructions
    "the sanitizer has its own",              // operator new, by which allocations are counted
    "COHORT_DATA names no folder",            // real images, which set-up does not download
    "tar cannot unpack",                      // real images, too
    "no address space",                       // for gradients above 2^32 elements
    "reads these weights in another order"};  // another version of oneDNN

class skips_fail : public testing::EmptyTestEventListener {
 public:
  int unexpected() const { return unexpected_; }

 private:
  void OnTestEnd(testing::TestInfo const& test) override {
    if (!test.result()->Skipped()) return;
    for (int p = 0; p < test.result()->total_part_count(); ++p) {
      std::string const reason = test.result()->GetTestPartResult(p).summary();
      if (std::any_of(accepted.begin(), accepted.end(),
                      [&](auto one) { return reason.find(one) != reason.npos; }))
        return;
    }
    std::printf("%s.%s was skipped for a reason that tests/main.cpp does not list\n", test.test_suite_name(),
                test.name());
    ++unexpected_;
  }

  int unexpected_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::optional<scratch_folder> temporary;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) {  // the ranks of a test share files
    temporary.emplace();
    for (char const* variable : {"TEST_TMPDIR", "TMPDIR"}) ::setenv(variable, temporary->path().c_str(), 1);
  }
  auto* const skips = new skips_fail;  // GoogleTest deletes it
  testing::UnitTest::GetInstance()->listeners().Append(skips);
  int const failed = RUN_ALL_TESTS();
  bool const excludes = GTEST_FLAG_GET(filter).starts_with('-');
  if (!excludes && testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::puts("no test was selected");
    return 1;
  }
  return failed != 0 || skips->unexpected() > 0 ? 1 : 0;
}
