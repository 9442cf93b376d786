// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/keras/detail/keras_fields.hpp>
#include <cstring>

namespace cohort::detail {

/// Locks HDF5 for this thread and suppresses the error messages that HDF5 prints.
class hdf5_file::scope {
 public:
  scope() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  scope(scope const&) = delete;
  scope& operator=(scope const&) = delete;
  ~scope() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex one;
    return one;
  }
  std::lock_guard<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

namespace hdf5_limits {

inline constexpr std::size_t text_bytes = std::size_t{64} << 20, texts = 100'000, chunks = 10'000;

}  // namespace hdf5_limits

COHORT_KERAS_INLINE void hdf5_file::refuse(std::string const& path, std::string what, std::string expected,
                                           std::string got) const {
  throw data_error({.what = "cannot read the HDF5 file: " + what,
                    .where = path.empty() ? name_ : name_ + ", " + path,
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

COHORT_KERAS_INLINE void hdf5_file::open(hid_t access, std::string const& path) {
  file_ = hdf5_handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  if (!file_) refuse({}, "it is damaged, truncated, or not an HDF5 file");
}

COHORT_KERAS_INLINE hdf5_file::hdf5_file(std::string name, std::string const& path) : name_(std::move(name)) {
  scope const in_hdf5;
  open(H5P_DEFAULT, path);
}

COHORT_KERAS_INLINE hdf5_file::hdf5_file(std::string name, std::span<std::byte const> bytes)
    : name_(std::move(name)) {
  scope const in_hdf5;
  hdf5_handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (bytes.empty() || !access || H5Pset_fapl_core(access.get(), 1 << 20, false) < 0
      || H5Pset_file_image(access.get(), const_cast<std::byte*>(bytes.data()), bytes.size()) < 0)
    refuse({}, "the HDF5 library cannot open it from memory");
  open(access.get(), "model.weights.h5");
}

/// Returns whether each part of the path is a hard link, not a soft or external one.
COHORT_KERAS_INLINE bool hdf5_file::is_inside(std::string const& path) const {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    std::string const part = path.substr(0, end);
    if (part.empty() || part == "/") continue;
    H5L_info_t info{};
    if (H5Lexists(file_.get(), part.c_str(), H5P_DEFAULT) <= 0
        || H5Lget_info(file_.get(), part.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
      return false;
  }
  return true;
}

COHORT_KERAS_INLINE bool hdf5_file::has(std::string const& path) const {
  scope const in_hdf5;
  return is_inside(path);
}

COHORT_KERAS_INLINE std::optional<std::vector<std::string>> hdf5_file::list(
    std::string const& object, std::string const& attribute) const {
  if (!is_inside(object)) refuse(object, "there is no such object in this file");
  hdf5_handle const holder(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT), H5Oclose);
  if (!holder) refuse(object, "the object is damaged");
  if (H5Aexists(holder.get(), attribute.c_str()) <= 0) return {};
  hdf5_handle const from(H5Aopen(holder.get(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
  hdf5_handle const type(from ? H5Aget_type(from.get()) : -1, H5Tclose);
  hdf5_handle const space(from ? H5Aget_space(from.get()) : -1, H5Sclose);
  std::string const where = object + ", attribute " + attribute;
  if (!from || !type || !space) refuse(where, "the attribute is damaged");
  hssize_t const count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || static_cast<std::size_t>(count) > hdf5_limits::texts)
    refuse(where, "the attribute has too many strings", "at most 100000", std::to_string(count));
  std::vector<std::string> made;
  if (count == 0) return made;
  if (H5Tget_class(type.get()) != H5T_STRING) refuse(where, "the attribute is not a string");
  if (H5Tis_variable_str(type.get()) > 0) {
    hdf5_handle const memory(H5Tcopy(H5T_C_S1), H5Tclose);
    std::vector<char*> texts(static_cast<std::size_t>(count), nullptr);
    if (H5Tset_size(memory.get(), H5T_VARIABLE) < 0 || H5Tset_cset(memory.get(), H5Tget_cset(type.get())) < 0
        || H5Aread(from.get(), memory.get(), texts.data()) < 0)
      refuse(where, "the attribute is damaged");
    bool is_too_large = false;
    for (char* const text : texts) {
      std::size_t const size = text ? strnlen(text, hdf5_limits::text_bytes + 1) : 0;
      is_too_large = is_too_large || size > hdf5_limits::text_bytes;
      if (!is_too_large) made.emplace_back(text ? text : "", size);
    }
    H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, texts.data());
    if (is_too_large) refuse(where, "the string is too long", "at most 64 MiB");
    return made;
  }
  std::size_t const size = H5Tget_size(type.get());
  if (size == 0 || size > hdf5_limits::text_bytes / static_cast<std::size_t>(count))
    refuse(where, "the string is too long", "at most 64 MiB", std::to_string(size) + " bytes");
  std::vector<char> texts(size * static_cast<std::size_t>(count));
  if (H5Aread(from.get(), type.get(), texts.data()) < 0) refuse(where, "the attribute is damaged");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    made.emplace_back(texts.data() + i * size, strnlen(texts.data() + i * size, size));
  return made;
}

COHORT_KERAS_INLINE std::optional<std::string> hdf5_file::text(std::string const& object,
                                                               std::string const& attribute) const {
  scope const in_hdf5;
  auto made = list(object, attribute);
  if (!made || made->size() != 1) return {};
  return std::move(made->front());
}

COHORT_KERAS_INLINE std::vector<std::string> hdf5_file::texts(std::string const& object,
                                                              std::string const& attribute) const {
  scope const in_hdf5;
  if (auto made = list(object, attribute)) return std::move(*made);
  std::vector<std::string> all;
  for (std::size_t chunk = 0; chunk < hdf5_limits::chunks; ++chunk) {
    auto const made = list(object, attribute + std::to_string(chunk));
    if (!made) break;
    all.insert(all.end(), made->begin(), made->end());
  }
  return all;
}

COHORT_KERAS_INLINE std::size_t hdf5_file::members(std::string const& group) const {
  scope const in_hdf5;
  if (!is_inside(group)) refuse(group, "there is no such object in this file");
  hdf5_handle const from(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), H5Gclose);
  H5G_info_t info{};
  if (!from || H5Gget_info(from.get(), &info) < 0) refuse(group, "this is not a group");
  return static_cast<std::size_t>(info.nlinks);
}

COHORT_KERAS_INLINE keras_array hdf5_file::read(std::string const& path, std::vector<int> const& dims) const {
  scope const in_hdf5;
  if (!is_inside(path)) refuse(path, "there is no such array in this file");
  hdf5_handle const from(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  hdf5_handle const space(from ? H5Dget_space(from.get()) : -1, H5Sclose);
  hdf5_handle const type(from ? H5Dget_type(from.get()) : -1, H5Tclose);
  hdf5_handle const how(from ? H5Dget_create_plist(from.get()) : -1, H5Pclose);
  if (!from || !space || !type || !how) refuse(path, "this is not an array, or it is damaged");
  int const rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0 || rank > 8)
    refuse(path, "the array has the wrong number of axes", keras_text(dims), std::to_string(rank) + " axes");
  hsize_t extents[8]{};
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extents, nullptr);
  bool is_same = static_cast<std::size_t>(rank) == dims.size();
  std::string got = "(";
  std::size_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    got += (axis > 0 ? ", " : "") + std::to_string(extents[axis]);
    is_same = is_same && extents[axis] == static_cast<hsize_t>(dims[static_cast<std::size_t>(axis)]);
    if (is_same) count *= static_cast<std::size_t>(extents[axis]);
  }
  if (!is_same) refuse(path, "the array's shape differs from the layer's", keras_text(dims), got + ")");
  H5T_class_t const kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) refuse(path, "the array's elements are not numbers");
  H5D_layout_t const layout = H5Pget_layout(how.get());
  if ((layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) || H5Pget_external_count(how.get()) != 0)
    refuse(path, "the array is chunked, compressed or in another file", "contiguous, as Keras writes it");
  std::size_t const bytes = static_cast<std::size_t>(H5Dget_storage_size(from.get()));
  std::size_t const stored = bytes / std::max<std::size_t>(H5Tget_size(type.get()), 1);
  if (stored != count)
    refuse(path, "the array's data is missing or incomplete", std::to_string(count) + " elements",
           std::to_string(stored) + " elements");
  keras_array made{.dims = dims};
  made.values.resize(count);
  if (H5Dread(from.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, made.values.data()) < 0)
    refuse(path, "the array's data is truncated or damaged");
  return made;
}

COHORT_KERAS_INLINE hdf5_weights::hdf5_weights(hdf5_file const& file) : file_(file) {
  if (file.has("layers") || file.has("_layer_checkpoint_dependencies")) {
    has_paths_ = true;
    old_paths_ = !file.has("layers");
    return;
  }
  group_ = file.has("model_weights") ? "model_weights" : "/";
}

COHORT_KERAS_INLINE std::string hdf5_weights::path_of(std::string const& object_path) const {
  if (!old_paths_) return object_path + "/vars";
  std::string made = object_path;
  for (std::size_t at = made.find("layers/"); at != std::string::npos; at = made.find("/layers/", at)) {
    if (made[at] == '/') ++at;
    made.replace(at, 6, "_layer_checkpoint_dependencies");
  }
  return made + "/vars";
}

COHORT_KERAS_INLINE std::optional<std::size_t> hdf5_weights::count_of(std::string const& object_path) const {
  std::string const path = path_of(object_path);
  if (!file_.has(path)) return {};
  return file_.members(path);
}

COHORT_KERAS_INLINE keras_array hdf5_weights::read(std::string const& object_path, std::size_t index,
                                                   std::vector<int> const& dims) const {
  return file_.read(path_of(object_path) + '/' + std::to_string(index), dims);
}

COHORT_KERAS_INLINE std::vector<std::string> hdf5_weights::names_in(std::string const& layer) const {
  std::string const path = group_ == "/" ? layer : group_ + '/' + layer;
  std::vector<std::string> names = file_.texts(path, "weight_names");
  for (std::string& name : names) name = path + '/' + name;
  return names;
}

COHORT_KERAS_INLINE std::size_t hdf5_weights::count_in_group(std::string const& layer) const {
  return names_in(layer).size();
}

COHORT_KERAS_INLINE keras_array hdf5_weights::read_in_group(std::string const& layer, std::size_t number,
                                                            std::vector<int> const& dims) const {
  return file_.read(names_in(layer).at(number), dims);
}

}  // namespace cohort::detail
