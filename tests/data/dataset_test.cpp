// SPDX-License-Identifier: Apache-2.0
// covers: data/example_view
#include <cohort/data/arrays.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "refused.hpp"

namespace dataset_test {

/// Every kind of part: a generated input, a pointed-to second input, a target, a mask, a weight and a key.
class made_up {
 public:
  explicit made_up(int size) : size_(size), table_(static_cast<std::size_t>(size) * 3) {
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<float>(i);
    using enum cohort::element_type;
    what_.inputs = {{.name = "square", .example = {2, 2}, .stored = u8, .type = f32, .scale = 0.5},
                    {.name = "row", .example = {3}}};
    what_.targets = {{.name = "label", .stored = i32, .type = i32, .classes = 5}};
    what_.masks = {{.name = "mask", .example = {2}, .stored = u8, .type = u8}};
    what_.weighted = what_.keyed = true;
  }
  made_up(made_up&&) = default;

  cohort::data_description const& describe() const { return what_; }
  int size() const { return size_; }
  void get(std::int64_t i, cohort::example_view& out) const {
    auto* const square = out.fill<std::uint8_t>(0);
    for (int k = 0; k < 4; ++k) square[k] = static_cast<std::uint8_t>(4 * i + k);
    out.point(1, &table_[static_cast<std::size_t>(i) * 3]);
    *out.fill<std::int32_t>(2) = static_cast<std::int32_t>(i % 5);
    auto* const mask = out.fill<std::uint8_t>(3);
    mask[0] = 1;
    mask[1] = static_cast<std::uint8_t>(i % 2);
    out.weight = static_cast<float>(i) / 2;
    key_ = "example " + std::to_string(i);
    out.key = key_;
  }

 private:
  int size_;
  std::vector<float> table_;
  cohort::data_description what_;
  static inline thread_local std::string key_;
};

/// A stream of increasing numbers; shard s of n has the numbers ≡ s modulo n below `size`.
class counting {
 public:
  explicit counting(int size) : size_(size) { what_.inputs = {{.name = "number", .example = {1}}}; }
  struct cursor {
    int next_number;
    int of;
    int size;
    bool next(cohort::example_view& out) {
      if (next_number >= size) return false;
      *out.fill<float>(0) = static_cast<float>(next_number);
      next_number += of;
      return true;
    }
  };
  cohort::data_description const& describe() const { return what_; }
  cursor open(int shard, int of, std::int64_t, std::int64_t position) const {
    return {shard + of * static_cast<int>(position), of, size_};
  }

 private:
  int size_;
  cohort::data_description what_;
};

static_assert(cohort::indexed_dataset<made_up> && !cohort::stream_dataset<made_up>);
static_assert(cohort::stream_dataset<counting> && !cohort::indexed_dataset<counting>);
static_assert(cohort::indexed_dataset<cohort::arrays>);
static_assert(cohort::indexed_dataset<cohort::dataset> && !cohort::indexed_dataset<int>);

void expect_made_up(cohort::dataset const& data) {
  cohort::loader loader(data, {.batch = 3, .shuffle = false});
  loader.start(0, 4);
  cohort::batch const* b = loader.next();
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->count, 3);
  EXPECT_EQ(b->indices, (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(b->input(0).dims, cohort::shape(3, 2, 2));
  auto const squares = b->input(0).as<float>();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(squares[i], static_cast<float>(16 + i) / 2);
  EXPECT_EQ(b->input(1).as<float>()[8], 20);
  EXPECT_EQ(b->target().as<std::int32_t>()[1], 0);
  EXPECT_EQ(b->mask().as<std::uint8_t>()[3], 1);
  EXPECT_EQ(b->weights, (std::vector<float>{2, 2.5F, 3}));
  EXPECT_EQ(b->keys[2], "example 6");
}

TEST(dataset, copies_every_kind_of_part_into_a_batch) { expect_made_up(made_up(9)); }

/// One example with this weight.
class weighing {
 public:
  explicit weighing(float weight) : weight_(weight) {
    what_.inputs = {{.name = "number", .example = {1}}};
    what_.weighted = true;
  }
  cohort::data_description const& describe() const { return what_; }
  int size() const { return 3; }
  void get(std::int64_t i, cohort::example_view& out) const {
    *out.fill<float>(0) = 1;
    out.weight = i == 1 ? weight_ : 1;
  }

 private:
  float weight_;
  cohort::data_description what_;
};

TEST(dataset, refuses_weights_that_are_negative_or_not_finite) {
  for (float const bad : {-1.0F, -1e-30F, std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    cohort::loader loader(weighing(bad), {.batch = 3});
    loader.start(0);
    expect_parts(refused<cohort::data_error>([&] { loader.next(); }),
                 {"the weight of an example is negative or not finite", "example 1", "at least 0"});
  }
  for (float const good : {0.0F, -0.0F, 1e-30F, 1e30F}) {
    cohort::loader loader(weighing(good), {.batch = 3});
    loader.start(0);
    EXPECT_EQ(loader.next()->count, 3);
  }
}

TEST(dataset, is_constructed_from_a_value_a_shared_pointer_or_a_reference) {
  expect_made_up(std::make_shared<made_up const>(9));
  expect_made_up(std::make_shared<made_up>(9));
  made_up const mine(9);
  expect_made_up(std::cref(mine));
}

TEST(dataset, copies_rows_in_memory_with_the_same_result_as_get) {
  std::vector<std::uint8_t> bytes(20 * 33);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  std::vector<std::int32_t> labels(20, 1);
  cohort::arrays const rows(bytes, {33}, labels, 2, 1 / 255.0, -0.5);
  struct by_example {
    cohort::arrays const& rows;
    cohort::data_description const& describe() const { return rows.describe(); }
    std::int64_t size() const { return rows.size(); }
    void get(std::int64_t i, cohort::example_view& out) const { rows.get(i, out); }
  };
  cohort::loader together(std::cref(rows), {.batch = 20, .seed = 1});
  cohort::loader single(by_example{rows}, {.batch = 20, .seed = 1});
  auto const a = together.next()->input().as<float>();
  auto const b = single.next()->input().as<float>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST(stream, is_read_in_shards_to_its_end_and_resumed) {
  for (int prefetch : {0, 2}) {
    std::vector<int> seen(11);
    for (int rank = 0; rank < 3; ++rank) {
      cohort::loader loader(counting(11), {.batch = 2, .rank = rank, .ranks = 3, .prefetch = prefetch});
      loader.start(0);
      while (cohort::batch const* b = loader.next())
        for (int i = 0; i < b->count; ++i) {
          auto const number = static_cast<int>(b->input().as<float>()[static_cast<std::size_t>(i)]);
          EXPECT_EQ(b->indices[static_cast<std::size_t>(i)], number);
          ++seen[static_cast<std::size_t>(number)];
        }
      std::int64_t const all = loader.position();
      loader.start(1, all - 1);
      ASSERT_NE(loader.next(), nullptr);
      EXPECT_EQ(loader.next(), nullptr);
    }
    EXPECT_EQ(seen, std::vector<int>(11, 1));
  }
}

TEST(stream, refuses_several_readers) {
  expect_parts(refused<cohort::setting_error>([] { cohort::loader(counting(5), {.readers = 2}); }),
               {"readers", "a stream is read in sequence", "got 2"});
}

TEST(stream, has_no_size_and_no_random_access) {
  cohort::dataset const data = counting(5);
  EXPECT_FALSE(data.indexed());
  EXPECT_EQ(data.size(), -1);
  cohort::example_view one;
  expect_parts(refused<cohort::setting_error>([&] { data.get(0, one); }), {"stream", "get"});
}

TEST(dataset, copies_a_batch_of_many_rows) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  cohort::loader loader(cohort::arrays({cohort::array_view{.name = "x", .values = {values.data(), {1000}}}}),
                        {.batch = 1000, .seed = 3});
  cohort::batch const* const b = loader.next();
  for (std::size_t i = 0; i < 1000; ++i)
    EXPECT_EQ(b->input().as<float>()[i], static_cast<float>(b->indices[i]));
}

/// Examples of which get does not set all parts.
struct careless {
  bool sets_target = true;
  cohort::data_description what{.inputs = {{.name = "x"}},
                                .targets = {{.name = "y",
                                             .stored = cohort::element_type::i32,
                                             .type = cohort::element_type::i32,
                                             .classes = 3}},
                                .weighted = true};
  cohort::data_description const& describe() const { return what; }
  int size() const { return 6; }
  void get(std::int64_t i, cohort::example_view& out) const {
    *out.fill<float>(0) = static_cast<float>(i);
    if (sets_target || i != 4) *out.fill<std::int32_t>(1) = i == 5 && sets_target ? 3 : 1;
    if (i == 1) out.weight = 7;
  }
};

TEST(dataset, reports_the_part_that_an_example_does_not_set) {
  for (int readers : {1, 3}) {
    cohort::loader loader(careless{false}, {.batch = 6, .shuffle = false, .readers = readers});
    EXPECT_EQ(refused<cohort::data_error>([&] { loader.next(); }),
              "an example is incomplete (y, example 4): expected a call of point or fill for every part, got "
              "none for "
              "part 1");
  }
  cohort::class_weighted const weighted = cohort::weighted_by_class(careless{false}, {1, 2, 3});
  cohort::example_view one;
  one.allocate(weighted.describe());
  EXPECT_THROW(weighted.get(4, one), cohort::data_error);
}

TEST(dataset, uses_the_weight_1_for_examples_that_set_no_weight) {
  cohort::loader loader(careless(), {.batch = 5, .shuffle = false});
  EXPECT_EQ(loader.next()->weights, (std::vector<float>{1, 7, 1, 1, 1}));
}

TEST(dataset, reports_the_example_with_a_label_out_of_range) {
  cohort::loader loader(careless(), {.batch = 6, .shuffle = false});
  EXPECT_EQ(refused<cohort::data_error>([&] { loader.next(); }),
            "a class label is out of range (y, example 5): expected 0 to 2, got 3");
}

TEST(stream, reports_the_part_that_an_example_does_not_set) {
  struct forgetful {
    cohort::data_description what{.inputs = {{.name = "x"}, {.name = "z"}}};
    struct cursor {
      int next_number = 0;
      bool next(cohort::example_view& out) {
        *out.fill<float>(0) = 1;
        if (next_number != 2) *out.fill<float>(1) = 1;
        return next_number++ < 5;
      }
    };
    cohort::data_description const& describe() const { return what; }
    cursor open(int, int, std::int64_t, std::int64_t) const { return {}; }
  };
  cohort::loader loader(forgetful(), {.batch = 3});
  EXPECT_EQ(refused<cohort::data_error>([&] { loader.next(); }),
            "an example is incomplete (z, example 2 of the shard): expected a call of point or fill for "
            "every part, got "
            "none for part 1");
}

TEST(example_view, refuses_a_part_that_the_data_set_does_not_have) {
  cohort::example_view one;
  one.allocate(made_up(3).describe());
  EXPECT_EQ(refused<cohort::shape_error>([&] { one.point(4, nullptr); }),
            "the data set has no such part (part 4): expected 0 to 3, inputs first, then targets, then "
            "masks, got 4");
  EXPECT_THROW(one.fill<float>(9), cohort::shape_error);
  EXPECT_THROW(one.edit<float>(4), cohort::shape_error);
}

TEST(example_view, edit_copies_elements_and_does_not_change_the_data_set) {
  made_up const data(3);
  cohort::example_view one;
  one.allocate(data.describe());
  for (int repeat = 0; repeat < 2; ++repeat) {
    data.get(1, one);
    EXPECT_EQ(one.edit<float>(1).size(), 3U);
    one.edit<float>(1)[0] += 100;  // the second call of edit keeps the copy of the first call
    one.edit<std::uint8_t>(0)[2] = 77;
    EXPECT_EQ(reinterpret_cast<float const*>(one.at(1))[0], 103);
    EXPECT_EQ(reinterpret_cast<float const*>(one.at(1))[2], 5);
    EXPECT_EQ(static_cast<int>(one.at(0)[2]), 77);
    EXPECT_EQ(static_cast<int>(one.at(0)[3]), 7);
  }
}

TEST(example_view, refuses_elements_of_another_type) {
  cohort::example_view one;
  one.allocate(made_up(3).describe());
  EXPECT_EQ(
      refused<cohort::shape_error>([&] { one.edit<float>(0); }),
      "fill or edit was called with the wrong type (part 0 of the data set): expected u8, the type of the "
      "stored elements, got f32");
  EXPECT_THROW(one.fill<double>(1), cohort::shape_error);
  EXPECT_NO_THROW(one.fill(0));
}

TEST(example_view, contains_another_example_of_the_same_epoch) {
  made_up const data(3);
  cohort::example_view one;
  one.epoch = 5;
  cohort::example_view& source = one.source(data.describe());
  data.get(2, source);
  EXPECT_EQ(source.epoch, 5);
  EXPECT_EQ(source.weight, 1);
  EXPECT_EQ(&one.source(data.describe()), &source);
  EXPECT_NE(&one.source(data.describe(), 1), &source);
}

}  // namespace dataset_test
