// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <oneapi/dnnl/dnnl.h>
#include <algorithm>
#include <cctype>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/shape.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The C interface is used because dnnl.hpp costs 0.7 s and 120 MB a translation unit.
inline void check_dnnl(dnnl_status_t status, char const* doing) {
  if (status == dnnl_success) return;
  throw backend_error({.what = {"oneDNN failed while ", doing},
                       .expected = "status 0",
                       .got = {"status ", static_cast<int>(status)}});
}

/// Shared ownership of any of oneDNN's objects: one type for all of them, copied and destroyed out of line, so that
/// the many vectors of what holds one stay small.
class shared_object {
 public:
  shared_object() = default;
  [[gnu::noinline]] shared_object(void* object, void (*destroy)(void*)) : held_(object, destroy) {}
  [[gnu::noinline]] shared_object(shared_object const& other) : held_(other.held_) {}
  shared_object(shared_object&& other) noexcept : held_(std::move(other.held_)) {}
  [[gnu::noinline]] shared_object& operator=(shared_object other) noexcept {
    held_.swap(other.held_);
    return *this;
  }
  [[gnu::noinline]] ~shared_object() {}
  void* get() const { return held_.get(); }

 private:
  std::shared_ptr<void> held_;
};

/// The same with the object's type.
template <class T, dnnl_status_t (*Destroy)(T*)>
class dnnl_shared : shared_object {
 public:
  dnnl_shared() = default;
  explicit dnnl_shared(T* owned)
      : shared_object(owned, [](void* object) { Destroy(static_cast<T*>(object)); }) {}
  T* get() const { return static_cast<T*>(shared_object::get()); }
  explicit operator bool() const { return get() != nullptr; }
};

using dnnl_engine_handle = dnnl_shared<dnnl_engine, dnnl_engine_destroy>;

/// Where kernels run, and the type that layers with weights compute with: of their inputs, outputs and weights.
struct dnnl_target {
  dnnl_engine_handle engine;
  dnnl_data_type_t type = dnnl_f32;
};

inline dnnl_engine_handle make_engine() {
  dnnl_engine_t engine = nullptr;
  check_dnnl(dnnl_engine_create(&engine, dnnl_cpu, 0), "opening the processor");
  return dnnl_engine_handle(engine);
}

/// A primitive descriptor, or nothing where oneDNN has no implementation.
struct dnnl_pd_deleter {
  void operator()(dnnl_primitive_desc_t pd) const { dnnl_primitive_desc_destroy(pd); }
};
using dnnl_pd = std::unique_ptr<dnnl_primitive_desc, dnnl_pd_deleter>;

inline std::string implementation_of(const_dnnl_primitive_desc_t pd) {
  char const* name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  return name;
}

/// Exists, and is no reference implementation, nor made of one ("conv:any+ref:any"): those are up to a thousand times
/// slower than the others.
inline bool is_fit(dnnl_pd const& pd) {
  if (!pd) return false;
  std::string const name = implementation_of(pd.get());
  return !name.starts_with("ref") && name.find("+ref") == std::string::npos;
}

/// Attributes: scratchpad from the caller; a sum with a tensor that lies as the output, and an activation behind it, that run
/// inside the kernel, if they are given.
class dnnl_attributes {
 public:
  explicit dnnl_attributes(dnnl_alg_kind_t activation = dnnl_alg_kind_undef, float alpha = 0, float beta = 0,
                           const_dnnl_memory_desc_t summand = nullptr) {
    check_dnnl(dnnl_primitive_attr_create(&attributes_), "making attributes");
    check_dnnl(dnnl_primitive_attr_set_scratchpad_mode(attributes_, dnnl_scratchpad_mode_user),
               "setting attributes");
    if (activation == dnnl_alg_kind_undef && !summand) return;
    dnnl_post_ops_t ops = nullptr;
    check_dnnl(dnnl_post_ops_create(&ops), "making post-ops");
    if (summand) dnnl_post_ops_append_binary(ops, dnnl_binary_add, summand);
    if (activation != dnnl_alg_kind_undef) dnnl_post_ops_append_eltwise(ops, activation, alpha, beta);
    dnnl_primitive_attr_set_post_ops(attributes_, ops);
    dnnl_post_ops_destroy(ops);
  }
  ~dnnl_attributes() { dnnl_primitive_attr_destroy(attributes_); }
  dnnl_attributes(dnnl_attributes const&) = delete;
  dnnl_attributes& operator=(dnnl_attributes const&) = delete;
  dnnl_primitive_attr_t get() const { return attributes_; }

 private:
  dnnl_primitive_attr_t attributes_ = nullptr;
};

/// oneDNN's memory descriptor as a regular value: extents, element type and layout; empty at first.
class memory_layout {
 public:
  memory_layout() = default;
  /// Takes the descriptor over.
  explicit memory_layout(dnnl_memory_desc_t owned) : md_(owned) {}
  static memory_layout copy_of(const_dnnl_memory_desc_t md) {
    dnnl_memory_desc_t copy = nullptr;
    check_dnnl(dnnl_memory_desc_clone(&copy, md), "copying a descriptor");
    return memory_layout(copy);
  }
  /// In a format that oneDNN may choose, or in the given one.
  static memory_layout tagged(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type,
                              dnnl_format_tag_t tag = dnnl_format_tag_any) {
    dnnl_memory_desc_t md = nullptr;
    dnnl_dims_t extents{};
    std::copy(dims.begin(), dims.end(), extents);
    check_dnnl(dnnl_memory_desc_create_with_tag(&md, static_cast<int>(dims.size()), extents, type, tag),
               "describing memory");
    return memory_layout(md);
  }
  /// Dense and row-major.
  static memory_layout dense(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type = dnnl_f32) {
    dnnl_memory_desc_t md = nullptr;
    dnnl_dims_t extents{}, strides{};
    std::copy(dims.begin(), dims.end(), extents);
    dnnl_dim_t stride = 1;
    for (std::size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) strides[axis] = stride;
    check_dnnl(
        dnnl_memory_desc_create_with_strides(&md, static_cast<int>(dims.size()), extents, type, strides),
        "describing memory");
    return memory_layout(md);
  }

  const_dnnl_memory_desc_t get() const { return md_.get(); }
  bool operator==(memory_layout const& other) const {
    return get() == other.get() || (get() && other.get() && dnnl_memory_desc_equal(get(), other.get()));
  }
  /// Whether each element has the same place in both, counted in elements, of whatever type they are.
  bool lies_as(memory_layout const& other) const {
    int const axes = rank();
    auto const same = [&](dnnl_query_t what, int count) {
      return queried(what, count) == other.queried(what, count);
    };
    int blocks = 0, others = 0;
    dnnl_memory_desc_query(get(), dnnl_query_inner_nblks_s32, &blocks);
    dnnl_memory_desc_query(other.get(), dnnl_query_inner_nblks_s32, &others);
    return axes == other.rank() && blocks == others && same(dnnl_query_dims, axes)
           && same(dnnl_query_padded_dims, axes) && same(dnnl_query_strides, axes)
           && same(dnnl_query_inner_blks, blocks) && same(dnnl_query_inner_idxs, blocks);
  }
  std::size_t bytes() const { return md_ ? dnnl_memory_desc_get_size(md_.get()) : 0; }

  std::vector<dnnl_dim_t> dims() const { return queried(dnnl_query_dims, rank()); }
  dnnl_data_type_t type() const {
    dnnl_data_type_t found = dnnl_f32;
    if (md_) dnnl_memory_desc_query(md_.get(), dnnl_query_data_type, &found);
    return found;
  }
  /// The format as oneDNN writes it: "acdb" is channels last, "aBcd16b" has 16 channels innermost; and bf16, if it is that.
  std::string name() const {
    int const axes = rank();
    int blocks = 0;
    dnnl_memory_desc_query(md_.get(), dnnl_query_inner_nblks_s32, &blocks);
    auto const strides = queried(dnnl_query_strides, axes), sizes = queried(dnnl_query_inner_blks, blocks),
               inner = queried(dnnl_query_inner_idxs, blocks);
    std::string letters;  // outermost axis first: by falling stride, equals in their order
    for (int axis = 0; axis < axes; ++axis) {
      std::size_t at = letters.size();
      while (at > 0
             && strides[static_cast<std::size_t>(letters[at - 1] - 'a')]
                    < strides[static_cast<std::size_t>(axis)])
        --at;
      letters.insert(at, 1, static_cast<char>('a' + axis));
    }
    std::string tail;
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      char const letter = static_cast<char>('a' + inner[b]);
      tail += std::to_string(sizes[b]) + letter;
      for (char& c : letters)
        if (c == letter) c = static_cast<char>(std::toupper(c));
    }
    return letters + tail + (type() == dnnl_bf16 ? " bf16" : "");
  }

 private:
  int rank() const {
    int axes = 0;
    if (md_) dnnl_memory_desc_query(md_.get(), dnnl_query_ndims_s32, &axes);
    return axes;
  }
  std::vector<dnnl_dim_t> queried(dnnl_query_t what, int count) const {
    dnnl_dims_t* values = nullptr;
    if (count == 0 || dnnl_memory_desc_query(md_.get(), what, &values) != dnnl_success) return {};
    return {*values, *values + count};
  }

  dnnl_shared<dnnl_memory_desc, dnnl_memory_desc_destroy> md_;
};

}  // namespace cohort::detail
