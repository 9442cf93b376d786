// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace load_parameters_test {

using namespace cohort;
using narrow = reference<float>;

constexpr auto small = network<[](builder& net) {
  return net.input({3}) | dense{.units = 5, .name = "hidden"} | relu{} | dense{.units = 2}
         | softmax_cross_entropy{};
}>();

std::vector<float> const examples{0, 1, 2, 1, 0, 1, 2, 2, 0, 0, 0, 1};
std::vector<std::int32_t> const labels{0, 1, 0, 1};
dataset data() { return arrays(examples, {3}, labels, 2); }

table_encoder encoder_of_rows() {
  return table_encoder(parse_table("x,y,z,kind\n0,1,2,a\n1,0,1,b\n", "rows.csv"), {.target = "kind"});
}

/// A model with optimizers' state, a normalisation and an encoder.
std::string save(std::string const& path) {
  training run = trainer<narrow>(small, {.optimizer = {adam{}}, .seed = 7});
  run.normalise(data());
  run.keep(encoder_of_rows());
  run.fit(data(), {.batch = 2, .epochs = 3});
  run.save(path, true);
  return run.checksum();
}

TEST(load_parameters, starts_a_training_with_new_settings) {
  scratch_folder const folder;
  std::string const saved = save(folder / "model");
  training run = trainer<narrow>(small, {.optimizer = {sgd{.learning_rate = 0.5}}, .seed = 1});
  load_parameters(run, model_file::open(folder / "model"));
  EXPECT_EQ(run.checksum(), saved);
  EXPECT_EQ(run.step(), 0);
  EXPECT_EQ(run.epoch(), 0);
  EXPECT_FALSE(run.normalisation().empty());
  EXPECT_EQ(run.encoder(), encoder_of_rows());
  run.fit(data(), {.batch = 2});
  EXPECT_EQ(run.step(), 2);
  EXPECT_NE(run.checksum(), saved);
}

TEST(load_parameters, replaces_normalisation_and_encoder) {
  scratch_folder const folder;
  trainer<narrow>(small, {.seed = 9}).save(folder / "plain");
  training run = trainer<narrow>(small);
  run.normalise(data());
  run.keep(encoder_of_rows());
  load_parameters(run, model_file::open(folder / "plain"));
  EXPECT_TRUE(run.normalisation().empty());
  EXPECT_THROW(run.encoder(), setting_error);
}

TEST(load_parameters, changes_no_parameter_or_normalisation_after_an_error) {
  scratch_folder const folder;
  save(folder / "model");
  constexpr auto other = network<[](builder& net) {
    return net.input({3}) | dense{.units = 4, .name = "hidden"} | relu{} | dense{.units = 2}
           | softmax_cross_entropy{};
  }>();
  training run = trainer<narrow>(other, {.seed = 1});
  std::string const before = run.checksum();
  EXPECT_THROW(load_parameters(run, model_file::open(folder / "model")), data_error);
  EXPECT_EQ(run.checksum(), before);
  EXPECT_TRUE(run.normalisation().empty());
}

TEST(encoder_in, returns_the_encoder_of_the_model_or_none) {
  scratch_folder const folder;
  save(folder / "model");
  trainer<narrow>(small).save(folder / "plain");
  EXPECT_EQ(encoder_in(model_file::open(folder / "model")).value(), encoder_of_rows());
  EXPECT_FALSE(encoder_in(model_file::open(folder / "plain")));
}

}  // namespace load_parameters_test
