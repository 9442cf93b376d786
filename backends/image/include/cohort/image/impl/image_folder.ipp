// SPDX-License-Identifier: Apache-2.0
#include <cohort/image/image_folder.hpp>
#include <cohort/io/file.hpp>
#include <utility>

namespace cohort {

image_folder::image_folder(std::string folder, image_settings settings)
    : image_folder(
        folder, settings,
        class_folders::list(folder, settings.labels, detail::is_image_file, "CLASS/NAME.jpg or .png")) {}

image_folder::image_folder(std::string folder, image_settings settings, class_folders files)
    : folder_(std::move(folder)),
      reader_(std::move(settings), std::move(files.labels)),
      what_(reader_.describe()),
      paths_(std::move(files.paths)),
      labels_(std::move(files.classes)) {
  if (reader_.needs_size()) {
    reader_.use_size_of(bytes_of_file(0), full_path(paths_[0]));
    what_ = reader_.describe();
  }
}

void image_folder::get(std::int64_t i, example_view& out) const {
  auto const at = static_cast<std::size_t>(i);
  reader_.write(bytes_of_file(at), full_path(paths_[at]), paths_[at], labels_[at], out);
}

std::vector<std::byte> image_folder::bytes_of_file(std::size_t i) const {
  return io::read_file(full_path(paths_[i]), reader_.max_file_bytes());
}

}  // namespace cohort
