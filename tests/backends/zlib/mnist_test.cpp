// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cohort/data/loader.hpp>
#include <cohort/mnist.hpp>

#include "../../data/refused.hpp"
#include "../../execution/with_variable.hpp"
#include "packed.hpp"

namespace mnist_test {

namespace mnist = cohort::mnist;
using cohort_test::with_variable;

/// Changes the working directory for one test.
class in_directory {
 public:
  explicit in_directory(std::string const& path) : before_(::open(".", O_RDONLY | O_DIRECTORY)) {
    EXPECT_EQ(::chdir(path.c_str()), 0);
  }
  ~in_directory() {
    EXPECT_EQ(::fchdir(before_), 0);
    ::close(before_);
  }

 private:
  int before_;
};

std::string folder(std::string const& name) {
  std::string const path = fresh_path(name);
  ::mkdir(path.c_str(), 0755);
  return path;
}

/// Four small files like MNIST's: 20 training and 12 test images.
void fill(std::string const& directory, bool pack, unsigned test_labels = 12, unsigned classes = 10) {
  auto const write = [&](char const* name, std::vector<std::byte> const& file) {
    write_file(directory + '/' + name + (pack ? ".gz" : ""), pack ? packed(file) : file);
  };
  write("train-images-idx3-ubyte", idx_bytes({20, 28, 28}));
  write("train-labels-idx1-ubyte", idx_bytes({20}, classes));
  write("t10k-images-idx3-ubyte", idx_bytes({12, 28, 28}, 256, 5));
  write("t10k-labels-idx1-ubyte", idx_bytes({test_labels}, classes));
}

TEST(mnist, is_read_plain_and_compressed_from_a_folder_or_subfolder) {
  for (bool pack : {false, true})
    for (bool below : {false, true}) {
      std::string const top = folder(std::string("mnist") + (pack ? "1" : "0") + (below ? "1" : "0"));
      std::string const inside = below ? top + "/mnist" : top;
      ::mkdir(inside.c_str(), 0755);
      fill(inside, pack);
      cohort::arrays const train = mnist::train(top);
      EXPECT_EQ(train.size(), 20);
      EXPECT_EQ(mnist::test(top).size(), 12);
      EXPECT_EQ(train.describe().inputs[0].example, cohort::shape(1, 28, 28));
      EXPECT_EQ(train.describe().targets[0].label_names[7], "7");
      cohort::loader loader(train, {.batch = 20, .shuffle = false});
      cohort::batch const* const b = loader.next();
      EXPECT_EQ(b->input().as<float>()[784 + 3], static_cast<float>((784 + 3) % 256) * (1 / 255.0F));
      EXPECT_EQ(b->target().as<std::int32_t>()[13], 3);
    }
}

TEST(mnist, is_searched_for_in_the_environment_and_the_cache) {
  std::string const nowhere = folder("nothing");
  std::string const cache = folder("cache");
  std::string const named = folder("named");
  with_variable const data("COHORT_DATA", nowhere.c_str());
  with_variable const home("HOME", nowhere.c_str());
  with_variable const xdg("XDG_CACHE_HOME", cache.c_str());
  in_directory const working(nowhere);
  EXPECT_FALSE(mnist::find());
  ::mkdir((cache + "/cohort").c_str(), 0755);
  ::mkdir((cache + "/cohort/mnist").c_str(), 0755);
  fill(cache + "/cohort/mnist", true);
  ASSERT_TRUE(mnist::find());
  fill(named, false);
  with_variable const better("COHORT_DATA", named.c_str());
  EXPECT_EQ(mnist::find()->train_images, named + "/train-images-idx3-ubyte");
}

TEST(mnist, is_found_in_the_data_folder_of_the_working_directory) {
  std::string const here = folder("here");
  with_variable const data("COHORT_DATA", nullptr);
  in_directory const working(here);
  ::mkdir("data", 0755);
  fill("data", true);
  ASSERT_TRUE(mnist::find());
  EXPECT_EQ(mnist::find()->test_labels, "data/t10k-labels-idx1-ubyte.gz");
}

TEST(mnist, is_generated_and_logged_if_files_are_missing) {
  std::string const nowhere = folder("nothing");
  with_variable const data("COHORT_DATA", nullptr);
  with_variable const home("HOME", nowhere.c_str());
  with_variable const xdg("XDG_CACHE_HOME", nullptr);
  in_directory const working(nowhere);
  mnist::sets const sets = mnist::real_or_synthetic({}, 3, 50, 20);
  EXPECT_TRUE(sets.synthetic);
  EXPECT_EQ(sets.where, "synthetic, seed 3");
  EXPECT_EQ(sets.train.size(), 50);
  EXPECT_EQ(sets.test.size(), 20);
  expect_parts(refused<cohort::file_error>([] { mnist::train(); }),
               {"MNIST not found", "/.cache/cohort/mnist"});
}

TEST(mnist, is_never_generated_if_the_user_named_a_folder) {
  std::string const path = fresh_path("missing-directory");
  expect_parts(refused<cohort::file_error>([&] { mnist::real_or_synthetic(path); }),
               {path.c_str(), "MNIST not found", "none"});
  std::string const partly = folder("partly");
  write_file(partly + "/train-images-idx3-ubyte", idx_bytes({2, 28, 28}));
  expect_parts(refused<cohort::file_error>([&] { mnist::train(partly); }),
               {partly.c_str(), "not all of them"});
}

TEST(mnist, refuses_invalid_counts_and_labels) {
  std::string const counts = folder("counts");
  fill(counts, true, 11);
  expect_parts(refused<cohort::data_error>([&] { mnist::test(counts); }),
               {"t10k-labels-idx1-ubyte.gz", "12 labels", "got 11"});
  std::string const labels = folder("labels");
  fill(labels, false, 12, 11);
  expect_parts(refused<cohort::data_error>([&] { mnist::train(labels); }),
               {"label, example 10", "0 to 9", "got 10"});
  std::string const pixels = folder("pixels");
  fill(pixels, false);
  write_file(pixels + "/train-images-idx3-ubyte", idx_bytes({20, 27, 28}));
  expect_parts(refused<cohort::data_error>([&] { mnist::train(pixels); }), {"28x28", "got 27x28"});
}

/// The real files if available; otherwise the same checks on small generated files.
TEST(mnist, has_the_known_size_labels_and_mean) {
  bool const real = mnist::find().has_value();
  std::string const own = folder("own");
  if (!real) fill(own, true);
  cohort::arrays const test = mnist::test(real ? "" : own);
  ASSERT_EQ(test.size(), real ? 10'000 : 12);
  cohort::loader loader(test, {.batch = 5, .shuffle = false});
  auto const labels = loader.next()->target().as<std::int32_t>();
  std::vector<std::int32_t> const first(labels.begin(), labels.end());
  EXPECT_EQ(first,
            real ? (std::vector<std::int32_t>{7, 2, 1, 0, 4}) : (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  double own_mean = 0;
  for (int i = 0; i < 12 * 784; ++i) own_mean += (5 + i) % 256 / 255.0 / (12 * 784);
  double sum = 0;
  loader.start(0);
  while (cohort::batch const* b = loader.next())
    for (float const pixel : b->input().as<float>()) sum += pixel;
  EXPECT_NEAR(sum / static_cast<double>(784 * test.size()), real ? 0.1325 : own_mean, 0.0001);
}

}  // namespace mnist_test
