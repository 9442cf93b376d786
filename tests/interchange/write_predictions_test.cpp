// SPDX-License-Identifier: Apache-2.0
// covers: interchange/prediction_file_settings
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/mapped.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/io/npy.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/trainer.hpp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../checkpoint/small_disk.hpp"
#include "../communicator/on_ranks.hpp"
#include "../training/bright_thirds.hpp"

namespace write_predictions_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::small;
using narrow = reference<float>;

constexpr int count = 53;

training make_model(std::uint64_t seed = 3) { return trainer<narrow>(small, {.seed = seed, .workers = 2}); }

/// The bytes of a file, or "" if it does not exist.
std::string bytes_of(std::string const& path) {
  return io::size_of_file(path) ? io::read_text(path) : std::string();
}

/// Examples of which get counts the requests, and fails at one example.
struct watched {
  dataset data;
  std::int64_t bad = -1;
  bool kills = false;  // kills the process instead of failing
  std::shared_ptr<std::atomic<int>> requests = std::make_shared<std::atomic<int>>(0);

  data_description const& describe() const { return data.describe(); }
  std::int64_t size() const { return data.size(); }
  void get(std::int64_t i, example_view& out) const {
    ++*requests;
    if (i == bad && kills) std::raise(SIGKILL);
    if (i == bad)
      throw data_error(
          {.what = "cannot decode the record", .where = "shard-3.tar, record 5", .got = "noise"});
    data.get(i, out);
  }
};

/// Runs write_predictions on several ranks, each with its own copy of the model.
prediction_file_report write(int ranks, dataset const& data, std::string const& path,
                             prediction_file_settings const& how = {}, std::uint64_t seed = 3) {
  prediction_file_report report;
  on_ranks(ranks, [&](communicator& world) {
    training model = make_model(seed);
    prediction_file_report const mine = write_predictions(model, data, world, path, how);
    if (world.rank() == 0) report = mine;
  });
  return report;
}

/// The rows that a CSV file has for these outputs.
std::string rows_of(std::vector<std::string> const& keys, std::vector<predictions> const& outputs) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text += keys[i];
    for (predictions const& one : outputs)
      for (float const value : one[static_cast<int>(i)]) {
        char digits[32];
        text += ',';
        text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
      }
    text += '\n';
  }
  return text;
}

std::vector<std::string> numbered(int size) {
  std::vector<std::string> keys;
  for (int i = 0; i < size; ++i) keys.push_back(std::to_string(i));
  return keys;
}

tensor_view view_of(bright_thirds const& examples, int size = count) {
  return {examples.pixels.data(), shape{size, 1, 8, 8}};
}

TEST(write_predictions, writes_the_same_bytes_with_any_number_of_ranks) {
  bright_thirds const examples(count);
  std::vector<predictions> const wanted =
      make_model().outputs_of({"softmax_cross_entropy_1", "dense_1"}, view_of(examples));
  std::string header = "example";
  for (int i = 0; i < 3; ++i) header += ",softmax_cross_entropy_1." + std::to_string(i);
  for (int i = 0; i < 10; ++i) header += ",dense_1." + std::to_string(i);
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (std::int64_t const chunk : {7, 16, 100}) {
      scratch_folder const folder;
      std::string const path = folder.path() + "/new/made.csv";
      auto const report = write(
          ranks, examples.data(), path,
          {.outputs = {"softmax_cross_entropy_1", "dense_1"}, .batch = 3, .chunk = chunk, .readers = 2});
      EXPECT_EQ(report.examples, count);
      EXPECT_EQ(report.resumed, 0);
      EXPECT_EQ(report.files, std::vector{path});
      EXPECT_EQ(bytes_of(path), header + '\n' + rows_of(numbered(count), wanted)) << ranks << ", " << chunk;
      EXPECT_EQ(io::list_folder(folder.path() + "/new")->size(), 1U) << "only the result remains";
    }
}

TEST(write_predictions, writes_outputs_of_several_layers_as_npy_files) {
  bright_thirds const examples(count);
  std::vector<std::string> const names{"conv2d_1", "softmax_cross_entropy_1"};
  std::vector<predictions> const wanted = make_model().outputs_of(names, view_of(examples));
  for (int ranks = 1; ranks <= 3; ++ranks) {
    scratch_folder const folder;
    auto const report = write(ranks, examples.data(), folder.path() + "/made.npy",
                              {.outputs = names, .format = prediction_format::npy, .batch = 5, .chunk = 9});
    ASSERT_EQ(report.files, (std::vector{folder.path() + "/made.conv2d_1.npy",
                                         folder.path() + "/made.softmax_cross_entropy_1.npy"}));
    for (std::size_t which = 0; which < names.size(); ++which) {
      npy_array const made = npy_array::load(report.files[which]);
      EXPECT_EQ(made.view().dims, wanted[which].example.batched(count));
      auto const values = made.view().as<float>();
      EXPECT_TRUE(std::ranges::equal(values, wanted[which].values)) << names[which];
    }
    auto const renamed =
        write(ranks, examples.data(), folder.path() + "/named.npy",
              {.outputs = names, .names = {"maps", "classes"}, .format = prediction_format::npy, .chunk = 9});
    EXPECT_EQ(renamed.files,
              (std::vector{folder.path() + "/named.maps.npy", folder.path() + "/named.classes.npy"}));
    auto const single = write(ranks, examples.data(), folder.path() + "/one",
                              {.format = prediction_format::npy, .chunk = 20});
    EXPECT_EQ(single.files, std::vector{folder.path() + "/one.npy"});
    npy_array const loaded = npy_array::load(single.files[0]);
    EXPECT_TRUE(std::ranges::equal(loaded.view().as<float>(), wanted[1].values));
  }
}

TEST(write_predictions, orders_rows_by_key) {
  bright_thirds const examples(count);
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back("b,\"" + std::to_string(i * 37 % count));
  predictions const made = make_model().predict(view_of(examples));
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    predictions const one{made.example, {made[i].begin(), made[i].end()}};
    lines.push_back(rows_of({"\"b,\"\"" + std::to_string(i * 37 % count) + "\""}, {one}));
  }
  std::string const unsorted = [&] {
    std::string text;
    for (std::string const& one : lines) text += one;
    return text;
  }();
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(i);
  std::ranges::sort(order, {}, [&](int i) { return keys[static_cast<std::size_t>(i)]; });
  std::string sorted;
  for (int const i : order) sorted += lines[static_cast<std::size_t>(i)];
  std::string header = "key";
  for (int i = 0; i < 3; ++i) header += ",softmax_cross_entropy_1." + std::to_string(i);
  for (int ranks = 1; ranks <= 3; ++ranks) {
    scratch_folder const folder;
    std::string const path = folder.path() + "/made.csv";
    write(ranks, with_keys(examples.data(), keys), path, {.batch = 4, .chunk = 6});
    EXPECT_EQ(bytes_of(path), header + '\n' + unsorted);
    write(ranks, with_keys(examples.data(), keys), path,
          {.order = prediction_order::keys, .batch = 4, .chunk = 6});
    EXPECT_EQ(bytes_of(path), header + '\n' + sorted);
    EXPECT_EQ(io::list_folder(folder.path())->size(), 1U);
  }
}

TEST(write_predictions, sorts_more_chunks_than_it_keeps_open) {
  constexpr int rows = 300;
  bright_thirds const examples(rows);
  std::vector<std::int64_t> keys;
  for (int i = 0; i < rows; ++i) keys.push_back(i * 91 % rows);
  predictions const wanted = make_model().predict(view_of(examples, rows));
  for (prediction_format const format : {prediction_format::csv, prediction_format::npy}) {
    scratch_folder const folder;
    auto const report =
        write(1, with_keys(examples.data(), keys),
              folder.path() + (format == prediction_format::csv ? "/made.csv" : "/made.npy"),
              {.format = format, .order = prediction_order::keys, .keys = key_type::integer, .chunk = 1});
    if (format == prediction_format::csv) {
      std::string const text = bytes_of(report.files[0]);
      std::size_t at = text.find('\n') + 1;
      for (int key = 0; key < rows; ++key, at = text.find('\n', at) + 1)
        ASSERT_TRUE(text.substr(at).starts_with(std::to_string(key) + ',')) << key;
      continue;
    }
    npy_array const made = npy_array::load(report.files[0]);
    std::span<float const> const numbers = made.view().as<float>();
    for (int i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < 3; ++k)
        ASSERT_EQ(numbers[static_cast<std::size_t>(keys[static_cast<std::size_t>(i)]) * 3 + k], wanted[i][k]);
  }
}

TEST(write_predictions, stores_integer_and_text_keys_as_npy_files) {
  bright_thirds const examples(count);
  std::vector<std::int64_t> keys;
  for (int i = 0; i < count; ++i) keys.push_back((i * 37 % count - 20) * 1'000'000'000LL);
  predictions const wanted = make_model().predict(view_of(examples));
  scratch_folder const folder;
  for (bool const sorted : {false, true}) {
    auto const report = write(2, with_keys(examples.data(), keys), folder.path() + "/integers.npy",
                              {.format = prediction_format::npy,
                               .order = sorted ? prediction_order::keys : prediction_order::examples,
                               .keys = key_type::integer,
                               .chunk = 8});
    ASSERT_EQ(report.files,
              (std::vector{folder.path() + "/integers.npy", folder.path() + "/integers.key.npy"}));
    npy_array const made = npy_array::load(report.files[0]), made_keys = npy_array::load(report.files[1]);
    auto const written = made_keys.view().as<std::int64_t>();
    ASSERT_EQ(written.size(), keys.size());
    EXPECT_EQ(std::ranges::is_sorted(written), sorted);
    for (std::size_t row = 0; row < keys.size(); ++row) {
      auto const i = std::ranges::find(keys, written[row]) - keys.begin();
      EXPECT_TRUE(
          std::ranges::equal(made.view().as<float>().subspan(3 * row, 3), wanted[static_cast<int>(i)]));
      EXPECT_TRUE(sorted || i == static_cast<std::ptrdiff_t>(row));
    }
  }
  // Texts of different lengths in different chunks.
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i)
    texts.push_back(std::string(static_cast<std::size_t>(1 + i / 20), 'x') + 'a');
  auto const report = write(3, with_keys(examples.data(), texts), folder.path() + "/texts.npy",
                            {.format = prediction_format::npy, .chunk = 10});
  std::string const file = bytes_of(report.files[1]);
  std::string const header = detail::npy_header("|S4", std::vector<std::int64_t>{count});
  ASSERT_EQ(file.size(), header.size() + 4 * count);
  EXPECT_EQ(file.substr(0, header.size()), header);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string padded = texts[i];
    padded.resize(4, '\0');
    EXPECT_EQ(file.substr(header.size() + 4 * i, 4), padded);
  }
}

TEST(write_predictions, names_the_columns_after_classes) {
  bright_thirds const examples(6);
  auto const header_of = [&](training& model, dataset const& data, prediction_file_settings const& how) {
    scratch_folder const folder;
    write_predictions(model, data, folder.path() + "/made.csv", how);
    std::string const text = bytes_of(folder.path() + "/made.csv");
    return text.substr(0, text.find('\n'));
  };
  data_description what = examples.data().describe();
  what.targets[0].label_names = {"left", "middle, or so", "right"};
  dataset const named =
      mapped(examples.data(), what, [&](std::int64_t, example_view const& from, example_view& to) {
        to.point(0, from.at(0));
        to.point(1, from.at(1));
      });
  dataset const inputs = arrays({array_view{.values = view_of(examples, 6)}});
  std::string const wanted =
      "example,softmax_cross_entropy_1.left,\"softmax_cross_entropy_1.middle, or so\","
      "softmax_cross_entropy_1.right";
  training model = make_model();
  EXPECT_EQ(header_of(model, named, {}), wanted);
  EXPECT_EQ(header_of(model, inputs, {.class_names = {"left", "middle, or so", "right"}}), wanted);
  EXPECT_EQ(header_of(model, inputs, {}).substr(0, 33), "example,softmax_cross_entropy_1.0");
  model.fit(named, {.epochs = 1});
  EXPECT_EQ(header_of(model, inputs, {}), wanted) << "names of the data of the training";
  what.targets[0].label_names = {"folder_a", "folder_b", "folder_c"};
  dataset const renamed =
      mapped(examples.data(), what, [&](std::int64_t, example_view const& from, example_view& to) {
        to.point(0, from.at(0));
        to.point(1, from.at(1));
      });
  EXPECT_EQ(header_of(model, renamed, {}), wanted) << "the model's names precede those of the data set";
}

TEST(write_predictions, resumes_with_another_number_of_ranks) {
  bright_thirds const examples(count);
  for (auto const format : {prediction_format::csv, prediction_format::npy})
    for (auto const order : {prediction_order::examples, prediction_order::keys})
      for (int const ranks : {1, 2, 3}) {
        scratch_folder const folder;
        std::string const path = folder.path() + "/made.npy";
        watched data{with_keys(examples.data(), numbered(count))};
        prediction_file_settings const how{
            .format = format, .order = order, .keys = key_type::integer, .batch = 2, .chunk = 5};
        std::vector<std::string> wanted;
        for (std::string const& file : write(1, data, folder.path() + "/whole.npy", how).files)
          wanted.push_back(bytes_of(file));
        data.bad = 33;
        std::string const why = refusal_of<data_error>([&] { write(ranks, data, path, how); });
        EXPECT_NE(why.find("shard-3.tar, record 5; examples 30 to 34"), std::string::npos) << why;
        EXPECT_EQ(why.find("rank") != why.npos, ranks > 1) << why;
        EXPECT_EQ(bytes_of(path), "");
        auto const names = io::list_folder(path + ".parts").value();
        for (std::string const& name : names) EXPECT_EQ(name.find("partial"), name.npos) << name;
        data.bad = -1;
        *data.requests = 0;
        auto const report = write(4 - ranks, data, path, how);
        EXPECT_TRUE(ranks > 1 || report.resumed == 30) << report.resumed;
        constexpr int samples = 16;  // number of samples in each fingerprint: sharding check and manifest
        int const ranks_now = 4 - ranks;
        EXPECT_EQ(*data.requests, count - report.resumed + ranks_now * samples * (ranks_now > 1 ? 2 : 1));
        ASSERT_EQ(report.files.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(bytes_of(report.files[i]), wanted[i]);
      }
}

TEST(write_predictions, resumes_after_a_killed_process) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  std::string const whole = folder / "whole.csv", path = folder / "made.csv";
  prediction_file_settings const how{.batch = 2, .chunk = 5};
  write(1, examples.data(), whole, how);
  for (int const ranks : {1, 3}) {
    watched data{examples.data(), 33};
    data.kills = true;
    EXPECT_EXIT(write(ranks, data, path, how), testing::KilledBySignal(SIGKILL), "");
    auto const names = io::list_folder(path + ".parts").value();
    EXPECT_TRUE(
        std::ranges::any_of(names, [](auto const& one) { return one.find(".partial-") != one.npos; }));
    data.bad = -1;
    auto const report = write(2, data, path, how);
    EXPECT_TRUE(ranks > 1 || report.resumed == 30) << report.resumed;
    EXPECT_EQ(bytes_of(path), bytes_of(whole));
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"made.csv", "whole.csv"}));
    io::remove_file(path);
  }
}

TEST(write_predictions, refuses_part_files_of_another_model_data_set_or_chunk) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  std::string const path = folder.path() + "/made.csv";
  watched data{examples.data(), 40};
  prediction_file_settings how{.chunk = 10};
  EXPECT_THROW(write(1, data, path, how), data_error);
  data.bad = -1;
  for (int const ranks : {1, 2}) {
    std::string const why = refusal_of<setting_error>([&] { write(ranks, data, path, how, 4); });
    std::string const expected =
        "the part files are of another model, data set or setting (" + path
        + ".parts/run.json, parameters): expected " + make_model().checksum() + ", got "
        + make_model(4).checksum()
        + "; repeat the interrupted call, or discard its part files by .resume = false";
    EXPECT_EQ(why, expected);
  }
  how.chunk = 20;
  EXPECT_NE(
      refusal_of<setting_error>([&] { write(1, data, path, how); }).find("run.json, chunk): expected 10"),
      std::string::npos);
  EXPECT_NE(refusal_of<setting_error>([&] {
              write(1, select(data, 0, 52), path, {.chunk = 10});
            }).find("run.json, data): expected 53 examples"),
            std::string::npos);
  how.resume = false;
  EXPECT_EQ(write(2, data, path, how, 4).resumed, 0);
  std::string const made = bytes_of(path);
  write(1, data, folder.path() + "/other.csv", {}, 4);
  EXPECT_EQ(made, bytes_of(folder.path() + "/other.csv"));
}

TEST(write_predictions, refuses_ranks_with_different_models) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  std::string const why = refusal_of<setting_error>([&] {
    on_ranks(2, [&](communicator& world) {
      training model = make_model(static_cast<std::uint64_t>(world.rank()));
      write_predictions(model, examples.data(), world, folder.path() + "/made.csv");
    });
  });
  EXPECT_NE(why.find("parameters"), std::string::npos) << why;
  EXPECT_EQ(io::list_folder(folder.path())->size(), 0U);
}

TEST(write_predictions, reports_a_full_disk_and_completes_when_repeated) {
  bright_thirds const examples(count);
  for (auto const format : {prediction_format::csv, prediction_format::npy})
    for (int const ranks : {1, 2}) {
      scratch_folder const folder;
      std::string const path = folder.path() + "/made.csv";
      prediction_file_settings const how{.outputs = {"conv2d_1"}, .format = format, .batch = 4, .chunk = 20};
      std::string const why = refusal_of<file_error>([&] {
        small_disk const full(8'000);  // each chunk needs at least 11,520 bytes
        write(ranks, examples.data(), path, how);
      });
      EXPECT_NE(why.find("cannot write the file (" + path + ".parts/part-00000"), std::string::npos) << why;
      EXPECT_NE(why.find("; examples "), std::string::npos) << why;
      EXPECT_EQ(why.find(", rank ") != why.npos, ranks > 1) << why;
      EXPECT_NE(why.find("File too large"), std::string::npos) << why;
      EXPECT_EQ(*io::list_folder(path + ".parts"), std::vector<std::string>{"run.json"});
      EXPECT_EQ(write(ranks, examples.data(), path, how).examples, count);
    }
}

TEST(write_predictions, reports_a_full_disk_during_the_merge_and_resumes) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  std::string const path = folder.path() + "/made.npy";
  prediction_file_settings const how{.outputs = {"conv2d_1"}, .format = prediction_format::npy, .chunk = 10};
  for (int const ranks : {1, 3}) {
    EXPECT_NE(refusal_of<file_error>([&] {
                small_disk const full(10'000);
                write(ranks, examples.data(), path, how);
              }).find("cannot write the file (" + path + ")"),
              std::string::npos);
    EXPECT_EQ(bytes_of(path), "");
    auto const report = write(ranks, examples.data(), path, how);
    EXPECT_EQ(report.resumed, count);
    EXPECT_FALSE(io::is_folder(path + ".parts"));
    io::remove_file(path);
  }
}

TEST(write_predictions, reports_a_duplicate_key) {
  bright_thirds const examples(count);
  auto keys = numbered(count);
  keys[44] = keys[7];
  prediction_file_settings how{.order = prediction_order::keys, .chunk = 10};
  scratch_folder const folder;
  std::string const path = folder.path() + "/made.csv";
  for (int const ranks : {1, 3})
    EXPECT_EQ(refusal_of<data_error>([&] { write(ranks, with_keys(examples.data(), keys), path, how); }),
              "two examples have the same key (" + path
                  + ", key \"7\"): expected one example per key (or prediction_order::examples), got example 7 "
                    "and example 44");
  EXPECT_EQ(bytes_of(path), "");
  how.order = prediction_order::examples;
  EXPECT_EQ(write(1, with_keys(examples.data(), keys), path, how).resumed, count);
  how = {.order = prediction_order::keys, .keys = key_type::integer, .sharding = sharding::local};
  std::string const why = refusal_of<data_error>([&] {
    on_ranks(2, [&](communicator& world) {
      training model = make_model();
      auto const mine = select(examples.data(), 20 * world.rank(), 20 + world.rank());
      write_predictions(model,
                        with_keys(mine,
                                  [&](std::int64_t i) {
                                    return std::to_string(world.rank() == 0 ? i : i == 5 ? 3 : 100 + i);
                                  }),
                        world, folder.path() + "/local.csv", how);
    });
  });
  EXPECT_NE(why.find("key 3): "), std::string::npos) << why;
  EXPECT_NE(why.find("got example 3 of rank 0 and example 5 of rank 1"), std::string::npos) << why;
}

TEST(write_predictions, refuses_a_key_that_is_not_an_integer) {
  bright_thirds const examples(count);
  auto keys = numbered(count);
  keys[12] = "12a";
  scratch_folder const folder;
  EXPECT_EQ(refusal_of<data_error>([&] {
              write(2, with_keys(examples.data(), keys), folder.path() + "/made.csv",
                    {.keys = key_type::integer, .chunk = 100});
            }).substr(0, 60),
            "a key is not an integer (example 12; examples 0 to 52, rank ");
}

TEST(write_predictions, writes_the_local_examples_of_every_rank) {
  bright_thirds const examples(count);
  predictions const wanted = make_model().predict(view_of(examples));
  std::string const rows = rows_of(numbered(count), {wanted});
  for (int const ranks : {1, 2, 3}) {
    scratch_folder const folder;
    std::string const path = folder.path() + "/made.csv";
    auto const run = [&](std::int64_t bad) {
      on_ranks(ranks, [&](communicator& world) {
        training model = make_model();
        // With three ranks, rank 1 has no examples.
        bool const is_last = world.rank() == ranks - 1;
        std::int64_t const first = world.rank() == 0 ? 0 : 20, last = is_last ? count : 20;
        watched mine{select(examples.data(), first, last - first)};
        if (is_last) mine.bad = bad;
        write_predictions(model, mine, world, path, {.batch = 3, .chunk = 8, .sharding = sharding::local});
      });
    };
    EXPECT_THROW(run(16), data_error);
    run(-1);
    std::string const made = bytes_of(path);
    EXPECT_EQ(made.substr(made.find('\n') + 1), rows) << ranks;
  }
}

TEST(write_predictions, refuses_damaged_part_files) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  for (auto const format : {prediction_format::csv, prediction_format::npy})
    for (auto const order : {prediction_order::examples, prediction_order::keys}) {
      bool const csv = format == prediction_format::csv;
      std::string const path = folder.path() + "/made" + (csv ? ".csv" : ".npy");
      watched data{with_keys(examples.data(), numbered(count)), 50};
      prediction_file_settings const how{.format = format, .order = order, .chunk = 20};
      EXPECT_THROW(write(1, data, path, how), data_error);
      data.bad = -1;
      std::string const part = path + ".parts/part-000001" + (csv ? ".csv" : ".npy"), whole = bytes_of(part);
      for (std::string const& damaged : {whole.substr(0, whole.size() - 30), "x" + whole.substr(1)}) {
        bool const unnoticed = csv && order == prediction_order::keys && damaged.size() == whole.size();
        if (unnoticed) continue;  // only the rows are read
        io::write_file(part, damaged);
        std::string const why = refusal_of<data_error>([&] { write(2, data, path, how); });
        EXPECT_NE(why.find("a part file is damaged or of another run (" + part), std::string::npos) << why;
      }
      if (csv && order == prediction_order::keys) {
        io::write_file(part, whole);
        std::string const run = path + ".parts/part-000001.sorted";
        std::string damaged = bytes_of(run);
        damaged[8 + 24 + 7] = '\x10';  // the first row has more than 2^60 bytes
        io::write_file(run, damaged);
        std::string const why = refusal_of<data_error>([&] { write(2, data, path, how); });
        EXPECT_NE(why.find("(" + run + "): expected a row of at most "), std::string::npos) << why;
      }
      io::remove_file(part);
      EXPECT_EQ(write(2, data, path, how).resumed, 33);
      EXPECT_NE(bytes_of(path), "");
      EXPECT_FALSE(io::is_folder(path + ".parts"));
    }
}

TEST(write_predictions, keeps_the_part_files_if_merging_is_disabled) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  std::string const path = folder.path() + "/made.csv";
  prediction_file_settings how{.chunk = 20, .merge = false};
  auto const report = write(2, examples.data(), path, how);
  ASSERT_EQ(report.files.size(), 3U);
  EXPECT_EQ(report.files[1], path + ".parts/part-000001.csv");
  EXPECT_EQ(bytes_of(report.files[1]).substr(0, 8), "example,");
  EXPECT_EQ(bytes_of(path), "");
  EXPECT_EQ(write(1, examples.data(), path, how).resumed, count);
  how.merge = true;
  EXPECT_EQ(write(3, examples.data(), path, how).resumed, count);
  write(1, examples.data(), folder.path() + "/other.csv");
  EXPECT_EQ(bytes_of(path), bytes_of(folder.path() + "/other.csv"));
}

TEST(write_predictions, predicts_with_the_consensus_parameters_of_the_ranks) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  std::string const path = folder.path() + "/made.csv";
  std::vector<float> values;
  on_ranks(2, [&](communicator& world) {
    training model = trainer<narrow>(small, world, parameter_averaging{.every = 1'000'000}, {.seed = 3});
    batch_view one;
    loader batches(examples.data(), {.batch = 10, .rank = world.rank(), .ranks = 2, .shuffle = false});
    one.refer_to(*batches.next());
    model.train_on(one);
    write_predictions(model, examples.data(), path, {.chunk = 10});
    model.end_epoch();  // averages the parameters
    if (world.rank() == 0) values = model.predict(view_of(examples)).values;
  });
  std::string const made = bytes_of(path);
  EXPECT_EQ(made.substr(made.find('\n') + 1),
            rows_of(numbered(count), {predictions{.example = {3}, .values = values}}));
}

TEST(write_predictions, writes_denormalised_outputs) {
  constexpr auto line =
      network<[](builder& net) { return net.input({1}) | dense{.units = 1} | mean_squared_error{}; }>();
  std::vector<float> x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(static_cast<float>(i));
    y.push_back(static_cast<float>(1000 + 10 * i));
  }
  dataset const data = arrays({array_view{.values = tensor_view(x.data(), shape{20, 1})}},
                              {array_view{.name = "y", .values = tensor_view(y.data(), shape{20, 1})}});
  training model = trainer<narrow>(line);
  model.normalise(data, {.targets = rescaling::standardise});
  scratch_folder const folder;
  write_predictions(model, data, folder.path() + "/made.csv", {.batch = 6});
  std::string const made = bytes_of(folder.path() + "/made.csv");
  EXPECT_EQ(made, "example,mean_squared_error_1\n"
                      + rows_of(numbered(20), {model.predict(tensor_view(x.data(), shape{20, 1}))}));
}

TEST(write_predictions, refuses_invalid_settings_on_every_rank) {
  bright_thirds const examples(count);
  scratch_folder const folder;
  auto const refusal = [&](prediction_file_settings const& how) {
    return refusal_of<setting_error>([&] { write(2, examples.data(), folder.path() + "/made.csv", how); });
  };
  EXPECT_EQ(refusal({.batch = 0}),
            "invalid settings of write_predictions (batch): expected at least 1, got 0");
  EXPECT_EQ(refusal({.chunk = 0}),
            "invalid settings of write_predictions (chunk): expected at least 1, got 0");
  EXPECT_EQ(
      refusal({.order = prediction_order::keys}),
      "invalid settings of write_predictions (order): expected prediction_order::examples, or a data set "
      "with keys (with_keys), got keys");
  EXPECT_NE(refusal({.outputs = {"dense_9"}}).find("no layer with this name"), std::string::npos);
  EXPECT_NE(refusal({.outputs = {"dense_1", "dense_1"}}).find("got dense_1, more than once"),
            std::string::npos);
  EXPECT_EQ(
      refusal({.outputs = {"dense_1"}, .names = {"a", "b"}}),
      "invalid settings of write_predictions (names): expected 1 names, one for each of the outputs, got 2");
  EXPECT_EQ(io::list_folder(folder.path())->size(), 0U);
}

}  // namespace write_predictions_test
