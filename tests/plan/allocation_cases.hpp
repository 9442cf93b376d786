// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cohort/graph/network.hpp>
#include <vector>

#include "counted_new.hpp"
#include "trial.hpp"

/// Expects that steps of a small network on backend B do not allocate, except from functions of the library
/// whose name contains `ignored`.
template <class B>
void expect_no_allocation_in_a_step(char const* ignored = nullptr) {
  using namespace cohort;
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  graph const net = graph::build([](builder& b) {
    tensor const x =
        b.input({1, 12, 12}) | conv2d{.filters = 3, .kernel = 3} | relu{} | max_pool{.window = 2};
    tensor const y = x | conv2d{.filters = 3, .kernel = 3, .padding = 1};
    concat(x + y, y) | dense{.units = 6} | leaky_relu{} | dense{.units = 4} | softmax_cross_entropy{};
  });
  trial<B> t(net, {.batch = 3});
  long announced = 0;
  ready_function const ready = [&](bucket const&) { ++announced; };
  for (int warm = 0; warm < 2; ++warm) {
    t.step();
    t.store->refresh(0, 1);
    t.step(true, &ready);
  }
  not_ours = ignored;
  allocations = 0;
  counting = true;
  double sum = t.step();
  t.store->refresh(0, 1);
  sum += t.step(true, &ready);
  EXPECT_EQ(allocations, 0);
  EXPECT_GT(sum, 0);
  EXPECT_GT(announced, 0);
  std::remove_cvref_t<decltype(t.batch.inputs[0])>(3).swap(t.batch.inputs[0]);
  counting = false;
  EXPECT_EQ(allocations, 1) << "it would have been seen";
}
