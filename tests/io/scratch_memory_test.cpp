// SPDX-License-Identifier: Apache-2.0

#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/scratch_memory.hpp>
#include <new>

#include "../checkpoint/scratch_folder.hpp"
#include "../data/refused.hpp"

namespace scratch_memory_test {

using namespace cohort;
using cohort::detail::scratch_memory;

TEST(scratch_memory, is_zeroed_and_writable_with_and_without_a_folder) {
  scratch_folder const folder;
  for (std::string const& where : {std::string(), folder.path()}) {
    SCOPED_TRACE(where);
    scratch_memory const memory(where, 10'000);
    ASSERT_EQ(memory.size(), 10'000U);
    EXPECT_EQ(memory.data()[9'999], std::byte{0});
    for (std::size_t i = 0; i < memory.size(); ++i) memory.data()[i] = static_cast<std::byte>(i);
    EXPECT_EQ(memory.data()[9'999], static_cast<std::byte>(9'999));
  }
}

TEST(scratch_memory, creates_no_visible_file_in_the_folder) {
  scratch_folder const folder;
  scratch_memory const memory(folder.path(), 4096);
  EXPECT_TRUE(folder.names().empty());
}

TEST(scratch_memory, may_be_empty) {
  EXPECT_EQ(scratch_memory("", 0).size(), 0U);
  EXPECT_EQ(scratch_memory("/no/such/folder", 0).data(), nullptr);
}

TEST(scratch_memory, refuses_folders_that_do_not_exist) {
  expect_parts(refused<file_error>([] { scratch_memory("/no/such/folder", 1); }),
               {"temporary file", "/no/such/folder", "No such file or directory"});
}

TEST(scratch_memory, refuses_more_bytes_than_the_disk_has_free) {
  scratch_folder const folder;
  std::size_t const bytes = std::size_t{1} << 60;
  expect_parts(refused<file_error>([&] { scratch_memory(folder.path(), bytes); }),
               {"cannot reserve space", folder.path().c_str(), "1152921504606846976 bytes"});
  EXPECT_TRUE(folder.names().empty());
  EXPECT_THROW(scratch_memory("", ~std::size_t{0}), std::bad_alloc);
  EXPECT_THROW(scratch_memory(folder.path(), ~std::size_t{0}), std::bad_alloc);
}

}  // namespace scratch_memory_test
