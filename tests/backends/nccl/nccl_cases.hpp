// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <cohort/nccl.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

/// Requirements on sums between real or simulated GPUs.
namespace nccl_cases {

using namespace cohort;

/// An array in a GPU's memory.
template <class T>
struct gpu_array {
  std::shared_ptr<detail::compute_stream> on;
  buffer memory;
  std::size_t count;

  gpu_array(std::shared_ptr<detail::compute_stream> where, std::vector<T> const& values)
      : on(std::move(where)), memory(values.size() * sizeof(T), on), count(values.size()) {
    on->upload(values.data(), memory.data(), count * sizeof(T));
  }
  elements all() const {
    if constexpr (std::is_same_v<T, bf16>)
      return {memory.data(), element_type::bf16, count, on.get()};
    else
      return {memory.data(), element_of<T>, count, on.get()};
  }
  std::vector<T> fetched() const {
    std::vector<T> values(count);
    on->download(memory.data(), values.data(), count * sizeof(T));
    return values;
  }
};

inline std::vector<float> counting(std::size_t n, float first) {
  std::vector<float> made(n);
  for (float& x : made) x = first++;
  return made;
}

/// Called on every rank.
inline void sums_what_lies_there(nccl& over, std::shared_ptr<detail::compute_stream> const& on) {
  EXPECT_TRUE(over.sums_in(*on));
  gpu_array<float> const some(on, counting(1000, static_cast<float>(over.rank())));
  gpu_array<double> const others(on, std::vector<double>(7, over.rank() + 0.5));
  pending_operation first = over.start_allreduce(some.all(), reduction::sum);
  pending_operation second = over.start_allreduce(others.all(), reduction::maximum);
  second.wait();
  first.wait();
  EXPECT_TRUE(first.done());
  auto const p = static_cast<float>(over.size());
  std::vector<float> const got = some.fetched();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], p * static_cast<float>(i) + p * (p - 1) / 2) << i;
  EXPECT_EQ(others.fetched(), std::vector<double>(7, over.size() - 0.5));
  gpu_array<bf16> const narrow(on, std::vector<bf16>(3, bf16::nearest(1.5F)));
  over.allreduce(narrow.all());
  EXPECT_EQ(narrow.fetched(), std::vector<bf16>(3, bf16::nearest(1.5F * p)));
}

/// Called on every rank; the number of ranks is even.
inline void relatives_sum_and_go_in_any_order(nccl& over, std::shared_ptr<detail::compute_stream> const& on) {
  auto const all = static_cast<float>(2 * over.size());
  auto const summed = [&](communicator& by) {
    gpu_array<float> const one(on, {1, 2});
    by.allreduce(one.all());
    return one.fetched()[1];
  };
  std::unique_ptr<communicator> first = over.duplicate(), second = over.duplicate();
  std::unique_ptr<communicator> const half = over.split(over.rank() % 2, 0);
  std::uint64_t const before = over.sent().messages_sent;
  EXPECT_EQ(summed(*half), all / 2);
  EXPECT_EQ(summed(*first), all);
  std::uint64_t const joined = over.sent().messages_sent;
  EXPECT_GT(joined, before);
  EXPECT_EQ(summed(*first), all);
  EXPECT_EQ(over.sent().messages_sent, joined + 1) << "a relative's sums are not counted";
  EXPECT_EQ(summed(*second), all);
  (over.rank() == 0 ? first : second).reset();
  (over.rank() == 0 ? second : first).reset();
}

/// A network whose gradients are larger than all other data copied between processor and GPU.
inline constexpr auto wide = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 400} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

}  // namespace nccl_cases
