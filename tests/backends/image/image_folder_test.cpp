// SPDX-License-Identifier: Apache-2.0
// covers: image/image_settings
#include <atomic>
#include <cohort/data/cache.hpp>
#include <cohort/data/concat.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/image_folder.hpp>
#include <cohort/image/resize.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace image_folder_test {

using cohort::fitting;
using cohort::image;
using cohort::image_folder;

/// Three classes, seven files, 6 × 8 pixels.
void fill(scratch_folder const& at) {
  for (int i : {1, 2, 10}) put(at / ("cat/" + std::to_string(i) + ".png"), png_of(picture(3, 6, 8, i)));
  for (int i : {0, 1}) put(at / ("ant/x" + std::to_string(i) + ".JPEG"), jpeg_of(picture(3, 6, 8, 30 + i)));
  for (int i : {0, 1}) put(at / ("dog/" + std::to_string(i) + ".jpg"), png_of(picture(1, 6, 8, 40 + i)));
  put(at / "cat/.hidden", {});
  put(at / "read me.txt", {});
}

struct example {
  image pixels;
  std::int32_t label = -1;
  std::string key;
};

example example_of(image_folder const& data, std::int64_t i) {
  cohort::example_view view;
  view.allocate(data.describe());
  data.get(i, view);
  cohort::shape const dims = data.describe().inputs[0].example;
  example made{.pixels = image(dims[0], dims[1], dims[2]), .key = std::string(view.key)};
  std::memcpy(made.pixels.pixels.data(), view.at(0), made.pixels.pixels.size());
  std::memcpy(&made.label, view.at(1), sizeof made.label);
  return made;
}

TEST(image_folder, lists_classes_and_files_in_the_order_of_their_names) {
  scratch_folder const at;
  fill(at);
  image_folder const data(at.path(), {.keyed = true});
  EXPECT_EQ(data.describe().targets[0].label_names, (std::vector<std::string>{"ant", "cat", "dog"}));
  EXPECT_EQ(data.describe().inputs[0].example, cohort::shape(3, 6, 8));
  EXPECT_EQ(data.paths(), (std::vector<std::string>{"ant/x0.JPEG", "ant/x1.JPEG", "cat/1.png", "cat/10.png",
                                                    "cat/2.png", "dog/0.jpg", "dog/1.jpg"}));
  EXPECT_EQ(example_of(data, 3).pixels, picture(3, 6, 8, 10));
  EXPECT_EQ(example_of(data, 3).label, 1);
  EXPECT_EQ(example_of(data, 3).key, "cat/10.png");
  EXPECT_EQ(example_of(data, 0).label, 0);
  EXPECT_EQ(example_of(data, 6).label, 2);
}

TEST(image_folder, scales_pixels_of_batches_to_the_range_0_to_1) {
  scratch_folder const at;
  fill(at);
  cohort::loader loader(image_folder(at.path(), {.channels = 1}),
                        {.batch = 7, .shuffle = false, .prefetch = 1});
  cohort::batch const* const b = loader.next();
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->input().dims, cohort::shape(7, 1, 6, 8));
  image const dog = picture(1, 6, 8, 40);
  for (std::size_t i = 0; i < 48; ++i)
    EXPECT_FLOAT_EQ(b->input().rows(5, 1).as<float>()[i], static_cast<float>(dog.pixels[i]) / 255);
  auto const labels = b->target().as<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(labels.begin(), labels.end()),
            (std::vector<std::int32_t>{0, 0, 1, 1, 1, 2, 2}));
}

TEST(image_folder, is_normalised_per_channel_in_batches) {
  scratch_folder const at;
  fill(at);
  image_folder const data(at.path(), {.channels = 1, .normalise = {.mean = {0.5}, .deviation = {0.25}}});
  EXPECT_EQ(data.describe().inputs[0].stored, cohort::element_type::u8);
  cohort::loader loader(std::cref(data), {.batch = 7, .shuffle = false});
  image const dog = picture(1, 6, 8, 40);
  auto const values = loader.next()->input().rows(5, 1).as<float>();
  for (std::size_t i = 0; i < 48; ++i)
    EXPECT_NEAR(values[i], (static_cast<float>(dog.pixels[i]) / 255 - 0.5F) / 0.25F, 1e-6);
  EXPECT_NE(refused<cohort::setting_error>([&] {
              image_folder(at.path(), {.normalise = {.mean = {0.5}, .deviation = {0.25}}});
            }).find("3 numbers, one per channel"),
            std::string::npos);
}

TEST(image_folder, decodes_the_same_batches_with_several_readers) {
  scratch_folder const at;
  fill(at);
  image_folder const data(at.path(), {.channels = 1});
  auto const pixels_of = [&](int readers) {
    std::vector<float> all;
    cohort::loader loader(std::cref(data), {.batch = 3, .seed = 4, .prefetch = 1, .readers = readers});
    loader.start(1);
    while (cohort::batch const* const b = loader.next())
      all.insert(all.end(), b->input().as<float>().begin(), b->input().as<float>().end());
    return all;
  };
  std::vector<float> const alone = pixels_of(1);
  EXPECT_EQ(alone.size(), 7U * 48);
  for (int const readers : {2, 3}) EXPECT_EQ(pixels_of(readers), alone);
}

TEST(image_folder, accepts_external_labels) {
  scratch_folder const at;
  fill(at);
  image_folder const data(at.path(), {.labels = {"dog", "ant", "cat"}});
  EXPECT_EQ(data.describe().targets[0].label_names, (std::vector<std::string>{"dog", "ant", "cat"}));
  EXPECT_EQ(data.paths()[0], "dog/0.jpg");
  EXPECT_EQ(example_of(data, 0).label, 0);
  EXPECT_EQ(example_of(data, 6).label, 2);
  auto const with = [&](std::vector<std::string> labels) {
    return refused<cohort::data_error>([&] { image_folder(at.path(), {.labels = labels}); });
  };
  expect_parts(with({"ant", "cat", "cow", "dog"}),
               {at.path().c_str(), "a class has no folder", "a folder cow"});
  expect_parts(with({"ant", "dog"}), {at.path().c_str(), "not among the labels", "got cat"});
  expect_parts(refused<cohort::setting_error>([&] {
                 image_folder(at.path(), {.labels = {"cat", "ant", "cat"}});
               }),
               {"duplicate label", "got cat"});
}

TEST(image_folder, refuses_folders_without_images) {
  scratch_folder const at;
  expect_parts(refused<cohort::file_error>([&] { image_folder(at / "none"); }), {"/none", "No such file"});
  expect_parts(refused<cohort::data_error>([&] { image_folder(at.path()); }),
               {"no class folders", at.path().c_str()});
  std::filesystem::create_directory(at / "cat");
  expect_parts(refused<cohort::data_error>([&] { image_folder(at.path()); }),
               {"no class folders", at.path().c_str()});
  expect_parts(refused<cohort::data_error>([&] { image_folder(at.path(), {.labels = {"cat"}}); }),
               {"no examples", at.path().c_str()});
  put(at / "cat/notes.txt", {});
  expect_parts(refused<cohort::data_error>([&] { image_folder(at.path()); }),
               {"/cat/notes.txt", ".jpg .jpeg .png"});
}

TEST(image_folder, reports_a_file_that_cannot_be_decoded_when_it_is_read) {
  scratch_folder const at;
  fill(at);
  put(at / "cat/3.png", file_bytes(100, std::byte{7}));
  image_folder const data(at.path());
  EXPECT_EQ(data.paths()[5], "cat/3.png");
  expect_parts(refused<cohort::data_error>([&] { example_of(data, 5); }),
               {"/cat/3.png", "a JPEG, PNG, BMP, GIF, TIFF or WebP file", "07 07"});
  std::filesystem::remove(at / "cat/1.png");
  expect_parts(refused<cohort::file_error>([&] { example_of(data, 2); }), {"/cat/1.png", "No such file"});
  cohort::loader loader(std::cref(data), {.batch = 7, .prefetch = 2});
  refused<cohort::error>([&] { loader.next(); });
}

TEST(image_folder, refuses_or_resizes_images_of_different_sizes) {
  scratch_folder const at;
  put(at / "a/1.png", png_of(picture(3, 10, 20)));
  put(at / "a/2.png", png_of(picture(3, 30, 12)));
  image_folder const strict(at.path());
  expect_parts(refused<cohort::data_error>([&] { example_of(strict, 1); }),
               {"/a/2.png", "another size", "10x20, got 30x12"});
  image_folder const stretched(at.path(), {.height = 5, .width = 5, .other_sizes = fitting::stretch});
  EXPECT_EQ(example_of(stretched, 0).pixels, resized(picture(3, 10, 20), 5, 5));
  image_folder const covered(at.path(), {.height = 5, .width = 5, .other_sizes = fitting::cover});
  EXPECT_EQ(example_of(covered, 0).pixels, cropped(resized(picture(3, 10, 20), 5, 10), {0, 2, 5, 5}));
  EXPECT_EQ(example_of(covered, 1).pixels, cropped(resized(picture(3, 30, 12), 13, 5), {4, 0, 5, 5}));
}

TEST(image_folder, reports_a_file_that_cannot_be_resized) {
  scratch_folder const at;
  put(at / "a/1.png", png_of(picture(3, 1, 3000)));
  put(at / "a/2.png", png_of(picture(1, 66'000, 1)));
  image_folder const covered(at.path(), {.height = 32, .width = 32, .other_sizes = fitting::cover});
  EXPECT_EQ(refused<cohort::data_error>([&] { example_of(covered, 0); }),
            "the image cannot be resized (" + (at / "a/1.png")
                + "): expected extents up to 65536, got 1x3000, to be resized to 32x96000");
  image_folder const stretched(at.path(), {.height = 32, .width = 32, .other_sizes = fitting::stretch});
  EXPECT_EQ(refused<cohort::data_error>([&] { example_of(stretched, 1); }),
            "the image cannot be resized (" + (at / "a/2.png")
                + "): expected extents up to 65536, got 66000x1, to be resized to 32x32");
}

TEST(image_folder, accepts_bytes_between_the_segments_of_the_first_jpeg) {
  scratch_folder const at;
  file_bytes file = jpeg_of(picture(3, 6, 8));
  std::size_t const after_app0 = 4 + 16;  // the start of the image, its first segment
  file.insert(file.begin() + after_app0, {std::byte{1}, std::byte{2}});  // bytes between two segments
  put(at / "a/1.jpg", file);
  image_folder const data(at.path());
  EXPECT_EQ(data.describe().inputs[0].example, cohort::shape(3, 6, 8));
  EXPECT_EQ(example_of(data, 0).pixels, cohort::decoded(jpeg_of(picture(3, 6, 8)), "x"));
}

TEST(image_folder, may_skip_damaged_files) {
  scratch_folder const at;
  file_bytes const whole = jpeg_of(picture(3, 6, 8));
  put(at / "a/1.jpg", whole);
  put(at / "a/2.jpg", file_bytes(whole.begin(), whole.end() - 60));
  put(at / "b/1.jpg", whole);
  std::filesystem::create_directories(at / "empty");
  image_folder const images(at.path());
  EXPECT_EQ(images.labels(), (std::vector<std::string>{"a", "b"}));
  std::vector<std::string> lines;
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  cohort::dataset const data = cohort::skip_damaged(
      images, {.log = [&](std::string_view line) { lines.emplace_back(line); }, .skipped = skipped});
  EXPECT_TRUE(data.describe().weighted);
  cohort::loader batches(data, {.batch = 3, .shuffle = false});
  batches.start(0);
  cohort::batch const& batch = *batches.next();
  EXPECT_EQ(batch.weights, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(*skipped, 1);
  ASSERT_EQ(lines.size(), 1U);
  expect_parts(lines[0], {"skipped: cannot decode the JPEG", "/a/2.jpg"});
}

TEST(image_folder, reports_once_that_orientations_are_not_applied_and_counts_them) {
  scratch_folder const at;
  file_bytes const plain = jpeg_of(picture(3, 6, 8));
  put(at / "a/1.jpg", plain);
  put(at / "a/2.jpg", with_exif(plain, exif_of(3, true)));
  put(at / "a/3.jpg", with_exif(plain, exif_of(6, false)));
  std::vector<std::string> lines;
  auto const count = std::make_shared<std::atomic<std::int64_t>>(0);
  cohort::image_settings how{.log = [&](std::string_view line) { lines.emplace_back(line); },
                             .ignored_orientations = count};
  image_folder const stored(at.path(), how);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(example_of(stored, i).pixels, cohort::decoded(plain, "x"));
  EXPECT_EQ(*count, 4);
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "the EXIF orientation of an image is not applied (" + (at / "a/2.jpg")
                + "): orientation 3; .apply_exif_orientation = true shows such images upright; further "
                  "images are not listed"}));
  how.log = {};
  how.ignored_orientations = nullptr;
  example_of(image_folder(at.path(), how), 2);

  how.log = [&](std::string_view line) { lines.emplace_back(line); };
  how.apply_exif_orientation = true;
  std::filesystem::remove(at / "a/1.jpg");
  std::filesystem::remove(at / "a/2.jpg");
  image_folder const shown(at.path(), how);
  EXPECT_EQ(shown.describe().inputs[0].example, cohort::shape(3, 8, 6));
  image const turned = example_of(shown, 0).pixels, before = cohort::decoded(plain, "x");
  EXPECT_EQ(turned.dims, cohort::shape(3, 8, 6));
  EXPECT_EQ(turned.plane(1)[0], before.plane(1)[5 * 8]);  // the lower left pixel is the upper left one
  EXPECT_EQ(lines.size(), 1U);
}

TEST(image_folder, refuses_settings_and_files_out_of_range) {
  scratch_folder const at;
  fill(at);
  auto const with = [&](cohort::image_settings how) {
    return refused<cohort::setting_error>([&] { image_folder(at.path(), how); });
  };
  expect_parts(with({.channels = 2}), {"channels", "got 2"});
  expect_parts(with({.height = 32}), {"width", "both extents or none"});
  expect_parts(with({.height = -1, .width = 3}), {"height", "got -1"});
  expect_parts(refused<cohort::data_error>([&] { image_folder(at.path(), {.max_pixels = 47}); }),
               {"ant/x0.JPEG", "6x8"});
  image_folder const small(at.path(), {.height = 6, .width = 8, .max_file_bytes = 20});
  expect_parts(refused<cohort::file_error>([&] { example_of(small, 0); }),
               {"ant/x0.JPEG", "at most 20 bytes"});
}

TEST(image_folder, is_read_by_several_threads_concurrently) {
  scratch_folder const at;
  fill(at);
  image_folder const data(at.path());
  std::vector<std::vector<image>> seen(4);
  std::vector<std::thread> threads;
  for (auto& mine : seen)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        for (std::int64_t i = 0; i < data.size(); ++i) mine.push_back(example_of(data, i).pixels);
    });
  for (std::thread& thread : threads) thread.join();
  for (auto const& mine : seen) EXPECT_EQ(mine, seen[0]);
}

/// 12,000 images of CIFAR-10 as JPEG files; skipped if they are not in $COHORT_DATA.
TEST(image_folder, reads_cifar10) {
  char const* const data = std::getenv("COHORT_DATA");
  std::string const packed = std::string(data != nullptr ? data : "") + "/cifar10/cifar10_12k_jpeg.tar.xz";
  if (data == nullptr || !std::filesystem::exists(packed))
    GTEST_SKIP() << "COHORT_DATA names no folder with cifar10/cifar10_12k_jpeg.tar.xz";
  scratch_folder const at;
  if (std::system(("tar -xJf '" + packed + "' -C '" + at.path() + "'").c_str()) != 0)
    FAIL() << "tar cannot unpack " << packed;
  image_folder const train(at / "train");
  EXPECT_EQ(train.describe().targets[0].label_names,
            (std::vector<std::string>{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                                      "ship", "truck"}));
  EXPECT_EQ(train.describe().inputs[0].example, cohort::shape(3, 32, 32));
  cohort::loader loader(std::cref(train), {.batch = 500, .seed = 1, .prefetch = 1});
  std::vector<int> counts(10);
  double sum = 0;
  while (cohort::batch const* b = loader.next()) {
    for (std::int32_t const label : b->target().as<std::int32_t>()) ++counts[static_cast<std::size_t>(label)];
    for (float const pixel : b->input().as<float>()) sum += pixel;
  }
  for (int const count : counts) EXPECT_EQ(count, counts[0]);
  EXPECT_NEAR(sum / (3072.0 * static_cast<double>(train.size())), 0.473, 0.003);  // of all 50,000 images
}

TEST(image_folder, can_be_split_by_class_without_reading_files) {
  scratch_folder const at;
  for (int i = 0; i < 12; ++i) put(at / ((i % 3 ? "cat/" : "ant/") + std::to_string(i) + ".png"), {});
  image_folder const folder(at.path(), {.height = 4, .width = 4});
  cohort::dataset const views[]{
      folder,
      cohort::augmented(folder, {.height = 2, .width = 2}),
      cohort::weighted_by_class(cohort::dataset(folder), {1, 2}),
      cohort::cache(folder),
      cohort::concat(cohort::select(folder, 0, 2), cohort::select(folder, 2, 10)),
      cohort::normalised(folder, cohort::normalisation{{{{1, 0}, {1, 0}, {1, 0}}}, {}})};
  for (cohort::dataset const& data : views) {
    auto const [training, held_out] = cohort::split(data, 0.5, {.stratified = true});
    int cats = 0;
    for (std::int64_t i = 0; i < held_out.size(); ++i) cats += static_cast<int>(held_out.label(i).value());
    EXPECT_EQ(cats, 4);
    EXPECT_EQ(cohort::k_fold(data, 2, {.stratified = true}).size(), 2U);
  }
}

}  // namespace image_folder_test
