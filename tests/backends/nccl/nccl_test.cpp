// SPDX-License-Identifier: Apache-2.0
// label: slow long
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/communicator/launch.hpp>
#include <cohort/nccl.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../../communicator/conformance.hpp"
#include "../cudnn/cudnn_cases.hpp"
#include "../cudnn/pretended_cudnn.hpp"
#include "fake_nccl.hpp"
#include "nccl_cases.hpp"

namespace nccl_test {

using namespace cohort;
using namespace std::chrono_literals;
using namespace nccl_cases;

class nccl_between_pretended_gpus : public testing::Test {
 protected:
  nccl_between_pretended_gpus() { pretended_cudnn::machine = &machine; }
  ~nccl_between_pretended_gpus() override {
    EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU";
    EXPECT_TRUE(machine.streams.empty());
    EXPECT_TRUE(machine.page_locked.empty());
    EXPECT_EQ(machine.events, 0);
    EXPECT_EQ(library.ranks, 0);
    EXPECT_EQ(library.too_early, 0);
  }

  static std::shared_ptr<detail::compute_stream> stream() { return pretended_cudnn::stream(); }
  fake_dnn::settings with;
  fake_machine machine;
  fake_nccl library;
};

TEST_F(nccl_between_pretended_gpus, sums_device_memory) {
  for (int const ranks : {1, 2, 3}) {
    int const status = launch<threads>(ranks, [&](communicator& world) {
      nccl over(world, library.source());
      EXPECT_EQ(over.name(), "nccl over threads");
      sums_what_lies_there(over, stream());
    });
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(library.sums, 3 * (1 + 2 + 3));
  EXPECT_EQ(machine.prioritised, 1 + 2 + 3) << "streams of sums";
  EXPECT_EQ(library.aborted, 0) << "ranks did not end together";
}

TEST_F(nccl_between_pretended_gpus, split_communicators_sum_and_are_destroyed_in_any_order) {
  launch<threads>(4, {.deadline = 60s}, [&](communicator& world) {
    nccl over(world, library.source());
    relatives_sum_and_go_in_any_order(over, stream());
  });
  EXPECT_EQ(library.aborted, 0) << "ranks did not end together";
}

/// Whether a conformance test selects algorithms of communicators that send messages themselves.
bool chooses_ways(std::string_view test) {
  return test == "reduces_with_every_algorithm" || test == "adds_in_the_documented_order"
         || test == "gives_all_ranks_the_same_bits" || test == "counts_the_traffic_of_each_algorithm";
}

/// Operations on host memory are forwarded.
TEST_F(nccl_between_pretended_gpus, conforms_as_a_communicator) {
  for (conformance::test const& one : conformance::all_tests) {
    SCOPED_TRACE(one.name);
    if (chooses_ways(one.name)) continue;
    launch<threads>(3, {.deadline = 60s}, [&](communicator& world) {
      nccl over(world, library.source());
      one.run(over);
    });
  }
}

struct outcome {
  std::vector<float> parameters{};
  std::vector<std::string> lines{};  // log lines of rank 0
  std::size_t crossed = 0;           // bytes copied between processor and GPUs
};

/// Rank 0's parameters after training. `Rest`: the backend of the other ranks.
template <class Rest>
outcome trained(int ranks, fake_machine& machine,
                std::function<std::unique_ptr<communicator>(communicator&)> const& over, int epochs = 2) {
  std::mutex printing;
  cohort_test::bright_thirds const examples(61);
  outcome made;
  machine.crossed = 0;
  communicator_settings how;
  how.log = [&](std::string_view line) {
    std::lock_guard const one_at_a_time(printing);
    made.lines.emplace_back(line);
  };
  int const status = launch<threads>(ranks, how, [&](communicator& world) {
    std::unique_ptr<communicator> const own = over(world);
    communicator& used = own ? *own : world;
    training_settings const settings{.optimizer = {momentum{.learning_rate = 0.02}}, .seed = 5};
    auto const run = [&](training&& one) {
      one.fit(examples.data(), {.batch = 6, .epochs = epochs});
      if (world.rank() > 0) return;
      made.parameters = cohort_test::parameters_of<float>(one);
    };
    if (world.rank() == 0)
      run(trainer<pretended_cudnn>(wide, used, allreduce{}, settings));
    else
      run(trainer<Rest>(wide, used, allreduce{}, settings));
  });
  EXPECT_EQ(status, 0);
  made.crossed = machine.crossed;
  return made;
}

void expect_near(outcome const& got, outcome const& wanted) {
  ASSERT_EQ(got.parameters.size(), wanted.parameters.size());
  ASSERT_FALSE(got.parameters.empty());
  for (std::size_t i = 0; i < got.parameters.size(); ++i)
    ASSERT_NEAR(got.parameters[i], wanted.parameters[i], 1e-5) << i;
}

TEST_F(nccl_between_pretended_gpus, gradients_stay_on_the_gpu) {
  auto const over = [&](communicator& world) { return std::make_unique<nccl>(world, library.source()); };
  auto const as_before = [](communicator&) { return nullptr; };
  std::size_t const steps = 61 / 2 / 6, dense = 4 * (65 * 400 + 401 * 3);
  for (int const ranks : {2, 3}) {
    outcome const got = trained<pretended_cudnn>(ranks, machine, over),
                  longer = trained<pretended_cudnn>(ranks, machine, over, 4),
                  wanted = trained<pretended_cudnn>(ranks, machine, as_before);
    expect_near(got, wanted);
    EXPECT_GT(library.sums.exchange(0), 0);
    EXPECT_LT(longer.crossed - got.crossed, steps * dense / 2) << "gradients cross";
    EXPECT_GT(wanted.crossed, 2 * steps * dense);
  }
}

TEST_F(nccl_between_pretended_gpus, ranks_without_a_gpu_train_without_nccl_operations) {
  auto const over = [&](communicator& world) { return std::make_unique<nccl>(world, library.source()); };
  expect_near(trained<reference<float>>(2, machine, over),
              trained<reference<float>>(2, machine, [](communicator&) { return nullptr; }));
  EXPECT_EQ(library.sums, 0);
}

TEST_F(nccl_between_pretended_gpus, ranks_train_without_nccl_if_a_rank_lacks_the_library) {
  auto const over = [&](communicator& world) {
    fake_nccl* const here = &library;
    detail::library_source source = here->source();
    if (world.rank() == 1)
      source.open = [](std::string const&, std::string& why) -> void* {
        why = "libnccl.so.2: no such file";
        return nullptr;
      };
    return std::make_unique<nccl>(world, source);
  };
  outcome const got = trained<pretended_cudnn>(2, machine, over);
  expect_near(got, trained<pretended_cudnn>(2, machine, [](communicator&) { return nullptr; }));
  EXPECT_EQ(library.sums, 0);
  EXPECT_EQ(
      std::ranges::count(got.lines,
                         "rank 1 cannot use NCCL, so all ranks sum in host memory: NCCL 2 cannot be loaded "
                         "(libnccl.so.2: no such file)"),
      1);
}

TEST_F(nccl_between_pretended_gpus, reports_that_the_library_is_too_old_or_lacks_a_function) {
  library.version_number = 21705;
  launch<self>([&](communicator& world) {
    EXPECT_EQ(nccl(world, library.source()).why_not(),
              "NCCL is too old: expected 2.18.0 or newer, got 2.17.5");
  });
  detail::library_source source = library.source();
  source.find = [find = source.find](void* from, char const* symbol) {
    return std::string(symbol) == "ncclCommFinalize" ? nullptr : find(from, symbol);
  };
  launch<self>([&](communicator& world) {
    EXPECT_EQ(nccl(world, source).why_not(),
              "NCCL 2 lacks a function (libnccl.so.2): expected ncclCommFinalize");
  });
}

TEST_F(nccl_between_pretended_gpus, refuses_gpu_memory_without_nccl_and_in_a_broadcast) {
  launch<self>([&](communicator& world) {
    nccl over(world, library.source());
    auto const on = stream();
    std::byte* const there = on->allocate(64);
    EXPECT_THROW(world.allreduce({there, element_type::f32, 4, on.get()}), setting_error);
    EXPECT_THROW(over.broadcast({there, element_type::f32, 4, on.get()}, 0), setting_error);
    on->deallocate(there);
  });
}

/// The error text of each rank.
std::vector<std::string> refusals(int ranks, std::chrono::milliseconds deadline,
                                  std::function<void(communicator&)> const& body) {
  std::vector<std::string> told(static_cast<std::size_t>(ranks));
  try {
    launch<threads>(ranks, {.deadline = deadline}, [&](communicator& world) {
      try {
        body(world);
      } catch (communicator_error const& why) {
        told[static_cast<std::size_t>(world.rank())] = why.what();
      }
    });
  } catch (communicator_error const&) {
  }
  return told;
}

TEST_F(nccl_between_pretended_gpus, an_error_ends_all_ranks) {
  library.asynchronous_error_at = 1;
  library.silent_at = 1;
  auto const told = refusals(2, 30s, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    over.allreduce(some.all());
    over.allreduce(some.all());
  });
  for (std::string const& one : told)
    EXPECT_EQ(one, "rank 0 failed: NCCL: a sum failed (an error of this rank)");
  EXPECT_EQ(library.aborted, 2);
}

TEST_F(nccl_between_pretended_gpus, reports_ranks_that_do_not_join_within_the_deadline) {
  library.joins = false;
  auto const told = refusals(2, 400ms, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    over.allreduce(some.all());
  });
  for (std::string const& one : told)
    EXPECT_NE(one.find("NCCL: joining the ranks has not ended within 400 ms"), one.npos) << one;
}

TEST_F(nccl_between_pretended_gpus, two_ranks_on_one_gpu_are_refused) {
  machine.one_gpu = true;
  std::vector<std::string> told(2);
  launch<threads>(2, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    try {
      over.allreduce(some.all());
    } catch (setting_error const& why) {
      told[static_cast<std::size_t>(over.rank())] = why.what();
    }
  });
  for (std::string const& one : told)
    EXPECT_EQ(
        one,
        "two ranks share a GPU (ranks 0 and 1): expected one GPU for each rank (set CUDA_VISIBLE_DEVICES)");
}

/// Aborted by another thread during a wait. The memory of the sum is not accessed afterwards.
TEST_F(nccl_between_pretended_gpus, an_abort_ends_a_wait) {
  library.silent_at = 0;
  auto const told = refusals(2, 60s, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    pending_operation const held = over.start_allreduce(some.all(), reduction::sum);
    pending_operation waited = held;
    std::thread other([&] {
      if (over.rank() == 0) over.abort("enough");
    });
    try {
      waited.wait();
      ADD_FAILURE() << "it has ended";
    } catch (communicator_error const&) {
      other.join();
      pending_operation again = held;
      EXPECT_THROW(again.done(), communicator_error);
      throw;
    }
    other.join();
  });
  for (std::string const& one : told) EXPECT_EQ(one, "rank 0 failed: enough");
}

/// The error is thrown long before the deadline.
TEST_F(nccl_between_pretended_gpus, a_rank_that_aborts_is_detected) {
  auto const begin = std::chrono::steady_clock::now();
  auto const told = refusals(2, 60s, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    over.allreduce(some.all());
    if (over.rank() == 1) over.abort("no more");
    over.allreduce(some.all());
  });
  for (std::string const& one : told) EXPECT_EQ(one, "rank 1 failed: no more");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

TEST_F(nccl_between_pretended_gpus, a_hanging_sum_ends_all_ranks) {
  library.silent_at = 0;
  auto const told = refusals(2, 400ms, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    over.allreduce(some.all());
  });
  for (std::string const& one : told)
    EXPECT_NE(one.find("NCCL: a sum has not ended within 400 ms"), one.npos) << one;
}

TEST_F(nccl_between_pretended_gpus, a_missing_rank_is_reported) {
  auto const told = refusals(2, 400ms, [&](communicator& world) {
    nccl over(world, library.source());
    gpu_array<float> const some(stream(), counting(10, 0));
    over.allreduce(some.all());
    over.note({7, over.rank() == 0 ? 1 : 0});
    while (over.rank() == 1 && !over.probe(0, 0))
      std::this_thread::yield();  // until it receives the announcement
    over.allreduce(some.all());
  });
  for (std::string const& one : told)
    EXPECT_TRUE(one.starts_with("rank 1 is at step 7, bucket 0; rank 0 waits in bucket 1 (barrier")) << one;
}

}  // namespace nccl_test
