// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/concat.hpp>
#include <cohort/data/select.hpp>

#include "view_cases.hpp"

namespace concat_test {

using namespace view_cases;

TEST(concat, returns_the_examples_of_all_parts) {
  dataset const data = concat(select(numbers(9), 0, 2), select(numbers(9), 0, 0), select(numbers(9), 5, 3));
  EXPECT_EQ(data.size(), 5);
  EXPECT_TRUE(data.model().in_memory());
  EXPECT_EQ(read(data).first, (values{0, 1, 5, 6, 7}));
  EXPECT_EQ(read(data).labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(read(concat({numbers(2), numbers(1)})).first, (values{0, 1, 0}));
}

TEST(concat, keeps_weights_and_keys) {
  content const got = read(concat(select(weighted(9), 3, 1), weighted(1)));
  EXPECT_EQ(got.weights, (values{4, 1}));
  EXPECT_EQ(got.keys, (std::vector<std::string>{"k3", "k0"}));
}

TEST(concat, combines_parts_in_memory_with_computed_parts) {
  struct plain : computed {
    plain() : computed(3, 3, nullptr), what(computed::describe()) { what.weighted = what.keyed = false; }
    data_description what;
    data_description const& describe() const { return what; }
  };
  dataset const data = concat(numbers(2), plain());
  EXPECT_FALSE(data.model().in_memory());
  EXPECT_EQ(read(data).first, (values{0, 1, 0, 1, 2}));
}

TEST(concat, supports_selections_across_parts) {
  EXPECT_EQ(read(select(concat(numbers(3), numbers(9)), {11, 0, 3})).first, (values{8, 0, 0}));
}

std::vector<float> const pixels{1, 2, 3, 4, 5, 6};
std::vector<std::int32_t> const labels{0, 1, 0};

struct varied {
  char const* name = "x";
  shape example{2};
  double scale = 1;
  int classes = 2;
  std::vector<std::string> label_names{"no", "yes"};
  bool target = true;
  operator dataset() const {
    int const count = static_cast<int>(6 / example.elements());
    array_view const input{.name = name, .values = {pixels.data(), example.batched(count)}, .scale = scale};
    if (!target) return arrays({input});
    return arrays({input}, {array_view{.name = "y",
                                       .values = {labels.data(), {count}},
                                       .classes = classes,
                                       .label_names = label_names}});
  }
};

TEST(concat, refuses_parts_with_different_descriptions) {
  auto const refusal = [](varied const& other) {
    return refused<error>([&] { concat(varied(), varied(), other); });
  };
  EXPECT_THROW(concat(varied(), varied{.example = {2, 1}}), shape_error);
  expect_parts(refusal({.example = {2, 1}}),
               {"concat, data set 2, x", "expected 2 of f32", "got 2x1 of f32"});
  expect_parts(refusal({.scale = 0.5}), {"concat, data set 2, x", "scale 0.5"});
  EXPECT_THROW(concat(varied(), varied{.label_names = {"no", "maybe"}}), data_error);
  expect_parts(refusal({.label_names = {"no", "maybe"}}),
               {"data set 2, y", "label names", "expected yes, got maybe"});
  expect_parts(refusal({.label_names = {}}), {"expected no, got no name"});
  expect_parts(refusal({.classes = 3, .label_names = {}}), {"y", "2 classes", "3 classes"});
  expect_parts(refusal({.name = "z"}), {"expected x, got z"});
  expect_parts(refusal({.target = false}), {"1 targets", "0 targets"});
  expect_parts(refused<data_error>([] { concat(numbers(2), weighted(2)); }), {"weights"});
}

TEST(concat, refuses_streams_and_an_empty_list) {
  expect_stream_is_refused("concat", [](dataset const& data) { concat(data, data); });
  EXPECT_THROW(concat({}), setting_error);
}

}  // namespace concat_test
