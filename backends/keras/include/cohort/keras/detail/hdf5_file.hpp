// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/keras/detail/keras_weights.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Element type of an array or an attribute.
struct hdf5_type {
  enum class kind : unsigned char { floating, integer, text, texts_in_heap, other };
  kind is = kind::other;
  bool is_signed = false;
  std::size_t bytes = 0;  // size of an element
};

/// Location and layout of an array.
struct hdf5_array {
  hdf5_type type{};
  std::vector<std::uint64_t> extents{};
  std::uint64_t first = 0;  // offset of the data in the file; for chunks: offset of the root of their tree
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> chunk{};     // extents of each chunk; empty: the data are contiguous
  std::vector<std::uint64_t> filters{};   // of the chunks, in the order in which they were applied
  std::optional<std::uint64_t> fill = 0;  // bytes of the elements of unwritten chunks; nullopt: undefined
};

/// A chunk of an array: its stored bytes, and the filters that were applied to it.
struct hdf5_chunk {
  std::uint64_t first = 0;  // offset in the file
  std::uint64_t bytes = 0;  // 0: the chunk was never written
  bool is_shuffled = false;
  bool is_deflated = false;
  bool is_lzf = false;
  bool has_fletcher32 = false;
};

/// Advice at the end of error messages: `save` for a file that cannot be read, `complete` for a missing
/// object.
struct hdf5_remedies {
  std::string_view save = "save the model again with Keras, or as a .keras file";
  std::string_view complete =
      "save the model again, or pass a file of weights that belongs to the configuration";
};

/// An HDF5 file in h5py's default format: superblock version 0, object headers version 1, groups with symbol
/// tables, and arrays inside the file that are contiguous, or in chunks with the filters shuffle, deflate or
/// lzf, and fletcher32.
///
/// Order     one thread at a time.
/// Errors    data_error naming the file, the path or byte, and the remedy. It is thrown if the file is
///           damaged, or if an object is missing, is a soft or external link, or has another storage format.
///           file_error if the file cannot be read.
/// Cost      never holds the whole file in memory. All reads together are bounded by 32 times the file's size
///           + 64 MiB, so a damaged file is read in bounded time.
/// Source    HDF5 File Format Specification, version 3.0.
class hdf5_file {
 public:
  /// Opens a file on disk or in memory; the memory outlives this object. `name`: file name in errors.
  hdf5_file(std::string name, std::string const& path, hdf5_remedies remedies = {});
  hdf5_file(std::string name, std::span<std::byte const> bytes);
  hdf5_file(hdf5_file const&) = delete;
  hdf5_file& operator=(hdf5_file const&) = delete;

  std::string const& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Returns whether all parts of the path are objects of this file.
  bool has(std::string const& path) const { return find(path).has_value(); }
  /// Returns an attribute that is one string; nullopt if the object has no such attribute.
  std::optional<std::string> text(std::string const& object, std::string const& attribute) const;
  /// Returns an attribute that is a list of strings, also if it is split into name0, name1, ….
  std::vector<std::string> texts(std::string const& object, std::string const& attribute) const;
  /// Returns the number of members of a group.
  std::size_t members(std::string const& group) const;
  /// Returns the location and layout of an array.
  hdf5_array array(std::string const& path) const;
  /// Returns all chunks of an array in row-major order. The contents of written chunks are not larger than
  /// 1,032 times the stored bytes, the most that deflate compresses. At most 1,000,000 chunks more than the
  /// file can contain are unwritten.
  std::vector<hdf5_chunk> chunks(std::string const& path, hdf5_array const& of) const;
  /// Reads an array that is not in chunks, and whose extents must be `dims`.
  keras_array read(std::string const& path, std::vector<int> const& dims) const;

 private:
  class block;
  struct message {
    int type;
    bool is_shared;
    std::uint64_t at;  // position of the body in the file
    std::string body;
  };
  using messages = std::vector<message>;
  using group = std::map<std::string, std::uint64_t, std::less<>>;  // address of each member

  void open();
  void spend(std::uint64_t at, std::size_t bytes) const;
  void read_into(void* to, std::uint64_t at, std::size_t bytes) const;
  block part(std::uint64_t at, std::uint64_t bytes) const;
  messages object_at(std::uint64_t address) const;
  group const* group_at(std::uint64_t address) const;
  template <class Visit>
  void for_each_entry(std::uint64_t tree, std::uint64_t wanted, std::size_t entry_bytes, Visit visit) const;
  void read_chunks_layout(block& from, std::string const& path, hdf5_array& to) const;
  std::vector<std::uint64_t> filters_of(message const& from, std::string const& path) const;
  std::optional<std::uint64_t> fill_of(message const& from, std::string const& path,
                                       hdf5_type const& type) const;
  void add_members(std::uint64_t tree, std::string const& names, group& to) const;
  std::optional<std::uint64_t> find(std::string const& path) const;
  std::uint64_t required(std::string const& path, char const* what) const;
  std::optional<std::vector<std::string>> list(std::string const& object, std::string const& attribute) const;
  std::string heap_text(std::uint64_t heap, std::uint64_t index, std::uint64_t bytes,
                        std::string const& where) const;
  /// Throws data_error naming an object.
  [[noreturn]] void refuse(std::string const& path, std::string what, std::string expected, std::string got,
                           std::string_view remedy) const;
  /// Throws data_error naming a damaged byte of the file.
  [[noreturn]] void refuse_at(std::uint64_t at, std::string what, std::string expected,
                              std::string got) const;
  static hdf5_type type_of(block& from);
  static std::vector<std::uint64_t> extents_of(block& from);

  std::string name_;
  hdf5_remedies remedies_{};
  std::span<std::byte const> bytes_{};
  std::unique_ptr<regular_file const> file_;  // null: the file is in memory
  std::uint64_t size_ = 0;
  std::uint64_t root_ = 0;
  mutable std::uint64_t spent_ = 0;  // bytes read so far
  mutable std::map<std::uint64_t, group> groups_{};
};

/// Weights in an HDF5 file, in one of Keras' two layouts.
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
  std::vector<std::string> const& names_in(std::string const& layer) const;

  hdf5_file const& file_;
  bool has_paths_ = false;
  bool old_paths_ = false;  // object paths as in TensorFlow 2.12
  std::string group_{};
  mutable std::map<std::string, std::vector<std::string>, std::less<>> names_{};
};

}  // namespace cohort::detail
