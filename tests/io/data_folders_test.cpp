// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/io/data_folders.hpp>

#include <string>
#include <vector>

#include "../execution/with_variable.hpp"

namespace data_folders_test {

using cohort_test::with_variable;
using folders = std::vector<std::string>;

TEST(data_folders, are_derived_from_the_environment_variables) {
  with_variable const data("COHORT_DATA", "/own"), cache("XDG_CACHE_HOME", "/cache"),
      home("HOME", "/home/me");
  EXPECT_EQ(cohort::io::data_folders(), (folders{"/own", "data", "/cache/cohort"}));
  EXPECT_EQ(cohort::io::data_folders("mnist"), (folders{"/own", "data", "/cache/cohort/mnist"}));
  EXPECT_EQ(cohort::io::cache_folder(), "/cache/cohort");
  with_variable const no_data("COHORT_DATA", nullptr), no_cache("XDG_CACHE_HOME", "");
  EXPECT_EQ(cohort::io::data_folders("mnist"), (folders{"data", "/home/me/.cache/cohort/mnist"}));
  EXPECT_EQ(cohort::io::cache_folder("mnist"), "/home/me/.cache/cohort/mnist");
  with_variable const no_home("HOME", nullptr);
  EXPECT_EQ(cohort::io::data_folders(), folders{"data"});
  EXPECT_EQ(cohort::io::cache_folder(), "");
}

}  // namespace data_folders_test
