// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/cudnn/detail/page_locked_space.hpp>
#include <cohort/cudnn/detail/recorded_work.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_compute_stream_test {

using namespace cohort;

TEST(compute_stream, frees_all_gpu_resources) {
  fake_machine machine;
  {
    auto const stream =
        std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
    std::byte* const memory = stream->allocate(64);
    EXPECT_EQ(machine.streams.size(), 1U);
    EXPECT_EQ(machine.memory.size(), 1U);
    stream->deallocate(memory);
  }
  EXPECT_TRUE(machine.streams.empty());
  EXPECT_TRUE(machine.page_locked.empty());
  EXPECT_EQ(machine.modules, 0);
  EXPECT_EQ(machine.contexts, 0);
  EXPECT_TRUE(machine.memory.empty());
}

TEST(compute_stream, sets_the_context_of_the_gpu_for_each_operation) {
  fake_machine machine;
  static int uses = 0;
  static auto const use = machine.driver.set_context;
  machine.driver.set_context = [](CUcontext context) {
    ++uses;
    return use(context);
  };
  float x = 1;
  detail::compute_stream const stream(std::make_shared<detail::gpu>(machine.source()), "");
  auto const each_uses_it = [&](auto call) {
    int const before = uses;
    call();
    EXPECT_GT(uses, before);
  };
  auto* const bytes = reinterpret_cast<std::byte*>(&x);
  float from = 2;
  each_uses_it([&] { stream.launch(detail::kernels::scale{&x, 3.F}, 1); });
  stream.wait();
  EXPECT_EQ(x, 3);
  each_uses_it([&] { stream.upload(&from, bytes, sizeof x); });
  from = 5;
  each_uses_it([&] { stream.wait(); });
  EXPECT_EQ(x, 2);
  each_uses_it([&] { stream.download(bytes, &from, sizeof x); });
  EXPECT_EQ(from, 2);
  from = 4;
  each_uses_it([&] { stream.copy(reinterpret_cast<std::byte*>(&from), bytes, sizeof x); });
  stream.wait();
  EXPECT_EQ(x, 4);
  each_uses_it([&] { stream.clear(bytes, sizeof x); });
  stream.wait();
  EXPECT_EQ(x, 0);
}

TEST(compute_stream, works_on_any_thread) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  std::thread([&] { stream.deallocate(stream.allocate(64)); }).join();
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
  std::byte* const memory = stream.allocate(64);
  machine.work = CUDA_ERROR_NOT_READY;
  try {
    stream.wait();
    FAIL() << "work that does not end has ended";
  } catch (deadline_error const& why) {
    EXPECT_STREQ(why.what(),
                 "the GPU did not finish its work in time (Pretended GPU): expected at most 5 ms");
  }
  stream.deallocate(memory);
  EXPECT_EQ(machine.memory.size(), 1U) << "memory that is in use was given back";
  machine.work = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_THROW(stream.wait(), backend_error);
  machine.work = CUDA_SUCCESS;
  stream.deallocate(memory);
  EXPECT_TRUE(machine.memory.empty());
}

/// The source of an upload may change after the call, although the GPU reads the copy later. Uploads block
/// only when the staging memory is full.
TEST(compute_stream, uploads_without_blocking_while_the_staging_buffer_has_room) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  constexpr std::size_t room = detail::staging_memory::capacity, count = 5;
  std::vector<std::byte> from(room / 4);
  std::byte* const to = stream.allocate(count * from.size());
  stream.wait();
  machine.waits = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::ranges::fill(from, static_cast<std::byte>(k + 1));
    stream.upload(from.data(), to + k * from.size(), from.size());
    EXPECT_EQ(machine.waits, k < 4 ? 0 : 1) << k;
  }
  std::vector<std::byte> got(count * from.size());
  stream.download(to, got.data(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], static_cast<std::byte>(i / from.size() + 1)) << i;
  machine.waits = 0;
  for (int step = 0; step < 9; ++step) {
    stream.upload(from.data(), to, from.size());
    stream.wait();
  }
  EXPECT_EQ(machine.waits, 9) << "what a wait has seen through is free again";
  EXPECT_EQ(machine.page_locked.size(), 1U);
  stream.deallocate(to);
}

/// Transfers larger than the staging memory are split, in both directions.
TEST(compute_stream, transfers_arrays_larger_than_the_staging_buffer) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  std::vector<unsigned> from(detail::staging_memory::capacity / 4 * 2 + 7), got(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned>(i);
  std::size_t const bytes = from.size() * sizeof from[0];
  std::byte* const to = stream.allocate(bytes);
  stream.upload(from.data(), to, bytes);
  stream.download(to, got.data(), bytes);
  EXPECT_EQ(got, from);
  stream.deallocate(to);
}

/// While the GPU reads one half of the staging memory, the processor fills the other half.
TEST(compute_stream, uploads_large_arrays_in_two_alternating_halves) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  constexpr std::size_t half = detail::staging_memory::capacity / 4;
  std::vector<unsigned char> from(9 * half + 3), got(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i / half + i);
  std::byte* const to = stream.allocate(from.size());
  stream.wait();
  machine.waits = 0;
  stream.upload(from.data(), to, from.size());
  EXPECT_EQ(machine.waits, 0) << "a wait for all work";
  EXPECT_EQ(machine.event_queries, 8) << "ten pieces, the first two without waiting";
  EXPECT_EQ(machine.events, 0);
  stream.upload(from.data(), to, 4);
  EXPECT_EQ(machine.waits, 0) << "half of the staging memory is free";
  stream.download(to, got.data(), got.size());
  EXPECT_EQ(got, from);
  stream.deallocate(to);
}

/// A wait does not free a piece that another thread received after the wait began.
TEST(compute_stream, does_not_overwrite_uploads_enqueued_during_a_wait) {
  fake_machine machine;
  static detail::compute_stream* other = nullptr;
  static std::byte* to = nullptr;
  static auto const query = machine.driver.query;
  machine.driver.query = [](CUstream asked) {
    CUresult const status = query(asked);
    if (auto* const stream = std::exchange(other, nullptr))
      std::thread([&] { stream->upload("a", to, 1); }).join();
    return status;
  };
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  to = stream.allocate(2);
  other = &stream;
  stream.wait();
  EXPECT_EQ(other, nullptr);
  stream.upload("b", to + 1, 1);
  char got[2];
  stream.download(to, got, sizeof got);
  EXPECT_EQ(std::string_view(got, 2), "ab");
  stream.deallocate(to);
}

/// While a thread waits for a download, other threads can upload, and the waiting thread keeps its piece.
TEST(compute_stream, uploads_while_another_thread_downloads) {
  fake_machine machine;
  static std::atomic<bool> asked;
  asked = false;
  static auto const query = machine.driver.query;
  machine.driver.query = [](CUstream stream) {
    CUresult const status = query(stream);
    asked = true;
    return status;
  };
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  std::byte* const memory = stream.allocate(2);
  stream.upload("a", memory, 1);
  stream.wait();
  machine.work = CUDA_ERROR_NOT_READY;
  asked = false;
  char got = 0;
  std::thread other([&] { stream.download(memory, &got, 1); });
  while (!asked) std::this_thread::yield();
  stream.upload("b", memory + 1, 1);
  machine.work = CUDA_SUCCESS;
  stream.wait();
  stream.upload("c", memory + 1, 1);
  other.join();
  EXPECT_EQ(got, 'a');
  stream.deallocate(memory);
}

/// The result of download_async is complete after a wait. Its memory is kept if the GPU does not finish.
TEST(compute_stream, downloads_asynchronously_into_page_locked_memory) {
  fake_machine machine;
  auto const stream = std::make_shared<detail::compute_stream>(
      std::make_shared<detail::gpu>(machine.source()), "", std::chrono::milliseconds(5));
  std::byte* const from = stream->allocate(1);
  stream->upload("a", from, 1);
  auto const space = std::make_shared<detail::page_locked_space>(stream);
  {
    buffer const results(1, space);
    stream->download_async(from, results.data(), 1);
    EXPECT_EQ(*results.as<char>(), 0);
    stream->wait();
    EXPECT_EQ(*results.as<char>(), 'a');
    EXPECT_EQ(machine.page_locked.size(), 2U);
  }
  EXPECT_EQ(machine.page_locked.size(), 1U);
  {
    buffer const results(1, space), stuck(1, space);
    machine.work = CUDA_ERROR_NOT_READY;
  }
  EXPECT_EQ(machine.page_locked.size(), 3U);
  machine.work = CUDA_SUCCESS;
  stream->deallocate(from);
  machine.room = 0;
  EXPECT_THROW(buffer(1, space), memory_error);
}

/// Recorded work runs at each launch. Work of other threads is not recorded.
TEST(compute_stream, records_only_the_work_of_the_calling_thread) {
  fake_machine machine;
  float x = 1, y = 1;
  auto const stream =
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
  std::thread other;
  std::atomic<bool> comes = false;
  CUgraphExec const made = stream->record([&] {
    stream->launch(detail::kernels::scale{&x, 3.F}, 1);
    other = std::thread([&] {
      comes = true;
      stream->launch(detail::kernels::scale{&y, 5.F}, 1);
      stream->wait();
    });
    while (!comes) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    stream->launch(detail::kernels::scale{&x, 2.F}, 1);
  });
  other.join();
  EXPECT_EQ(machine.broken_graphs, 0);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(x, 1);
  EXPECT_EQ(y, 5);
  {
    detail::recorded_work const again(stream, made);
    again.run(), again.run();
  }
  EXPECT_EQ(x, 36);
  EXPECT_EQ(y, 5);
  EXPECT_EQ(machine.graphs, 0);
}

TEST(compute_stream, does_not_record_calls_that_wait_copy_or_throw) {
  fake_machine machine;
  std::byte x{}, here{};
  detail::compute_stream const stream(std::make_shared<detail::gpu>(machine.source()), "");
  stream.upload(&here, &x, 1);  // allocates the staging memory
  EXPECT_EQ(stream.record([&] { stream.wait(); }), nullptr);
  EXPECT_EQ(stream.record([&] { stream.upload(&here, &x, 1); }), nullptr);
  EXPECT_EQ(stream.record([&] { stream.download(&x, &here, 1); }), nullptr);
  EXPECT_EQ(stream.record([] { throw data_error({.what = "so it is"}); }), nullptr);
  stream.upload(&here, &x, 1);
  stream.wait();
  EXPECT_EQ(machine.graphs, 0);
}

TEST(compute_stream, reports_the_drivers_message) {
  fake_machine machine;
  machine.driver.upload = [](CUdeviceptr, void const*, std::size_t, CUstream) {
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  detail::compute_stream const stream(std::make_shared<detail::gpu>(machine.source()), "");
  try {
    stream.upload("", nullptr, 1);
    FAIL() << "a copy that failed passed";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(), "copying to the GPU failed (CUDA_ERROR_OTHER: so it is)");
  }
}

}  // namespace cudnn_compute_stream_test
