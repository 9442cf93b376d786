// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <array>
#include <cohort/data/digits.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/mnist.hpp>
#include <cohort/zlib.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

bool is_regular_file(std::string const& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::optional<mnist::location> mnist_in(std::string const& folder) {
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

idx_array read_mnist_file(std::string const& path, int rank) {
  constexpr std::size_t max_bytes = std::size_t{1} << 28;  // the largest of the four has 47,040,016
  bool const packed = path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
  return read_idx(path, rank, [&](std::string const& p) {
    return packed ? gzip::read_file(p, max_bytes) : io::read_file(p, max_bytes);
  });
}

arrays read_mnist_pair(std::string const& images_path, std::string const& labels_path) {
  using owners = std::pair<idx_array, idx_array>;
  auto const files =
      std::make_shared<owners>(read_mnist_file(images_path, 3), read_mnist_file(labels_path, 1));
  tensor_view images = files->first.view();
  tensor_view const labels = files->second.view();
  if (images.dims.example() != shape(28, 28))
    throw data_error({.what = "not MNIST images",
                      .where = images_path,
                      .expected = "28x28 pixels",
                      .got = to_string(images.dims.example())});
  if (labels.dims[0] != images.dims[0])
    throw data_error({.what = "MNIST's images and labels have different counts",
                      .where = labels_path,
                      .expected = {images.dims[0], " labels"},
                      .got = {labels.dims[0]}});
  images.dims = shape(images.dims[0], 1, 28, 28);
  return arrays({array_view{.name = "input", .values = images, .scale = 1 / 255.0}},
                {array_view{.name = "label",
                            .values = labels,
                            .classes = 10,
                            .label_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}},
                files);
}

}  // namespace cohort::detail

namespace cohort::mnist {

std::optional<location> find(std::string_view user_path) {
  if (!user_path.empty()) {
    std::optional<location> found = detail::mnist_in(std::string(user_path));
    if (!found)
      throw file_error(
          {.what = "MNIST not found",
           .where = {user_path},
           .expected = "a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, "
                       "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz, in it or in "
                       "its subfolder mnist",
           .got = detail::is_regular_file(std::string(user_path)) ? "a file" : "none or not all of them"});
    return found;
  }
  for (std::string const& folder : io::data_folders("mnist"))
    if (std::optional<location> found = detail::mnist_in(folder)) return found;
  return std::nullopt;
}

}  // namespace cohort::mnist

namespace cohort::detail {

mnist::location require_mnist(std::string_view user_path) {
  if (std::optional<mnist::location> found = mnist::find(user_path)) return *found;
  std::string folders;
  for (std::string const& folder : io::data_folders("mnist"))
    folders += (folders.empty() ? "" : ", ") + folder;
  throw file_error({.what = "MNIST not found",
                    .where = folders,
                    .expected = "its four files, plain or .gz, in one of these folders",
                    .got = "none or not all of them; set COHORT_DATA to the folder that has them"});
}

}  // namespace cohort::detail

namespace cohort::mnist {

arrays train(std::string_view user_path) {
  location const at = detail::require_mnist(user_path);
  return detail::read_mnist_pair(at.train_images, at.train_labels);
}

arrays test(std::string_view user_path) {
  location const at = detail::require_mnist(user_path);
  return detail::read_mnist_pair(at.test_images, at.test_labels);
}

sets real_or_synthetic(std::string_view user_path, std::uint64_t seed, int synthetic_train,
                       int synthetic_test) {
  if (std::optional<location> const at = find(user_path))
    return {.train = detail::read_mnist_pair(at->train_images, at->train_labels),
            .test = detail::read_mnist_pair(at->test_images, at->test_labels),
            .synthetic = false,
            .where = at->train_images};
  return {.train = synthetic_digits(synthetic_train, seed),
          .test = synthetic_digits(synthetic_test, seed, synthetic_train),
          .synthetic = true,
          .where = "synthetic, seed " + std::to_string(seed)};
}

}  // namespace cohort::mnist
