// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/cudnn/detail/shared_library.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "../../execution/with_variable.hpp"

namespace cudnn_shared_library_test {

using namespace cohort;
using cohort_test::with_variable;

struct of_the_c_library {
  decltype(&::strtol) number = nullptr;
  decltype(&::getenv) variable = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("strtol", number);
    visit("getenv", variable);
  }
};
struct of_no_library : of_the_c_library {
  template <class Visit>
  void each(Visit visit) {
    of_the_c_library::each(visit);
    visit("cohort_has_no_such_function", variable);
  }
};

template <class Functions>
std::string refusal_of(std::vector<std::string> const& names) {
  try {
    detail::load_functions<Functions>(detail::system_libraries(), "a library", names);
  } catch (backend_error const& why) {
    return why.what();
  }
  return "";
}

TEST(shared_library, loads_its_functions) {
  std::vector<std::string> const names{"libcohort_is_not_there.so.1", "libc.so.6"};
  auto const c = detail::load_functions<of_the_c_library>(detail::system_libraries(), "the C library", names);
  EXPECT_EQ(c.number("17", nullptr, 10), 17);
  EXPECT_STREQ(c.variable("HOME"), std::getenv("HOME"));
}

TEST(shared_library, is_reported_if_it_is_missing) {
  std::string const why = refusal_of<of_the_c_library>({"libcohort_is_not_there.so.1", "nor_is_this.so"});
  EXPECT_EQ(why.find("a library cannot be loaded (libcohort_is_not_there.so.1: cannot open"), 0U) << why;
}

TEST(shared_library, is_refused_if_it_lacks_a_required_function) {
  EXPECT_EQ(refusal_of<of_no_library>({"libc.so.6"}),
            "a library lacks a function (libc.so.6): expected cohort_has_no_such_function");
}

/// The first folders that are searched. The packages of this machine's Python follow.
std::vector<std::string> first(std::size_t count) {
  std::vector<std::string> folders = detail::cuda_library_folders();
  folders.resize(std::min(count, folders.size()));
  return folders;
}

TEST(shared_library, is_searched_for_in_cudas_folders) {
  with_variable const own("CUDA_PATH", "/own"), cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(first(3),
            (std::vector<std::string>{"/own/lib64", "/usr/local/cuda/lib64", "/cache/cohort/cuda-13.0/lib"}));
  with_variable const no_path("CUDA_PATH", nullptr), no_cache("XDG_CACHE_HOME", nullptr),
      no_home("HOME", nullptr);
  EXPECT_EQ(first(1), std::vector<std::string>{"/usr/local/cuda/lib64"});
}

TEST(shared_library, is_searched_for_in_pip_packages) {
  scratch_folder const folder;
  std::string const site = folder.path() + "/lib/python3.12/site-packages",
                    listed = folder.path() + "/listed";
  for (std::string const& packages : {site + "/nvidia/cudnn/lib", site + "/nvidia/cu13/lib",
                                      listed + "/nvidia/nccl/lib", listed + "/other/cudnn/lib"})
    std::filesystem::create_directories(packages);
  with_variable const path("PYTHONPATH", (":/none:" + listed).c_str()),
      environment("VIRTUAL_ENV", folder.path().c_str());
  std::vector<std::string> const found = detail::cuda_library_folders(),
                                 wanted{listed + "/nvidia/nccl/lib", site + "/nvidia/cu13/lib",
                                        site + "/nvidia/cudnn/lib"};
  EXPECT_NE(std::search(found.begin(), found.end(), wanted.begin(), wanted.end()), found.end());
}

}  // namespace cudnn_shared_library_test
