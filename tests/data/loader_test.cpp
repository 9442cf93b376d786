// SPDX-License-Identifier: Apache-2.0
// covers: data/loader_settings
// alone: it replaces operator new
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/data/arrays.hpp>
#include <cohort/data/detail/epoch_sequence.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/order.hpp>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "refused.hpp"

namespace {
std::atomic<std::int64_t> allocations{0};
}  // namespace

// Weak, so that a sanitizer's operators take precedence. GCC considers the pair mismatched if it inlines one
// of the two.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
[[gnu::weak]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void* operator new(std::size_t bytes, std::align_val_t boundary) {
  ++allocations;
  auto const b = static_cast<std::size_t>(boundary);
  if (void* const memory = std::aligned_alloc(b, (bytes + b - 1) / b * b)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using namespace std::chrono_literals;

/// Examples whose value is their index. Example `failing` throws data_error.
class numbers {
 public:
  explicit numbers(int size, int failing = -1) : size_(size), failing_(failing) {
    what_.inputs = {{.name = "number", .example = {1}}};
  }
  cohort::data_description const& describe() const { return what_; }
  std::int64_t size() const { return size_; }
  void get(std::int64_t i, cohort::example_view& out) const {
    if (i == failing_)
      throw cohort::data_error({.what = "example 13 is bad", .where = "", .expected = "", .got = ""});
    *out.fill<float>(0) = static_cast<float>(i);
  }

 private:
  int size_;
  int failing_;
  cohort::data_description what_;
};

/// Provides no example until it is opened.
class closed_gate {
 public:
  closed_gate() { what_.inputs = {{.name = "number", .example = {1}}}; }
  ~closed_gate() { open(); }
  cohort::data_description const& describe() const { return what_; }
  std::int64_t size() const { return 100; }
  void get(std::int64_t, cohort::example_view& out) const {
    std::unique_lock lock(mutex_);
    is_entered_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, 20s, [&] { return is_open_; });
    *out.fill<float>(0) = 1;
  }
  bool wait_for_somebody() const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return is_entered_; });
  }
  void open() const {
    std::lock_guard const lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  cohort::data_description what_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool is_open_ = false;
  mutable bool is_entered_ = false;
};

std::vector<std::int64_t> epoch_of(cohort::loader& loader, std::int64_t epoch, std::int64_t position = 0) {
  std::vector<std::int64_t> seen;
  loader.start(epoch, position);
  while (cohort::batch const* b = loader.next()) {
    EXPECT_EQ(b->epoch, epoch);
    EXPECT_EQ(b->indices.size(), static_cast<std::size_t>(b->count));
    for (std::size_t i = 0; i < b->indices.size(); ++i)
      EXPECT_EQ(b->input().as<float>()[i], static_cast<float>(b->indices[i]));
    seen.insert(seen.end(), b->indices.begin(), b->indices.end());
  }
  EXPECT_EQ(loader.next(), nullptr);
  return seen;
}

TEST(loader, has_the_same_order_at_any_prefetch_depth) {
  cohort::loader plain(numbers(103), {.batch = 8, .seed = 5});
  for (int prefetch : {1, 4, 50}) {
    cohort::loader ahead(numbers(103), {.batch = 8, .seed = 5, .prefetch = prefetch});
    for (int epoch : {0, 1, 2}) {
      auto const expected = epoch_of(plain, epoch);
      EXPECT_EQ(expected, cohort::epoch_order(5, epoch, 103));
      EXPECT_EQ(epoch_of(ahead, epoch), expected);
    }
  }
}

TEST(loader, has_the_same_batches_with_any_number_of_readers) {
  cohort::loader plain(numbers(103), {.batch = 8, .seed = 5});
  for (int readers : {1, 2, 3, 20})
    for (int prefetch : {0, 3}) {
      cohort::loader shared(numbers(103), {.batch = 8, .seed = 5, .prefetch = prefetch, .readers = readers});
      for (int epoch : {0, 1, 2}) EXPECT_EQ(epoch_of(shared, epoch), epoch_of(plain, epoch));
      EXPECT_EQ(epoch_of(shared, 4, 40), epoch_of(plain, 4, 40)) << "from the middle of an epoch";
    }
}

/// Every reader has to begin to read an example of the batch before any reader returns an example.
class meeting : public numbers {
 public:
  meeting(int size, int readers) : numbers(size), readers_(readers) {}
  void get(std::int64_t i, cohort::example_view& out) const {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return std::ssize(threads_) == readers_; }));
    numbers::get(i, out);
  }

 private:
  int readers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::set<std::thread::id> threads_;
};

TEST(loader, reads_examples_in_parallel) {
  for (int readers : {1, 2, 3})
    for (int prefetch : {0, 2}) {
      auto const data = std::make_shared<meeting>(12, readers);
      cohort::loader loader(data, {.batch = 6, .prefetch = prefetch, .readers = readers});
      EXPECT_EQ(epoch_of(loader, 0).size(), 12u);
    }
}

/// Three examples of the third batch fail. If another thread reads a later failing example, the first failing
/// example waits until that example has failed.
class failing : public numbers {
 public:
  explicit failing(int readers) : numbers(40), readers_(readers) {}
  void get(std::int64_t i, cohort::example_view& out) const {
    if (i != 9 && i != 10 && i != 11) return numbers::get(i, out);
    std::unique_lock lock(mutex_);
    failures_ += i > 9;
    changed_.notify_all();
    if (i == 9) {
      EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return readers_ == 1 || failures_ > 0; }));
    }
    throw cohort::data_error({.what = "example " + std::to_string(i) + " is bad"});
  }

 private:
  int readers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int failures_ = 0;
};

TEST(loader, rethrows_the_exception_of_the_first_bad_example_of_any_reader) {
  for (int readers : {1, 2, 3})
    for (int prefetch : {0, 2}) {
      cohort::loader loader(std::make_shared<failing>(readers),
                            {.batch = 4, .shuffle = false, .prefetch = prefetch, .readers = readers});
      loader.start(0);
      for (int i = 0; i < 2; ++i) ASSERT_NE(loader.next(), nullptr);
      for (int i = 0; i < 2; ++i)
        EXPECT_EQ(refused<cohort::data_error>([&] { loader.next(); }), "example 9 is bad");
      loader.start(0, 12);
      EXPECT_EQ(loader.next()->indices[0], 12) << "the readers continue with other examples";
    }
}

/// Every reader except the first one hangs; the first reader waits until another reader hangs.
class hanging_reader : public numbers {
 public:
  explicit hanging_reader(std::shared_ptr<closed_gate const> gate) : numbers(40), gate_(std::move(gate)) {}
  void get(std::int64_t i, cohort::example_view& out) const {
    std::unique_lock lock(mutex_);
    bool const hangs = std::this_thread::get_id() != first_;
    if (hangs) {
      hung_ = true;
      changed_.notify_all();
      lock.unlock();
      gate_->get(i, out);
    } else {
      EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return hung_; }));
    }
    numbers::get(i, out);
  }

 private:
  std::shared_ptr<closed_gate const> gate_;
  std::thread::id first_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool hung_ = false;
};

TEST(loader, prevents_writes_of_a_reader_that_missed_its_deadline) {
  auto const gate = std::make_shared<closed_gate>();
  {
    cohort::loader loader(std::make_shared<hanging_reader>(gate),
                          {.batch = 4, .shuffle = false, .readers = 2, .deadline = 20ms});
    loader.start(0);
    for (int i = 0; i < 2; ++i)
      expect_parts(refused<cohort::deadline_error>([&] { loader.next(); }), {"2 readers", "20 ms"});
    loader.start(0);
    expect_parts(refused<cohort::deadline_error>([&] { loader.next(); }), {"2 readers"});
  }
  gate->open();  // the detached thread ends by itself, after the batch is gone
}

TEST(loader, passes_the_epoch_of_an_example_to_the_data_set) {
  struct epochs : numbers {
    using numbers::numbers;
    void get(std::int64_t, cohort::example_view& out) const {
      *out.fill<float>(0) = static_cast<float>(out.epoch);
    }
  };
  for (int prefetch : {0, 2}) {
    cohort::loader loader(epochs(4), {.batch = 4, .prefetch = prefetch});
    for (int epoch : {0, 3, 1}) {
      loader.start(epoch);
      EXPECT_EQ(loader.next()->input().as<float>()[2], static_cast<float>(epoch));
    }
  }
}

TEST(loader, starts_an_epoch_before_the_previous_one_has_ended) {
  for (int prefetch : {0, 1, 3}) {
    cohort::loader loader(numbers(60), {.batch = 4, .seed = 2, .prefetch = prefetch});
    for (int round = 0; round < 30; ++round) {
      loader.start(round);
      for (int i = 0; i < round % 5; ++i) ASSERT_NE(loader.next(), nullptr);
    }
    EXPECT_EQ(epoch_of(loader, 7), cohort::epoch_order(2, 7, 60));
  }
}

TEST(loader, drops_the_pending_batch_on_a_restart) {
  auto const gate = std::make_shared<closed_gate>();
  cohort::loader loader(gate, {.batch = 4, .prefetch = 2});
  loader.start(0);
  ASSERT_TRUE(gate->wait_for_somebody());
  loader.start(1, 52);
  gate->open();
  cohort::batch const* const b = loader.next();
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->epoch, 1);
  EXPECT_EQ(b->first_index, 52);
}

TEST(loader, resumes_with_the_same_or_another_number_of_ranks) {
  cohort::loader first(numbers(100), {.batch = 10, .ranks = 2, .seed = 3});
  first.start(1);
  first.next();
  first.next();
  EXPECT_EQ(first.position(), 40);
  for (int prefetch : {0, 2}) {
    cohort::loader resumed(numbers(100), {.batch = 7, .seed = 3, .prefetch = prefetch});
    auto const order = cohort::epoch_order(3, 1, 100);
    EXPECT_EQ(epoch_of(resumed, 1, first.position()),
              std::vector<std::int64_t>(order.begin() + 40, order.end()));
  }
}

TEST(loader, shuffles_by_blocks_and_resumes_with_another_number_of_ranks) {
  cohort::block_shuffle const blocks{.block = 10, .window = 30};
  std::vector<std::int64_t> order;
  cohort::detail::epoch_sequence sequence;
  sequence.start({.seed = 3, .epoch = 1, .size = 103, .blocks = blocks});
  sequence.copy({0, 103}, order);
  cohort::loader alone(numbers(103), {.batch = 8, .seed = 3, .blocks = blocks});
  EXPECT_EQ(epoch_of(alone, 1), order);
  cohort::loader first(numbers(103), {.batch = 10, .ranks = 2, .seed = 3, .blocks = blocks});
  first.start(1);
  first.next();
  first.next();
  ASSERT_EQ(first.position(), 40);
  for (int prefetch : {0, 2}) {
    std::vector<std::int64_t> seen(order.begin(), order.begin() + 40);
    for (int rank = 0; rank < 3; ++rank) {
      cohort::loader resumed(
          numbers(103),
          {.batch = 7, .rank = rank, .ranks = 3, .seed = 3, .blocks = blocks, .prefetch = prefetch});
      auto const rest = epoch_of(resumed, 1, first.position());
      seen.insert(seen.end(), rest.begin(), rest.end());
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, cohort::epoch_order(3, 1, 103, false));
  }
}

TEST(loader, distributes_each_example_once_in_equally_many_batches) {
  for (int ranks : {2, 3, 5}) {
    std::map<std::int64_t, int> seen;
    for (int rank = 0; rank < ranks; ++rank) {
      cohort::loader loader(numbers(101), {.batch = 5, .rank = rank, .ranks = ranks, .seed = 9});
      std::int64_t batches = 0;
      loader.start(0);
      while (cohort::batch const* b = loader.next()) {
        for (std::int64_t const i : b->indices) ++seen[i];
        EXPECT_EQ(b->global_count, std::min<std::int64_t>(5 * ranks, 101 - 5 * ranks * batches));
        EXPECT_EQ(b->ranks, ranks);
        EXPECT_TRUE(b->even);
        ++batches;
        EXPECT_EQ(b->next_position, std::min<std::int64_t>(5 * ranks * batches, 101));
      }
      EXPECT_EQ(batches, loader.batches());
    }
    EXPECT_EQ(seen.size(), 101u);
    for (auto const& [index, times] : seen) EXPECT_EQ(times, 1) << index;
  }
}

TEST(loader, returns_an_empty_batch_to_ranks_beyond_the_last_examples) {
  cohort::loader loader(numbers(9), {.batch = 4, .rank = 1, .ranks = 2});
  ASSERT_EQ(loader.next()->count, 4);
  cohort::batch const* const last = loader.next();
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->count, 0);
  EXPECT_EQ(last->global_count, 1);
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(loader, distributes_rank_local_examples_once_in_equally_many_batches) {
  std::vector<std::int64_t> const sizes{7, 0, 23, 12};
  std::vector<std::vector<std::int64_t>> orders;
  std::int64_t before = 0;
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t const size = sizes[static_cast<std::size_t>(rank)];
    for (int prefetch : {0, 3}) {
      cohort::loader loader(
          numbers(static_cast<int>(size)),
          {.batch = 5, .rank = rank, .ranks = 4, .seed = 9, .prefetch = prefetch, .local_sizes = sizes});
      EXPECT_EQ(loader.batches(), 5);
      std::vector<std::int64_t> seen;
      std::int64_t batches = 0;
      loader.start(2);
      while (cohort::batch const* b = loader.next()) {
        std::int64_t expected = 0;
        for (std::int64_t const n : sizes) expected += std::clamp<std::int64_t>(n - 5 * batches, 0, 5);
        EXPECT_EQ(b->global_count, expected);
        EXPECT_EQ(b->ranks, 4);
        EXPECT_FALSE(b->even);
        EXPECT_EQ(b->count, std::clamp<std::int64_t>(size - 5 * batches, 0, 5));
        ++batches;
        EXPECT_EQ(b->next_position, std::min<std::int64_t>(5 * batches, 23));
        for (std::size_t i = 0; i < b->indices.size(); ++i) {
          EXPECT_EQ(b->input().as<float>()[i], static_cast<float>(b->indices[i] - before));
          seen.push_back(b->indices[i] - before);
        }
      }
      EXPECT_EQ(batches, 5);
      EXPECT_EQ(seen, [&] {
        std::vector<std::int64_t> order;
        cohort::epoch_order(order, 9, 2, size, true, rank);
        return order;
      }());
      loader.start(2, 10);
      if (size > 10) {
        EXPECT_EQ(loader.next()->indices[0] - before, seen[10]);
      }
      if (prefetch == 0) orders.push_back(seen);
    }
    before += size;
  }
  EXPECT_NE(std::vector<std::int64_t>(orders[2].begin(), orders[2].end()), cohort::epoch_order(9, 2, 23))
      << "each rank has an order of its own";
}

TEST(loader, refuses_to_drop_the_only_batch) {
  auto const sentence = [](cohort::loader_settings const& how) {
    return refused<cohort::setting_error>([&] { cohort::loader(numbers(11), how); });
  };
  EXPECT_EQ(sentence({.batch = 12, .drop_last = true}),
            "invalid loader settings (batch): expected at most 11 for 11 examples, because drop_last would "
            "leave no "
            "batch, got 12");
  EXPECT_EQ(sentence({.batch = 6, .ranks = 2, .drop_last = true}),
            "invalid loader settings (batch): expected at most 5 for 11 examples on 2 ranks, because "
            "drop_last would "
            "leave no batch, got 6");
  EXPECT_EQ(sentence({.batch = 4, .ranks = 2, .drop_last = true, .local_sizes = {11, 3}}),
            "invalid loader settings (batch): expected at most 3 for 3 examples on the smallest rank, "
            "because drop_last "
            "would leave no batch, got 4");
  EXPECT_EQ(cohort::loader(numbers(11), {.batch = 11, .drop_last = true}).batches(), 1);
  EXPECT_EQ(cohort::loader(numbers(11), {.batch = 12}).batches(), 1);
}

TEST(loader, drops_the_incomplete_batch_if_drop_last_is_set) {
  cohort::loader loader(numbers(11), {.batch = 4, .drop_last = true});
  EXPECT_EQ(epoch_of(loader, 0).size(), 8u);
  EXPECT_EQ(loader.batches(), 2);
}

TEST(loader, rethrows_an_exception_from_the_next_call_that_needs_the_batch) {
  for (int prefetch : {0, 1, 4}) {
    cohort::loader loader(numbers(40, 13), {.batch = 4, .shuffle = false, .prefetch = prefetch});
    loader.start(0);
    for (int i = 0; i < 3; ++i) ASSERT_NE(loader.next(), nullptr);
    for (int i = 0; i < 2; ++i)
      expect_parts(refused<cohort::data_error>([&] { loader.next(); }), {"example 13"});
    loader.start(0, 16);
    EXPECT_NE(loader.next(), nullptr);
  }
}

TEST(loader, stops_waiting_at_its_deadline_and_reports_the_position) {
  auto const gate = std::make_shared<closed_gate>();
  cohort::loader loader(gate, {.batch = 4, .rank = 0, .prefetch = 2, .deadline = 20ms});
  loader.start(3, 8);
  expect_parts(refused<cohort::deadline_error>([&] { loader.next(); }), {"epoch 3", "position 8", "20 ms"});
  gate->open();
}

TEST(loader, is_destroyed_in_time_while_its_thread_hangs) {
  auto const gate = std::make_shared<closed_gate>();
  auto const beginning = std::chrono::steady_clock::now();
  {
    cohort::loader loader(gate, {.batch = 4, .prefetch = 2, .deadline = 20ms});
    loader.start(0);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - beginning, 10s);
  gate->open();  // the detached thread ends by itself
}

TEST(loader, is_destroyed_with_unread_batches) {
  for (int taken : {0, 1, 5}) {
    cohort::loader loader(numbers(1000), {.batch = 4, .prefetch = 3});
    loader.start(0);
    for (int i = 0; i < taken; ++i) EXPECT_NE(loader.next(), nullptr);
  }
  cohort::loader const never_started(numbers(10), {.prefetch = 3});
}

TEST(loader, does_not_allocate_after_the_first_epoch) {
  std::vector<float> const inputs(1000 * 5, 1);
  std::vector<std::int32_t> const labels(1000, 2);
  cohort::loader rows(cohort::arrays(inputs, {5}, labels, 3), {.batch = 32, .seed = 1});
  cohort::loader examples(numbers(1000), {.batch = 32, .seed = 1});
  cohort::loader by_blocks(numbers(1000), {.batch = 32, .seed = 1, .blocks = {10, 200}});
  for (cohort::loader* loader : {&rows, &examples, &by_blocks}) {
    loader->start(0);
    while (loader->next() != nullptr) {
    }
    std::int64_t const before = allocations;
    for (int epoch : {1, 2}) {
      loader->start(epoch);
      while (loader->next() != nullptr) {
      }
    }
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST(loader, refuses_invalid_settings) {
  auto const says = [](cohort::loader_settings settings) {
    return refused<cohort::setting_error>([&] { cohort::loader(numbers(10), settings); });
  };
  expect_parts(says({.batch = 0}), {"batch", "at least 1", "got 0"});
  expect_parts(says({.rank = 2, .ranks = 2}), {"rank", "0 to 1", "got 2"});
  expect_parts(says({.ranks = 0}), {"ranks"});
  expect_parts(says({.prefetch = -1}), {"prefetch", "-1"});
  expect_parts(says({.blocks = {-1, 0}}), {"blocks.block", "at least 0", "got -1"});
  expect_parts(says({.blocks = {2, -1}}), {"blocks.window", "at least 0", "got -1"});
  expect_parts(says({.blocks = {0, 5}}), {"blocks.window", "0 without blocks.block", "got 5"});
  expect_parts(says({.shuffle = false, .blocks = {5, 0}}), {"blocks.block", "0 without shuffle", "got 5"});
  expect_parts(says({.blocks = {5, 0}, .bucket = 4}), {"bucket", "0 with blocks.block", "got 4"});
  expect_parts(says({.readers = 0}), {"readers", "1 to 256", "got 0"});
  expect_parts(says({.deadline = 0ms}), {"deadline"});
  expect_parts(refused<cohort::setting_error>([] { cohort::loader(numbers(0), {}); }),
               {"data", "at least 1 example"});
  expect_parts(says({.ranks = 2, .local_sizes = {10}}), {"local_sizes", "2 sizes, one per rank", "got 1"});
  expect_parts(says({.ranks = 2, .local_sizes = {9, 10}}),
               {"local_sizes", "10 examples on this rank", "got 9"});
  expect_parts(refused<cohort::setting_error>([] {
                 cohort::loader(numbers(0), {.ranks = 2, .local_sizes = {0, 0}});
               }),
               {"data", "at least 1 example on some rank"});
  cohort::loader loader(numbers(10), {});
  expect_parts(refused<cohort::setting_error>([&] { loader.start(0, 11); }), {"position", "0 to 10", "11"});
}

}  // namespace
