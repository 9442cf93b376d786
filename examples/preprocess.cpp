// SPDX-License-Identifier: Apache-2.0
// needs: image
// label: slow
// Packs folders of images into file batches for tiny_imagenet:
//     preprocess FROM TO [FILES]
// FROM contains train/ and test/ (or val/) with one folder per class, or TinyImageNet as distributed:
// training images in train/CLASS/images, test images in val/images, and classes of test images in
// val/val_annotations.txt. Writes archives of FILES images each (default 500) to TO/train/ and TO/test/, in
// one random order. Copies FROM/words.txt, which contains the names of the classes, to TO.
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/class_words.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

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

int files_of(std::string_view text) {
  int value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  int const each = argc == 4 ? files_of(argv[3]) : 500;
  if (argc < 3 || argc > 4 || each < 1) {
    std::fputs("preprocess: expected FROM TO [FILES]: two folders and the number of images per archive\n",
               stderr);
    return 2;
  }
  files::path const from = argv[1];
  std::string const to = argv[2];
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
  if (has_words) cohort::class_words(words.string());  // reports errors in the file before the packing
  pack(from / "train", to + "/train", each, tiny_imagenet ? sort_training : nullptr);
  pack(test, to + "/test", each, tiny_imagenet ? sort_validation : nullptr);
  if (has_words) cohort::io::write_file(to + "/words.txt", cohort::io::read_text(words.string()));
} catch (std::exception const& problem) {
  std::fprintf(stderr, "preprocess: %s\n", problem.what());
  return 1;
}
