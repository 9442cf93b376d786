// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/class_words.hpp>
#include <cohort/image/file_batches.hpp>
#include <cohort/image/image_folder.hpp>
#include <cohort/image/pack_files.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace class_words_test {

using namespace cohort;

std::string file_of(scratch_folder const& at, std::string const& text) {
  auto const bytes = std::as_bytes(std::span(text));
  put(at / "words.txt", file_bytes(bytes.begin(), bytes.end()));
  return at / "words.txt";
}

constexpr char const* some =
    "n01443537\tgoldfish, Carassius auratus\r\n"
    "n02012849\tcrane\n"
    "n03126707\tcrane\n"
    "n00001740\tentity";

TEST(class_words, are_read_from_lines) {
  scratch_folder const at;
  class_word_map const words = class_words(file_of(at, some));
  EXPECT_EQ(words.size(), 4U);
  EXPECT_EQ(words.at("n01443537"), "goldfish, Carassius auratus");
  EXPECT_EQ(words.at("n00001740"), "entity");
}

TEST(class_words, report_the_numbers_of_damaged_lines) {
  scratch_folder const at;
  auto const says = [&](std::string const& text) {
    return refused<data_error>([&] { class_words(file_of(at, text)); });
  };
  for (char const* line : {"n1 goldfish", "", "\tgoldfish", "n1\t", "n1\ta\tb"})
    expect_parts(says("n0\ta\n" + std::string(line) + "\nn2\tb\n"),
                 {"a line does not name a class", "words.txt, line 2", "an id, a tab and the class's words"});
  expect_parts(says("n0\ta\nn1\tb\nn0\tc\n"), {"words.txt, line 3", "each id once", "n0 a second time"});
  expect_parts(says("n0\t\xff\n"), {"words.txt, line 1", "UTF-8"});
  expect_parts(says(""), {"does not name any class", "an empty file"});
}

TEST(class_words, map_class_ids_to_names) {
  scratch_folder const at;
  class_word_map const words = class_words(file_of(at, some));
  EXPECT_EQ(named_classes({"n03126707", "n01443537"}, words),
            (std::vector<std::string>{"crane", "goldfish, Carassius auratus"}));
  EXPECT_EQ(
      named_classes({"n03126707", "n01443537", "n02012849"}, words),
      (std::vector<std::string>{"crane (n03126707)", "goldfish, Carassius auratus", "crane (n02012849)"}));
  expect_parts(refused<data_error>([&] { named_classes({"n1"}, words); }),
               {"a class has no words", "class n1", "one of the 4 ids"});
}

TEST(class_words, become_the_label_names_of_image_folders) {
  scratch_folder const at, packed;
  for (char const* label : {"n01443537", "n00001740"})
    put(at / ("train/" + std::string(label) + "/1.png"), png_of(picture(3, 6, 8)));
  image_settings const how{.words = class_words(file_of(at, some))};
  image_folder const folder(at / "train", how);
  std::vector<std::string> const ids{"n00001740", "n01443537"},
      names{"entity", "goldfish, Carassius auratus"};
  EXPECT_EQ(folder.describe().targets[0].label_names, names);
  EXPECT_EQ(folder.labels(), ids);
  EXPECT_EQ(folder.paths()[1], "n01443537/1.png");
  pack_files(at / "train", packed / "archives", 2, 1, 1);
  file_batches const archives(packed / "archives", how);
  EXPECT_EQ(archives.describe().targets[0].label_names, names);
  EXPECT_EQ(archives.labels(), ids);
  put(at / "train/n1/1.png", png_of(picture(3, 6, 8)));
  expect_parts(refused<data_error>([&] { image_folder(at / "train", how); }), {"a class has no words", "n1"});
}

}  // namespace class_words_test
