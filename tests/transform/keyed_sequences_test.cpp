// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <map>
#include <mutex>
#include <random>

#include "../data/refused.hpp"

namespace keyed_sequences_test {

using namespace cohort;
using strings = std::vector<std::string>;
using values = std::vector<double>;

table_schema const schema{{{.name = "id", .type = column_type::text},
                           {.name = "part", .type = column_type::integer},
                           {.name = "when", .type = column_type::time},
                           {.name = "x"},
                           {.name = "y"},
                           {.name = "state", .type = column_type::category, .values = {"on", "off"}}}};

data_table parsed(std::string const& rows, std::string const& name = "log.csv") {
  return parse_table("id,part,when,x,y,state\n" + rows, name, format_of(schema));
}

data_table const& log_rows() {
  static data_table const table = parsed(
      "b,1,5,50,1,on\na,2,3,23,2,off\na,1,2,12,3,on\nb,1,4,40,4,off\na,10,1,101,5,on\na,2,1,21,6,on\na,2,2,"
      "22,7,off\n");
  return table;
}

fitted_pipeline fitted(std::vector<transform_step> steps) {
  return fitted_pipeline({schema, std::move(steps)}, log_rows());
}

pipeline::group_by_key const by_id{{"id"}, "when"};
pipeline::group_by_key const by_part{{"id", "part"}, "when"};

values x_of(keyed_sequences const& all, std::int64_t i) {
  auto const x = all.rows().numbers<double>("x").subspan(static_cast<std::size_t>(all.first_row(i)),
                                                         static_cast<std::size_t>(all.length(i)));
  return {x.begin(), x.end()};
}

TEST(keyed_sequences, describe_their_columns_and_their_pipeline) {
  keyed_sequences const all(fitted({by_part}), log_rows());
  tensor_description const input =
      all.examples({.inputs = {"y", "x"}, .target = "state"}).describe().inputs[0];
  EXPECT_EQ(input.feature_names, (strings{"y", "x"}));
  EXPECT_EQ(input.pipeline, fitted({by_part}).fingerprint());
}

TEST(keyed_sequences, are_sorted_by_key_and_order) {
  keyed_sequences const all(fitted({by_part}), log_rows());
  ASSERT_EQ(all.size(), 4);
  EXPECT_EQ(all.key(0), "a, 1");
  EXPECT_EQ(all.key(1), "a, 2");
  EXPECT_EQ(all.key(2), "a, 10");  // integers by value
  EXPECT_EQ(all.key(3), "b, 1");
  EXPECT_EQ(x_of(all, 0), (values{12}));
  EXPECT_EQ(x_of(all, 1), (values{21, 22, 23}));
  EXPECT_EQ(x_of(all, 3), (values{40, 50}));
  EXPECT_EQ(all.rows().rows(), 7);
  EXPECT_EQ(all.rows().pipeline(), fitted({by_part}).fingerprint());
  EXPECT_NE(all.rows().pipeline(), fitted({pipeline::index{{"state"}}, by_part}).fingerprint());
  EXPECT_EQ(all.report().rows, 7);
}

TEST(keyed_sequences, without_order_keep_the_order_of_the_rows) {
  keyed_sequences const all(fitted({pipeline::group_by_key{{"id"}}}), log_rows());
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(x_of(all, 0), (values{23, 12, 101, 21, 22}));
  EXPECT_EQ(x_of(all, 1), (values{50, 40}));
}

TEST(keyed_sequences, apply_the_earlier_steps) {
  keyed_sequences const all(
      fitted({pipeline::filter{"x < 100"}, pipeline::normalise{{"x"}, rescaling::min_max}, by_part}),
      log_rows());
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(x_of(all, 2), (values{28. / 38, 1}));
  EXPECT_EQ(all.report().removed, 1);
}

TEST(keyed_sequences, are_split_into_windows) {
  auto const windows = [](pipeline::windows how) {
    std::vector<values> made;
    data_table const rows =
        parsed("a,1,1,1,0,on\na,1,2,2,0,on\na,1,3,3,0,on\na,1,4,4,0,on\na,1,5,5,0,on\nb,1,1,6,0,on\n");
    keyed_sequences const all(fitted({by_part, how}), rows);
    for (std::int64_t i = 0; i < all.size(); ++i) made.push_back(x_of(all, i));
    EXPECT_EQ(all.key(0), "a, 1");
    return made;
  };
  EXPECT_EQ(windows({.length = 3}), (std::vector<values>{{1, 2, 3}, {2, 3, 4}, {3, 4, 5}}));
  EXPECT_EQ(windows({.length = 3, .stride = 2}), (std::vector<values>{{1, 2, 3}, {3, 4, 5}}));
  EXPECT_EQ(windows({.length = 2, .stride = 2}), (std::vector<values>{{1, 2}, {3, 4}}));
  EXPECT_EQ(windows({.length = 2, .stride = 2, .partial = true}),
            (std::vector<values>{{1, 2}, {3, 4}, {5}, {6}}));
  EXPECT_EQ(windows({.length = 3, .stride = 1, .partial = true}),
            (std::vector<values>{{1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {6}}));
  EXPECT_EQ(windows({.length = 4, .stride = 3, .partial = true}),
            (std::vector<values>{{1, 2, 3, 4}, {4, 5}, {6}}));
  EXPECT_EQ(windows({.length = 1, .stride = 2147483647}), (std::vector<values>{{1}, {6}}));
  EXPECT_EQ(windows({.length = 2, .stride = 4, .partial = true}), (std::vector<values>{{1, 2}, {5}, {6}}));
}

TEST(keyed_sequences, become_examples_with_masks) {
  keyed_sequences const all(fitted({by_part}), log_rows());
  dataset const data = all.examples({.inputs = {"x", "y"}, .target = "state"});
  EXPECT_EQ(data.describe().inputs[0].example, shape(3, 2));
  EXPECT_EQ(data.describe().inputs[0].mask, 0);
  EXPECT_EQ(data.describe().targets[0].name, "state");
  EXPECT_EQ(data.describe().targets[0].label_names, (strings{"off", "on"}));
  EXPECT_EQ(data.length(1), 3);
  loader batches(data, {.batch = 4, .shuffle = false});
  batch const& made = *batches.next();
  auto const x = made.input(0).as<float>();
  EXPECT_EQ((std::vector<float>{x.begin() + 6, x.begin() + 12}), (std::vector<float>{21, 6, 22, 7, 23, 2}));
  EXPECT_EQ((std::vector<float>{x.begin(), x.begin() + 4}), (std::vector<float>{12, 3, 0, 0}));
  auto const labels = made.target(0).as<std::int32_t>();
  EXPECT_EQ((std::vector<std::int32_t>{labels.begin(), labels.end()}),
            (std::vector<std::int32_t>{1, 0, 1, 1}));  // class of each last row
  EXPECT_EQ(made.mask(0).as<std::uint8_t>()[1], 0);
}

TEST(keyed_sequences, have_classes_or_numbers_as_targets_per_step_or_per_sequence) {
  keyed_sequences const all(fitted({pipeline::index{{"state"}}, by_part}), log_rows());
  dataset const steps = all.examples({.inputs = {"x"}, .target = "state", .per_step = true, .length = 5});
  EXPECT_EQ(steps.describe().targets[0].example, shape(5));
  EXPECT_EQ(steps.describe().targets[0].classes, 2);  // the highest value of the schema + 1
  dataset const numbers = all.examples({.target = "y", .regression = true});
  EXPECT_EQ(numbers.describe().inputs[0].example, shape(3, 2));  // x and state: neither key, order nor target
  EXPECT_EQ(numbers.describe().targets[0].example, shape(1));
  dataset const both = all.examples({.inputs = {"x"}, .target = "y", .regression = true, .per_step = true});
  EXPECT_EQ(both.describe().targets[0].example, shape(3, 1));
  loader batches(both, {.batch = 4, .shuffle = false});
  auto const y = batches.next()->target(0).as<float>();
  EXPECT_EQ((std::vector<float>{y.begin() + 3, y.begin() + 6}), (std::vector<float>{6, 7, 2}));
  EXPECT_EQ(all.examples({.inputs = {"x"}, .target = "y", .classes = 9}).describe().targets[0].classes, 9);
  EXPECT_EQ(all.examples({.inputs = {"x"}, .target = "y"}).describe().targets[0].classes,
            6);  // of the last rows
}

TEST(keyed_sequences, report_the_row_that_is_not_a_valid_example) {
  keyed_sequences const all(fitted({by_id}), parsed("a,1,1,,1.5,on\nb,1,1,2,,\n", "new.csv"));
  auto const refusal_of = [&](sequence_examples const& how) {
    return refused<data_error>([&] { all.examples(how); });
  };
  EXPECT_EQ(refusal_of({.inputs = {"x"}, .target = "state"}),
            "a value is missing (new.csv, column x, row 1): expected a number, got none");
  expect_parts(refusal_of({.inputs = {"part"}, .target = "state"}),
               {"a target is missing", "new.csv, column state, row 2"});
  expect_parts(refusal_of({.inputs = {"part"}, .target = "y"}),
               {"not a valid class label", "row 1", "got 1.5"});
  expect_parts(refusal_of({.inputs = {"part"}, .target = "y", .regression = true}),
               {"a value is missing", "row 2"});
  expect_parts(refused<setting_error>([&] { all.examples({.inputs = {"part"}}); }), {"no target"});
  expect_parts(refused<setting_error>([&] { all.examples({.inputs = {"z"}, .target = "y"}); }),
               {"no such column"});
  expect_parts(refused<setting_error>([&] {
                 all.examples({.inputs = {"part", "part"}, .target = "y"});
               }),
               {"twice"});
  expect_parts(refused<setting_error>([&] { all.examples({.inputs = {"part"}, .target = "id"}); }),
               {"a category", "got text"});
  expect_parts(refused<setting_error>(
                   [&] { all.examples({.inputs = {"part"}, .target = "state", .regression = true}); }),
               {"a number"});
  keyed_sequences const wide(fitted({by_id}), parsed("a,1,1,1e60,1,on\n"));
  expect_parts(refused<data_error>([&] { wide.examples({.inputs = {"x"}, .target = "y"}); }),
               {"out of range", "column x, row 1"});
}

TEST(keyed_sequences, refuse_or_skip_rows_with_the_same_key_and_order) {
  data_table const rows =
      parsed("a,1,1,1,1,on\na,1,2,2,2,on\na,1,1,3,3,on\n,1,1,4,4,on\nb,1,,5,5,on\n", "log.csv");
  std::vector<std::int64_t> const first{0, 1, 2};
  EXPECT_EQ(refused<data_error>([&] { keyed_sequences(fitted({by_part}), rows.select(first)); }),
            "two rows have the same key and order (log.csv, column when, row 3): expected one row for each "
            "key and order, got "
            "key \"a, 1\" at 1, as in log.csv, row 1");
  expect_parts(refused<data_error>([&] { keyed_sequences(fitted({by_part}), rows); }),
               {"a row has no key or order", "column id, row 4"});
  keyed_sequences const all(fitted({by_part}), rows, {.bad = bad_record::skip});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(x_of(all, 0), (values{1, 2}));
  EXPECT_EQ(all.report().skipped, 3);
  EXPECT_EQ(all.report().kept(), 2);
  expect_parts(refused<setting_error>([] { keyed_sequences(fitted({}), log_rows()); }),
               {"the pipeline makes no sequences", "group_by_key"});
}

TEST(keyed_sequences, accept_an_empty_table) {
  keyed_sequences const all(fitted({by_id}), log_rows().select({}));
  EXPECT_EQ(all.size(), 0);
  dataset const data = all.examples({.inputs = {"x", "y"}, .target = "state", .length = 4});
  EXPECT_EQ(data.size(), 0);
  EXPECT_EQ(data.describe().inputs[0].example, shape(4, 2));
  EXPECT_EQ(data.describe().targets[0].classes, 2);
  EXPECT_EQ(all.examples({.target = "y", .regression = true, .per_step = true}).size(), 0);
}

std::string drawn_rows(std::mt19937_64& random, int rows) {
  std::string text;
  char const* const names[]{"a", "b", "ä", "\"a,b\"", "ab"};
  for (int i = 0; i < rows; ++i)
    text += std::string(names[random() % 5]) + ',' + std::to_string(random() % 7) + ',' + std::to_string(i)
            + ',' + std::to_string(random() % 1000) + ",,on\n";
  return text;
}

TEST(keyed_sequences, are_the_same_on_any_number_of_ranks) {
  for (int const ranks : {1, 2, 3, 7})
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", ranks " + std::to_string(ranks));
      std::mt19937_64 random(seed);
      data_table const table = parsed(drawn_rows(random, 120));
      fitted_pipeline const p = fitted({by_part, pipeline::windows{.length = 4, .partial = true}});
      keyed_sequences const whole(p, table);
      std::map<std::pair<std::string, double>, values> expected, found;
      for (std::int64_t i = 0; i < whole.size(); ++i)
        expected[{whole.key(i),
                  whole.rows().numbers<double>("when")[static_cast<std::size_t>(whole.first_row(i))]}] =
            x_of(whole, i);
      std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(ranks));
      for (std::int64_t row = 0; row < 120; ++row)
        parts[random() % (ranks > 2 ? parts.size() - 1 : parts.size())].push_back(row);  // an empty part
      std::mutex mutex;
      launch<threads>(ranks, [&](communicator& world) {
        keyed_sequences const mine(p, table.select(parts[static_cast<std::size_t>(world.rank())]), world);
        EXPECT_EQ(mine.report().rows, 120);
        dataset const data = mine.examples({.inputs = {"x"}, .target = "state"});
        EXPECT_EQ(data.describe().inputs[0].example, shape(4, 1));  // the longest of all ranks
        std::scoped_lock const lock(mutex);
        for (std::int64_t i = 0; i < mine.size(); ++i) {
          bool const added =
              found
                  .emplace(std::pair(mine.key(i), mine.rows().numbers<double>(
                                                      "when")[static_cast<std::size_t>(mine.first_row(i))]),
                           x_of(mine, i))
                  .second;
          EXPECT_TRUE(added);
        }
        for (std::int64_t i = 1; i < mine.size(); ++i)
          EXPECT_LE(mine.key(i - 1).substr(0, 1), mine.key(i).substr(0, 1));
      });
      EXPECT_EQ(found, expected);
    }
}

TEST(keyed_sequences, need_an_input_besides_keys_and_order) {
  table_schema const keyed{{{.name = "id", .type = column_type::integer}, {.name = "when"}, {.name = "y"}}};
  data_table const rows = parse_table("id,when,y\n1,1,2\n", "rows.csv", format_of(keyed));
  keyed_sequences const all(fitted_pipeline({keyed, {pipeline::group_by_key{{"id"}, "when"}}}, rows), rows);
  expect_parts(refused<setting_error>([&] { all.examples({.target = "y", .regression = true}); }),
               {"there is no input column"});
}

TEST(keyed_sequences, rows_outside_of_windows_may_lack_values) {
  data_table const rows = parsed("a,1,1,1,1,on\na,1,2,2,2,on\na,1,3,,,on\n");
  keyed_sequences const all(fitted({by_id, pipeline::windows{.length = 2, .stride = 2}}), rows);
  ASSERT_EQ(all.size(), 1);
  for (bool const per_step : {false, true})
    EXPECT_EQ(all.examples({.inputs = {"x"}, .target = "y", .regression = true, .per_step = per_step}).size(),
              1);
}

TEST(keyed_sequences, are_refused_on_all_ranks_if_the_ranks_pipelines_differ) {
  launch<threads>(2, [](communicator& world) {
    std::vector<transform_step> const steps =
        world.rank() == 0 ? std::vector<transform_step>{} : std::vector<transform_step>{by_id};
    expect_parts(refused<setting_error>([&] { keyed_sequences(fitted(steps), log_rows(), world); }),
                 {"pipeline", "rank 1"});
  });
}

TEST(keyed_sequences, that_are_too_long_on_one_rank_are_refused_on_all_ranks) {
  launch<threads>(2, [](communicator& world) {
    keyed_sequences const all(fitted({by_part}), world.rank() == 0 ? log_rows() : parsed("c,1,1,1,1,on\n"),
                              world, {});
    expect_parts(refused<setting_error>([&] {
                   all.examples({.inputs = {"x"}, .target = "y", .regression = true, .length = 1});
                 }),
                 {"a sequence is longer than the examples", "got 1"});
  });
}

TEST(keyed_sequences, report_the_same_key_and_order_on_two_ranks) {
  strings why(3);
  launch<threads>(3, [&](communicator& world) {
    std::string const name = "log" + std::to_string(world.rank()) + ".csv";
    data_table const mine = parsed(world.rank() == 1   ? "c,1,1,0,0,on\na,1,7,0,0,on\n"
                                   : world.rank() == 2 ? "a,1,7,0,0,on\n"
                                                       : "b,1,1,0,0,on\n",
                                   name);
    fitted_pipeline const p = fitted({by_part});
    why[static_cast<std::size_t>(world.rank())] =
        refused<data_error>([&] { keyed_sequences(p, mine, world); });
    keyed_sequences const skipped(p, mine, world, {.bad = bad_record::skip});
    EXPECT_EQ(skipped.report().skipped, 1);
    EXPECT_EQ(skipped.report().rows, 4);
  });
  for (std::string const& one : why)
    expect_parts(one, {"two rows have the same key and order (log2.csv, column when, row 1, rank 2)",
                       "key \"a, 1\" at 7, as in log1.csv, row 2, rank 1"});
}

}  // namespace keyed_sequences_test
