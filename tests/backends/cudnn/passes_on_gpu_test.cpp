// SPDX-License-Identifier: Apache-2.0
// alone: the header of its cases is made for one machine
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <memory>
#include <string>

#include "fake_machine.hpp"

namespace {

struct machine_under_test {
  cohort::fake_machine pretended{};
  std::string missing{};
  std::shared_ptr<cohort::detail::compute_stream> stream() {
    return std::make_shared<cohort::detail::compute_stream>(
        std::make_shared<cohort::detail::gpu>(pretended.source()), "");
  }
};

}  // namespace

#include "passes_cases.hpp"

namespace {

TEST_F(passes_on_gpu, allocate_zeroed_memory_and_free_it) {
  std::size_t const before = machine.pretended.memory.size();
  {
    buffer const taken(1000, gpu->space());
    numbers got(250, 1.F);
    gpu->download(taken.data(), reinterpret_cast<std::byte*>(got.data()), 1000);
    EXPECT_EQ(got, numbers(250));
    EXPECT_EQ(machine.pretended.memory.size(), before + 1);
  }
  EXPECT_EQ(machine.pretended.memory.size(), before);
}

TEST_F(passes_on_gpu, report_the_free_memory_if_an_allocation_fails) {
  machine.pretended.room = 1000;
  machine.pretended.free_bytes = 900;
  machine.pretended.total_bytes = 5000;
  try {
    buffer const taken(1001, gpu->space());
    FAIL() << "memory was taken that is not there";
  } catch (memory_error const& why) {
    EXPECT_STREQ(why.what(),
                 "the GPU has too little free memory (Pretended GPU): expected 1001 bytes, got 900 of 5000 "
                 "bytes free");
  }
}

}  // namespace
