// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/data_folders.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace data_folders_test {

using folders = std::vector<std::string>;

TEST(data_folders, are_the_variables_the_working_folders_and_the_caches) {
  setenv("COHORT_DATA", "/own", 1);
  setenv("XDG_CACHE_HOME", "/cache", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cohort::data_folders(), (folders{"/own", "data", "/cache/cohort"}));
  EXPECT_EQ(cohort::data_folders("mnist"), (folders{"/own", "data", "/cache/cohort/mnist"}));
  EXPECT_EQ(cohort::cache_folder(), "/cache/cohort");
  setenv("XDG_CACHE_HOME", "", 1);
  unsetenv("COHORT_DATA");
  EXPECT_EQ(cohort::data_folders("mnist"), (folders{"data", "/home/me/.cache/cohort/mnist"}));
  EXPECT_EQ(cohort::cache_folder("mnist"), "/home/me/.cache/cohort/mnist");
  unsetenv("HOME");
  EXPECT_EQ(cohort::data_folders(), folders{"data"});
  EXPECT_EQ(cohort::cache_folder(), "");
}

}  // namespace data_folders_test
