// SPDX-License-Identifier: Apache-2.0
// Main function of the tests: like GoogleTest's, with five differences. A program whose filter selects no
// case fails. A case in which no assertion runs fails. A case that is skipped for a reason that
// accepted_skips.inc does not list fails. If all cases are skipped, the status is 77, which CTest reports as
// skipped. The temporary folder is removed at the end.
#include "counted_assertions.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/scratch_folder.hpp"

namespace {

constexpr std::string_view accepted[]{
#include "accepted_skips.inc"
};

class strict : public testing::EmptyTestEventListener {
 public:
  int failures() const { return failures_; }

 private:
  void OnTestStart(testing::TestInfo const&) override { before_ = counted_assertions::run; }

  void OnTestEnd(testing::TestInfo const& test) override {
    testing::TestResult const& result = *test.result();
    if (result.Skipped()) {
      bool is_listed = true, has_reason = false;
      for (int p = 0; p < result.total_part_count(); ++p) {
        if (!result.GetTestPartResult(p).skipped()) continue;
        std::string const reason = result.GetTestPartResult(p).message();
        std::printf("case skipped: %s.%s: %s\n", test.test_suite_name(), test.name(), reason.c_str());
        has_reason = true;
        is_listed = is_listed && std::ranges::any_of(accepted, [&](auto part) {
                      return reason.find(part) != reason.npos;
                    });
      }
      if (!has_reason || !is_listed)
        fail(test, "was skipped for a reason that tests/accepted_skips.inc does not list");
    } else if (result.Passed() && before_ == counted_assertions::run) {
      fail(test, "has checked nothing: no assertion has run");
    }
  }

  void fail(testing::TestInfo const& test, char const* why) {
    std::printf("%s.%s %s\n", test.test_suite_name(), test.name(), why);
    ++failures_;
  }

  long before_ = 0;
  int failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::optional<scratch_folder> temporary;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) {  // the ranks of a test share files
    temporary.emplace();
    for (char const* variable : {"TEST_TMPDIR", "TMPDIR"}) ::setenv(variable, temporary->path().c_str(), 1);
  }
  testing::UnitTest& all = *testing::UnitTest::GetInstance();
  auto* const checks = new strict;  // GoogleTest deletes it
  all.listeners().Append(checks);
  int const failed = RUN_ALL_TESTS();
  if (!GTEST_FLAG_GET(list_tests) && all.test_to_run_count() == 0) {
    std::puts("no test was selected");
    return 1;
  }
  if (failed != 0 || checks->failures() > 0) return 1;
  constexpr int skipped = 77;
  return all.skipped_test_count() > 0 && all.skipped_test_count() == all.test_to_run_count() ? skipped : 0;
}
