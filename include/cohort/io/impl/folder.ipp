// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>

namespace cohort::io {

std::optional<std::vector<std::string>> list_folder(std::string const& folder) {
  DIR* const handle = ::opendir(folder.c_str());
  if (handle == nullptr) {
    int const error_number = errno;
    struct stat status {};  // a link without a target is an error
    if (error_number == ENOENT && ::lstat(folder.c_str(), &status) != 0) return std::nullopt;
    detail::refuse_file("cannot read the folder", folder, error_number);
  }
  std::vector<std::string> names;
  errno = 0;
  while (dirent const* entry = ::readdir(handle)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
    errno = 0;
  }
  int const error_number = errno;
  ::closedir(handle);
  if (error_number != 0) detail::refuse_file("cannot read the folder", folder, error_number);
  return names;
}

bool is_folder(std::string const& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::optional<std::uint64_t> size_of_file(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

void make_folder(std::string const& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0777);  // a failure here makes the mkdir below fail too
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    detail::refuse_file("cannot create the folder", path, errno);
}

void rename_folder(std::string const& from, std::string const& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) detail::refuse_file("cannot rename the folder", from, errno);
}

void remove_file(std::string const& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    detail::refuse_file("cannot remove the file", path, errno);
}

void remove_empty_folder(std::string const& path) {
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
    detail::refuse_file("cannot remove the folder", path, errno);
}

void synchronise_folder(std::string const& folder) {
  int const handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) detail::refuse_file("cannot synchronise the folder with the disk", folder, errno);
  // EINVAL means that the file system does not support fsync on folders.
  int const error_number = ::fsync(handle) == 0 || errno == EINVAL ? 0 : errno;
  ::close(handle);
  if (error_number != 0)
    detail::refuse_file("cannot synchronise the folder with the disk", folder, error_number);
}

}  // namespace cohort::io
