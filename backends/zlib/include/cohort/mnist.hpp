// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <array>
#include <cohort/data/arrays.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/zlib.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::mnist {

/// Where the four files of MNIST are, plain or .gz.
struct location {
  std::string train_images;
  std::string train_labels;
  std::string test_images;
  std::string test_labels;
};

}  // namespace cohort::mnist

namespace cohort::detail {

inline bool is_regular_file(std::string const& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

inline std::optional<mnist::location> mnist_in(std::string const& folder) {
  for (std::string const& directory : {folder, folder + "/mnist"}) {
    constexpr std::array names = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                  "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    std::array<std::string, 4> found;
    std::size_t present = 0;
    for (; present < names.size(); ++present) {
      std::string const plain = directory + '/' + names[present];
      found[present] = is_regular_file(plain) ? plain : plain + ".gz";
      if (!is_regular_file(found[present])) break;
    }
    if (present == names.size()) return mnist::location{found[0], found[1], found[2], found[3]};
  }
  return std::nullopt;
}

inline idx_array read_mnist_file(std::string const& path, int rank) {
  constexpr std::size_t max_bytes = std::size_t{1} << 28;  // the largest of the four has 47,040,016
  bool const packed = path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
  return read_idx(path, rank, [&](std::string const& p) {
    return packed ? gzip::read_file(p, max_bytes) : read_file(p, max_bytes);
  });
}

inline arrays read_mnist_pair(std::string const& images_path, std::string const& labels_path) {
  using owners = std::pair<idx_array, idx_array>;
  auto const files =
      std::make_shared<owners>(read_mnist_file(images_path, 3), read_mnist_file(labels_path, 1));
  tensor_view images = files->first.view();
  tensor_view const labels = files->second.view();
  if (images.dims.example() != shape(28, 28))
    throw data_error({.what = "these are no MNIST images",
                      .where = images_path,
                      .expected = "28x28 pixels",
                      .got = to_string(images.dims.example())});
  if (labels.dims[0] != images.dims[0])
    throw data_error({.what = "MNIST's images and labels differ in number",
                      .where = labels_path,
                      .expected = {images.dims[0], " labels"},
                      .got = {labels.dims[0]}});
  images.dims = shape(images.dims[0], 1, 28, 28);
  return arrays({array{.name = "input", .values = images, .scale = 1 / 255.0}},
                {array{.name = "label",
                       .values = labels,
                       .classes = 10,
                       .label_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}},
                files);
}

}  // namespace cohort::detail

namespace cohort::mnist {

/// Looks for MNIST: in the folder that the user names, and only there; else in $COHORT_DATA, data/, and the cache
/// ($XDG_CACHE_HOME or ~/.cache, cohort/mnist). A folder has it if the four files, plain or .gz, lie in it or
/// in its subfolder mnist/.
///
/// Errors    file_error if the user named a folder that has none. Nothing if no other folder has it.
inline std::optional<location> find(std::string_view user_path = {}) {
  if (!user_path.empty()) {
    std::optional<location> found = detail::mnist_in(std::string(user_path));
    if (!found)
      throw file_error(
          {.what = "there is no MNIST",
           .where = {user_path},
           .expected = "a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, "
                       "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz, in it or in "
                       "its subfolder mnist",
           .got = detail::is_regular_file(std::string(user_path)) ? "a file" : "none or not all of them"});
    return found;
  }
  for (std::string const& folder : data_folders("mnist"))
    if (std::optional<location> found = detail::mnist_in(folder)) return found;
  return std::nullopt;
}

}  // namespace cohort::mnist

namespace cohort::detail {

inline mnist::location found_mnist(std::string_view user_path) {
  if (std::optional<mnist::location> found = mnist::find(user_path)) return *found;
  std::string folders;
  for (std::string const& folder : data_folders("mnist")) folders += (folders.empty() ? "" : ", ") + folder;
  throw file_error({.what = "there is no MNIST",
                    .where = folders,
                    .expected = "its four files, plain or .gz, in one of these folders",
                    .got = "none or not all of them"});
}

}  // namespace cohort::detail

namespace cohort::mnist {

/// The 60,000 training images and their labels; `user_path` as for find.
///
/// Shapes    input 1 × 28 × 28 f32 in [0, 1], label i32 0 to 9, named "0" to "9".
/// Errors    file_error if there are none; data_error for files that are damaged, of other shapes or counts,
///           or with labels above 9.
inline arrays train(std::string_view user_path = {}) {
  location const at = detail::found_mnist(user_path);
  return detail::read_mnist_pair(at.train_images, at.train_labels);
}

/// The 10,000 test images and their labels, like train.
inline arrays test(std::string_view user_path = {}) {
  location const at = detail::found_mnist(user_path);
  return detail::read_mnist_pair(at.test_images, at.test_labels);
}

/// Both sets, and whether they are real.
struct sets {
  dataset train;
  dataset test;
  bool drawn = false;  ///< digits drawn by the library, because no MNIST was found: the report must say so
  std::string where;   ///< the file with the training images, or "drawn, seed 1"
};

/// Both sets of MNIST if it is found, else digits drawn from `seed`: they show that training runs, not how well.
///
/// Errors    as for train; where the user names a folder nothing is drawn.
inline sets real_or_drawn(std::string_view user_path = {}, std::uint64_t seed = 1, int drawn_train = 12'000,
                          int drawn_test = 2'000) {
  if (std::optional<location> const at = find(user_path))
    return {.train = detail::read_mnist_pair(at->train_images, at->train_labels),
            .test = detail::read_mnist_pair(at->test_images, at->test_labels),
            .drawn = false,
            .where = at->train_images};
  return {.train = drawn_digits(drawn_train, seed),
          .test = drawn_digits(drawn_test, seed, drawn_train),
          .drawn = true,
          .where = "drawn, seed " + std::to_string(seed)};
}

}  // namespace cohort::mnist
