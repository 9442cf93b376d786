// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/zip.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <utility>

namespace cohort::detail {

zip_handle open_zip(std::string const& path, int flags) {
  int code = 0;
  zip_handle archive(zip_open(path.c_str(), flags, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string const reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw file_error({.what = "cannot open the zip archive", .where = path, .got = reason});
}

zip_reader::zip_reader(std::string path) : path_(std::move(path)), archive_(open_zip(path_, ZIP_RDONLY)) {}

std::vector<zip_reader::entry> zip_reader::entries() const {
  std::lock_guard const lock(mutex_);
  std::vector<entry> list;
  auto const count = static_cast<std::uint64_t>(zip_get_num_entries(archive_.get(), 0));
  list.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    zip_stat_t facts;
    if (zip_stat_index(archive_.get(), i, ZIP_FL_ENC_RAW, &facts) != 0)
      refuse(i, zip_strerror(archive_.get()));
    list.push_back({facts.name, facts.size});
  }
  return list;
}

std::vector<std::byte> zip_reader::read(std::uint64_t which, std::size_t max_bytes) const {
  std::lock_guard const lock(mutex_);
  zip_stat_t facts;
  if (zip_stat_index(archive_.get(), which, ZIP_FL_ENC_RAW, &facts) != 0)
    refuse(which, zip_strerror(archive_.get()));
  if (facts.size > max_bytes)
    throw data_error({.what = "the file is too large",
                      .where = {path_, ", ", facts.name},
                      .expected = {"at most ", max_bytes, " bytes"},
                      .got = {facts.size}});
  struct closer {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  std::unique_ptr<zip_file_t, closer> const file(zip_fopen_index(archive_.get(), which, 0));
  if (!file) refuse(which, zip_strerror(archive_.get()));
  std::vector<std::byte> bytes(static_cast<std::size_t>(facts.size));
  std::size_t done = 0;
  std::byte beyond{};  // reading past the end makes libzip check the CRC
  while (true) {
    bool const full = done == bytes.size();
    zip_int64_t const got = full ? zip_fread(file.get(), &beyond, 1)
                                 : zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) refuse(which, zip_file_strerror(file.get()));
    if (got == 0 && full) return bytes;
    if (got == 0 || full) refuse(which, "the size differs from the archive's directory");
    done += static_cast<std::size_t>(got);
  }
}

void zip_reader::refuse(std::uint64_t which, char const* reason) const {
  std::string const got = reason;
  char const* const name = zip_get_name(archive_.get(), which, ZIP_FL_ENC_RAW);
  throw data_error({.what = "cannot read the file in the zip archive",
                    .where = {path_, ", ", name != nullptr ? name : "?"},
                    .got = got});
}

void write_zip(std::string const& path, std::string const& folder, std::span<std::string const> names) {
  std::string const temporary = path + ".partial";
  struct remover {
    std::string const& path;
    ~remover() { ::unlink(path.c_str()); }
  } const removed{temporary};
  zip_handle archive = open_zip(temporary, ZIP_CREATE | ZIP_TRUNCATE);
  auto const fail = [&](char const* reason) {
    for (std::string const& name : names)
      io::file_reader(folder + '/' + name);  // throws naming the file if it is the reason
    throw file_error({.what = "cannot write the zip archive", .where = path, .got = reason});
  };
  for (std::string const& name : names) {
    constexpr zip_uint16_t first_day = 1 << 5 | 1;  // of 1980; the real time would change the archive's bytes
    constexpr zip_uint32_t readable_file = 0100644U << 16;
    zip_source_t* const source = zip_source_file(archive.get(), (folder + '/' + name).c_str(), 0, -1);
    zip_int64_t const index =
        source == nullptr ? -1 : zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_GUESS);
    if (index < 0) zip_source_free(source);
    auto const which = static_cast<zip_uint64_t>(index);
    if (index < 0 || zip_set_file_compression(archive.get(), which, ZIP_CM_STORE, 0) != 0
        || zip_file_set_dostime(archive.get(), which, 0, first_day, 0) != 0
        || zip_file_set_external_attributes(archive.get(), which, 0, ZIP_OPSYS_UNIX, readable_file) != 0)
      fail(zip_strerror(archive.get()));
  }
  if (zip_close(archive.get()) != 0) fail(zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // closed by zip_close
  int const file = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  int const synchronised = file < 0 ? -1 : ::fsync(file);
  int const error_number = errno;
  if (file >= 0) ::close(file);
  if (synchronised != 0) refuse_file("cannot write the zip archive to the disk", path, error_number);
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    refuse_file("cannot rename the zip archive", path, errno);
  std::size_t const slash = path.rfind('/');
  synchronise_folder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

}  // namespace cohort::detail
