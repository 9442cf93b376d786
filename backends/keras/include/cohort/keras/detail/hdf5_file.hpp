// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hdf5.h>
#include <cohort/detail/build_check.hpp>
#include <cohort/keras/detail/keras_weights.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// An identifier of the HDF5 library, closed by the destructor.
class hdf5_handle {
 public:
  hdf5_handle() = default;
  hdf5_handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  hdf5_handle(hdf5_handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  hdf5_handle& operator=(hdf5_handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~hdf5_handle() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// An HDF5 file with arrays as Keras writes them: contiguous, uncompressed, inside the file.
///
/// Order     thread-safe: a lock of the process admits one thread to the HDF5 library.
/// Errors    data_error naming the file or the path: the file is damaged, or an object is missing, is a soft
///           or external link, or is stored in another way.
class hdf5_file {
 public:
  /// Opens a file, or a file in memory.
  hdf5_file(std::string name, std::string const& path);
  hdf5_file(std::string name, std::span<std::byte const> bytes);

  std::string const& name() const { return name_; }
  /// Returns whether all parts of the path are objects of this file.
  bool has(std::string const& path) const;
  /// Returns an attribute that is one string; nullopt if the object has no such attribute.
  std::optional<std::string> text(std::string const& object, std::string const& attribute) const;
  /// Returns an attribute that is a list of strings, also if it is split into name0, name1, ….
  std::vector<std::string> texts(std::string const& object, std::string const& attribute) const;
  /// Returns the number of members of a group.
  std::size_t members(std::string const& group) const;
  /// Reads an array, whose extents must be `dims`.
  keras_array read(std::string const& path, std::vector<int> const& dims) const;

 private:
  class scope;
  void open(hid_t access, std::string const& path);
  bool is_inside(std::string const& path) const;
  std::optional<std::vector<std::string>> list(std::string const& object, std::string const& attribute) const;
  [[noreturn]] void refuse(std::string const& path, std::string what, std::string expected = {},
                           std::string got = {}) const;

  std::string name_;
  hdf5_handle file_{};
};

/// The arrays of an HDF5 file in one of Keras' two layouts.
class hdf5_weights : public keras_weight_source {
 public:
  explicit hdf5_weights(hdf5_file const& file);

  bool has_paths() const override { return has_paths_; }
  std::optional<std::size_t> count_of(std::string const& object_path) const override;
  keras_array read(std::string const& object_path, std::size_t index,
                   std::vector<int> const& dims) const override;
  std::size_t count_in_group(std::string const& layer) const override;
  keras_array read_in_group(std::string const& layer, std::size_t number,
                            std::vector<int> const& dims) const override;
  std::string const& name() const override { return file_.name(); }

 private:
  std::string path_of(std::string const& object_path) const;
  std::vector<std::string> names_in(std::string const& layer) const;

  hdf5_file const& file_;
  bool has_paths_ = false;
  bool old_paths_ = false;  // of TensorFlow 2.12
  std::string group_{};
};

}  // namespace cohort::detail

#ifndef COHORT_KERAS_COMPILED
#include <cohort/keras/impl/hdf5_file.ipp>
#endif
