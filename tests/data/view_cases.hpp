// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <functional>
#include <memory>
#include <numeric>

#include "refused.hpp"

/// Data sets for the tests of views.
namespace view_cases {

using namespace cohort;

/// Labelled numbers in memory: example i is (i, −i) with class i % classes.
inline dataset numbers(int count, int classes = 3) {
  struct content {
    std::vector<float> values;
    std::vector<std::int32_t> labels;
  };
  auto const made = std::make_shared<content>();
  for (int i = 0; i < count; ++i) {
    made->values.insert(made->values.end(), {static_cast<float>(i), static_cast<float>(-i)});
    made->labels.push_back(i % classes);
  }
  return arrays({array_view{.name = "input", .values = {made->values.data(), {count, 2}}}},
                {array_view{.name = "label", .values = {made->labels.data(), {count}}, .classes = classes}},
                made);
}

/// The same examples, computed by get, with weights i + 1 and keys "k<i>"; counts the calls of get.
class computed {
 public:
  computed(int count, int classes, std::shared_ptr<std::vector<int>> calls)
      : count_(count), classes_(classes), calls_(std::move(calls)) {
    what_.inputs = {{.name = "input", .example = {2}}};
    what_.targets = {
        {.name = "label", .stored = element_type::i32, .type = element_type::i32, .classes = classes}};
    what_.weighted = what_.keyed = true;
    if (calls_) calls_->assign(static_cast<std::size_t>(count), 0);
  }
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return count_; }
  void get(std::int64_t i, example_view& out) const {
    if (calls_) ++(*calls_)[static_cast<std::size_t>(i)];
    auto* const values = out.fill<float>(0);
    values[0] = static_cast<float>(i) + 1000 * static_cast<float>(out.epoch);
    values[1] = static_cast<float>(-i);
    *out.fill<std::int32_t>(1) = static_cast<std::int32_t>(i) % classes_;
    out.weight = static_cast<float>(i + 1);
    static thread_local std::string key;
    key = "k" + std::to_string(i);
    out.key = key;
  }

 private:
  int count_;
  int classes_;
  std::shared_ptr<std::vector<int>> calls_;
  data_description what_;
};

inline dataset weighted(int count, int classes = 3, std::shared_ptr<std::vector<int>> calls = nullptr) {
  return computed(count, classes, std::move(calls));
}

/// A stream of increasing numbers: shard s of n has the numbers below `size` that are congruent to s
/// modulo n.
class counting {
 public:
  explicit counting(int size) : size_(size) { what_.inputs = {{.name = "number", .example = {1}}}; }
  struct cursor {
    std::int64_t next_number, of, size;
    bool next(example_view& out) {
      if (next_number >= size) return false;
      *out.fill<float>(0) = static_cast<float>(next_number);
      next_number += of;
      return true;
    }
  };
  data_description const& describe() const { return what_; }
  cursor open(int shard, int of, std::int64_t, std::int64_t position) const {
    return {shard + of * position, of, size_};
  }

 private:
  int size_;
  data_description what_;
};

inline void expect_stream_is_refused(char const* user, std::function<void(dataset const&)> const& use) {
  expect_parts(refused<setting_error>([&] { use(counting(9)); }), {user, "a stream"});
}

/// All examples in order, in batches of one size.
struct content {
  std::vector<float> first;  // the first element of each input
  std::vector<std::int32_t> labels;
  std::vector<float> weights;
  std::vector<std::string> keys;
};

inline content read(dataset const& data, std::int64_t epoch = 0) {
  content all;
  if (data.size() == 0) return all;
  loader batches(data, {.batch = 7, .shuffle = false});
  batches.start(epoch);
  while (batch const* const b = batches.next()) {
    auto const inputs = b->input().as<float>();
    auto const width = static_cast<std::size_t>(b->inputs[0].example.elements());
    for (std::size_t i = 0; i < inputs.size(); i += width) all.first.push_back(inputs[i]);
    if (!b->targets.empty() && b->targets[0].type == element_type::i32)
      for (std::int32_t const label : b->target().as<std::int32_t>()) all.labels.push_back(label);
    all.weights.insert(all.weights.end(), b->weights.begin(), b->weights.end());
    all.keys.insert(all.keys.end(), b->keys.begin(), b->keys.end());
  }
  return all;
}

using values = std::vector<float>;
using indices = std::vector<std::int64_t>;

}  // namespace view_cases
