// SPDX-License-Identifier: Apache-2.0
#include "pack.hpp"
#include <cohort/error/exceptions.hpp>
#include <cohort/image/class_words.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace files = std::filesystem;

/// Temporary folder with one subfolder per class, containing links to TinyImageNet's images. The destructor
/// removes it.
class class_folders {
 public:
  explicit class_folders(files::path folder) : folder_(std::move(folder)) { files::remove_all(folder_); }
  ~class_folders() {
    std::error_code ignored;
    files::remove_all(folder_, ignored);
  }
  class_folders(class_folders const&) = delete;
  class_folders& operator=(class_folders const&) = delete;

  void add(files::path const& image, std::string const& label) {
    files::create_directories(folder_ / label);
    files::create_symlink(files::absolute(image), folder_ / label / image.filename());
  }
  std::string path() const { return folder_.string(); }

 private:
  files::path folder_;
};

void sort_training(files::path const& from, class_folders& to) {
  for (auto const& label : files::directory_iterator(from))
    if (label.is_directory())
      for (auto const& image : files::directory_iterator(label.path() / "images"))
        to.add(image.path(), label.path().filename().string());
}

/// Each line of val_annotations.txt contains a file name, its class, and a bounding box, which is not used.
void sort_validation(files::path const& from, class_folders& to) {
  std::ifstream lines(from / "val_annotations.txt");
  for (std::string image, label, box; lines >> image >> label && std::getline(lines, box);)
    to.add(from / "images" / image, label);
}

void pack(files::path const& from, std::string const& to, int files_per_archive,
          void (*sort)(files::path const&, class_folders&)) {
  std::size_t archives = 0;
  if (sort) {
    class_folders sorted(to + ".by_class");
    sort(from, sorted);
    archives = cohort::pack_files(sorted.path(), to, files_per_archive, 1).size();
  } else {
    archives = cohort::pack_files(from.string(), to, files_per_archive, 1).size();
  }
  std::printf("%s: %zu archives\n", to.c_str(), archives);
}

}  // namespace

void cohort_program::pack_images(std::string const& source, std::string const& target, int each) {
  files::path const from = source;
  bool const tiny_imagenet = files::exists(from / "val" / "val_annotations.txt");
  files::path const test = from / (files::is_directory(from / "test") && !tiny_imagenet ? "test" : "val");
  for (files::path const& folder : {from / "train", test})
    if (!files::is_directory(folder))
      throw cohort::data_error({.what = "no images to pack",
                                .where = from.string(),
                                .expected = "the folders train and test, or train and val",
                                .got = {"no folder ", folder.filename().string()}});
  files::path const words = from / "words.txt";
  bool const has_words = files::exists(words);
  if (has_words) cohort::class_words(words.string());  // an error before the packing
  pack(from / "train", target + "/train", each, tiny_imagenet ? sort_training : nullptr);
  pack(test, target + "/test", each, tiny_imagenet ? sort_validation : nullptr);
  if (has_words) cohort::io::write_file(target + "/words.txt", cohort::io::read_text(words.string()));
}
