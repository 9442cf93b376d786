// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/cudnn/compute_stream.hpp>
#include <memory>
#include <thread>

#include "fake_machine.hpp"

namespace cudnn_compute_stream_test {

using namespace cohort;

TEST(compute_stream, leaves_nothing_on_the_gpu) {
  fake_machine machine;
  {
    auto const stream =
        std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
    std::byte* const memory = stream->take(64);
    EXPECT_EQ(machine.streams, 1);
    EXPECT_EQ(machine.memory.size(), 1U);
    stream->give_back(memory);
  }
  EXPECT_EQ(machine.streams, 0);
  EXPECT_EQ(machine.modules, 0);
  EXPECT_EQ(machine.contexts, 0);
  EXPECT_TRUE(machine.memory.empty());
}

TEST(compute_stream, is_used_under_the_gpus_context) {
  fake_machine machine;
  static int uses = 0;
  static auto const use = machine.driver.set_context;
  machine.driver.set_context = [](CUcontext context) {
    ++uses;
    return use(context);
  };
  detail::compute_stream const stream(std::make_shared<detail::gpu>(machine.source()), "");
  float x = 1;
  auto const each_uses_it = [&](auto call) {
    int const before = uses;
    call();
    EXPECT_GT(uses, before);
  };
  auto* const bytes = reinterpret_cast<std::byte*>(&x);
  float from = 2;
  each_uses_it([&] { stream.launch(detail::kernels::scale{&x, 3.F}, 1); });
  EXPECT_EQ(x, 3);
  each_uses_it([&] { stream.bring(&from, bytes, sizeof x); });
  EXPECT_EQ(x, 2);
  each_uses_it([&] { stream.fetch(bytes, &from, sizeof x); });
  each_uses_it([&] { stream.copy(bytes, reinterpret_cast<std::byte*>(&from), sizeof x); });
  each_uses_it([&] { stream.clear(bytes, sizeof x); });
  EXPECT_EQ(x, 0);
  each_uses_it([&] { stream.wait(); });
}

TEST(compute_stream, is_used_by_any_thread) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  std::thread([&] { stream.give_back(stream.take(64)); }).join();
  EXPECT_TRUE(machine.memory.empty());
  CUdeviceptr taken = 0;
  CUresult without = CUDA_SUCCESS;
  std::thread([&] { without = machine.driver.allocate(&taken, 64); }).join();
  EXPECT_EQ(without, CUDA_ERROR_INVALID_CONTEXT) << "the pretended driver does not ask for a context";
}

TEST(compute_stream, waits_no_longer_than_its_deadline) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "",
                                std::chrono::milliseconds(5));
  std::byte* const memory = stream.take(64);
  machine.work = CUDA_ERROR_NOT_READY;
  try {
    stream.wait();
    FAIL() << "work that does not end has ended";
  } catch (deadline_error const& why) {
    EXPECT_STREQ(why.what(), "the GPU does not finish its work (Pretended GPU): expected at most 5 ms");
  }
  stream.give_back(memory);
  EXPECT_EQ(machine.memory.size(), 1U) << "memory that is in use was given back";
  machine.work = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_THROW(stream.wait(), backend_error);
  machine.work = CUDA_SUCCESS;
  stream.give_back(memory);
  EXPECT_TRUE(machine.memory.empty());
}

TEST(compute_stream, says_what_the_driver_says) {
  fake_machine machine;
  machine.driver.bring = [](CUdeviceptr, void const*, std::size_t, CUstream) {
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  detail::compute_stream const stream(std::make_shared<detail::gpu>(machine.source()), "");
  try {
    stream.bring(nullptr, nullptr, 1);
    FAIL() << "a copy that failed passed";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(), "copying to the GPU failed (CUDA_ERROR_OTHER: so it is)");
  }
}

}  // namespace cudnn_compute_stream_test
