// SPDX-License-Identifier: Apache-2.0
// label: slow libraries
// The installed NCCL, without a GPU: it has the functions of its header, and the header's version.
#include <gtest/gtest.h>

#include <cohort/nccl/detail/nccl_functions.hpp>
#include <memory>

namespace nccl_library_test {

using namespace cohort;

TEST(nccl_library, has_the_functions_and_the_version_of_its_header) {
  std::shared_ptr<detail::nccl_functions const> found;
  try {
    found = detail::load_nccl(detail::system_libraries());
  } catch (backend_error const& why) {
    GTEST_SKIP() << why.what();
  }
  int version = 0;
  ASSERT_EQ(found->version(&version), ncclSuccess);
  EXPECT_EQ(version / 10000, NCCL_MAJOR);
  EXPECT_GE(version, NCCL_VERSION_CODE) << "ncclConfig_t of the header is larger than the library's";
  ncclConfig_t const settings = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(settings.size, sizeof settings);
  EXPECT_STRNE(found->error_text(ncclSystemError), found->error_text(ncclSuccess));
}

}  // namespace nccl_library_test
