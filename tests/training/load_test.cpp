// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/training/load.hpp>
#include <string>
#include <vector>

namespace load_test {

using namespace cohort;

constexpr auto small = network<[](builder& net) {
  return net.input({3}) | dense{.units = 5, .name = "hidden"} | relu{} | dense{.units = 2}
         | softmax_cross_entropy{};
}>();

std::vector<float> const examples{0, 1, 2, 1, 0, 1, 2, 2, 0, 0, 0, 1};
std::vector<std::int32_t> const labels{0, 1, 0, 1};

/// A file name for one test; the file is removed at its end.
struct scratch_file {
  std::string path = testing::TempDir() + "cohort_load_" + std::to_string(::getpid()) + '_'
                     + testing::UnitTest::GetInstance()->current_test_info()->name();
  ~scratch_file() { ::unlink(path.c_str()); }
};

training trained() {
  auto made = trainer<reference<float>>(small, {.optimizer = {adam{}}, .seed = 7});
  made.fit(arrays(examples, {3}, labels, 2), {.batch = 2, .epochs = 3});
  return made;
}

tensor_view inputs() { return {examples.data(), {4, 3}}; }

TEST(load_trained, restores_network_and_parameters_from_the_file_alone) {
  scratch_file const file;
  training before = trained();
  before.save(file.path);
  training const after = load_trained<reference<float>>(file.path);
  EXPECT_EQ(after.network().hash(), before.network().hash());
  EXPECT_EQ(after.network().name(1), "hidden");
  EXPECT_EQ(after.checksum(), before.checksum());
  EXPECT_EQ(after.predict(inputs()).values, before.predict(inputs()).values);
}

TEST(load_trained, ignores_the_optimizers_state_in_the_file) {
  scratch_file const file;
  training before = trained();
  before.save(file.path, true);
  training after = load_trained<reference<float>>(file.path, {.optimizer = {sgd{.learning_rate = 0.5}}});
  EXPECT_EQ(after.step(), 0);
  EXPECT_EQ(after.checksum(), before.checksum());
  after.fit(arrays(examples, {3}, labels, 2), {.batch = 2});
  EXPECT_NE(after.checksum(), before.checksum());
}

TEST(load_trained, loads_parameters_into_a_backend_of_another_element_type) {
  scratch_file const file;
  training before = trained();
  before.save(file.path);
  auto const narrow = before.predict(inputs()).values;
  auto const wide = load_trained<reference<double>>(file.path).predict(inputs()).values;
  ASSERT_EQ(wide.size(), narrow.size());
  for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(wide[i], narrow[i], 1e-6);
}

TEST(load_trained, refuses_a_missing_file) {
  EXPECT_THROW(load_trained<reference<float>>(testing::TempDir() + "no such file"), file_error);
}

}  // namespace load_test
