// SPDX-License-Identifier: Apache-2.0
// needs: image
// label: slow
// Packs folders of images into file batches, from which tiny_imagenet trains:
//     preprocess FROM TO [FILES]
// FROM holds train/ and test/ (or val/) with a folder a class, or TinyImageNet as it is distributed: there a class's images lie
// in train/CLASS/images, and those of val/images have their classes in val/val_annotations.txt. TO gets train/ and test/ with
// archives of FILES images each (500), in an order drawn once.
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/pack_files.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace {

namespace files = std::filesystem;

/// Links to TinyImageNet's images in folders that are named like their classes; gone at the end.
class sorted_by_class {
 public:
  explicit sorted_by_class(files::path folder) : folder_(std::move(folder)) { files::remove_all(folder_); }
  ~sorted_by_class() {
    std::error_code ignored;
    files::remove_all(folder_, ignored);
  }
  sorted_by_class(sorted_by_class const&) = delete;
  sorted_by_class& operator=(sorted_by_class const&) = delete;

  void add(files::path const& image, std::string const& label) {
    files::create_directories(folder_ / label);
    files::create_symlink(files::absolute(image), folder_ / label / image.filename());
  }
  std::string path() const { return folder_.string(); }

 private:
  files::path folder_;
};

void sort_training(files::path const& from, sorted_by_class& to) {
  for (auto const& label : files::directory_iterator(from))
    if (label.is_directory())
      for (auto const& image : files::directory_iterator(label.path() / "images"))
        to.add(image.path(), label.path().filename().string());
}

/// Lines of val_annotations.txt: file, class, and a box that is of no use here.
void sort_validation(files::path const& from, sorted_by_class& to) {
  std::ifstream lines(from / "val_annotations.txt");
  for (std::string image, label, box; lines >> image >> label && std::getline(lines, box);)
    to.add(from / "images" / image, label);
}

void pack(files::path const& from, std::string const& to, int each,
          void (*sort)(files::path const&, sorted_by_class&)) {
  std::size_t archives = 0;
  if (sort) {
    sorted_by_class sorted(to + ".by_class");
    sort(from, sorted);
    archives = cohort::pack_files(sorted.path(), to, each, 1).size();
  } else {
    archives = cohort::pack_files(from.string(), to, each, 1).size();
  }
  std::printf("%s: %zu archives\n", to.c_str(), archives);
}

int files_of(std::string_view text) {
  int value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  int const each = argc == 4 ? files_of(argv[3]) : 500;
  if (argc < 3 || argc > 4 || each < 1) {
    std::fputs("preprocess: expected FROM TO [FILES], two folders and how many images an archive has\n",
               stderr);
    return 2;
  }
  files::path const from = argv[1];
  std::string const to = argv[2];
  bool const tiny_imagenet = files::exists(from / "val" / "val_annotations.txt");
  files::path const test = from / (files::is_directory(from / "test") && !tiny_imagenet ? "test" : "val");
  for (files::path const& folder : {from / "train", test})
    if (!files::is_directory(folder))
      throw cohort::data_error({.what = "there is nothing to pack",
                                .where = from.string(),
                                .expected = "the folders train and test, or train and val",
                                .got = {"no folder ", folder.filename().string()}});
  pack(from / "train", to + "/train", each, tiny_imagenet ? sort_training : nullptr);
  pack(test, to + "/test", each, tiny_imagenet ? sort_validation : nullptr);
} catch (std::exception const& problem) {
  std::fprintf(stderr, "preprocess: %s\n", problem.what());
  return 1;
}
