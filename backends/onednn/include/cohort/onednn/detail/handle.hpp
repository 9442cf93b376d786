// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <oneapi/dnnl/dnnl.h>
#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The C interface is used because dnnl.hpp costs 0.7 s and 120 MB a translation unit.
void check_dnnl(dnnl_status_t status, char const* doing);

/// Shared ownership of any of oneDNN's objects: one type for all of them, copied and destroyed out of line, so that
/// the many vectors of what holds one stay small.
class shared_object {
 public:
  shared_object() = default;
  [[gnu::noinline]] shared_object(void* object, void (*destroy)(void*)) : held_(object, destroy) {}
  [[gnu::noinline]] shared_object(shared_object const& other) : held_(other.held_) {}
  shared_object(shared_object&& other) noexcept : held_(std::move(other.held_)) {}
  [[gnu::noinline]] shared_object& operator=(shared_object other) noexcept;
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

dnnl_engine_handle make_engine();

/// A primitive descriptor, or nothing where oneDNN has no implementation.
struct dnnl_pd_deleter {
  void operator()(dnnl_primitive_desc_t pd) const { dnnl_primitive_desc_destroy(pd); }
};
using dnnl_pd = std::unique_ptr<dnnl_primitive_desc, dnnl_pd_deleter>;

std::string implementation_of(const_dnnl_primitive_desc_t pd);

/// Exists, and is no reference implementation, nor made of one ("conv:any+ref:any"): those are up to a thousand times
/// slower than the others.
bool is_fit(dnnl_pd const& pd);

/// Attributes: scratchpad from the caller; a sum with a tensor that lies as the output, and an activation behind it, that run
/// inside the kernel, if they are given.
class dnnl_attributes {
 public:
  explicit dnnl_attributes(dnnl_alg_kind_t activation = dnnl_alg_kind_undef, float alpha = 0, float beta = 0,
                           const_dnnl_memory_desc_t summand = nullptr);
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
  static memory_layout copy_of(const_dnnl_memory_desc_t md);
  /// In a format that oneDNN may choose, or in the given one.
  static memory_layout tagged(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type,
                              dnnl_format_tag_t tag = dnnl_format_tag_any);
  /// Dense and row-major.
  static memory_layout dense(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type = dnnl_f32);

  const_dnnl_memory_desc_t get() const { return md_.get(); }
  bool operator==(memory_layout const& other) const;
  /// Whether each element has the same place in both, counted in elements, of whatever type they are.
  bool lies_as(memory_layout const& other) const;
  std::size_t bytes() const { return md_ ? dnnl_memory_desc_get_size(md_.get()) : 0; }

  std::vector<dnnl_dim_t> dims() const { return queried(dnnl_query_dims, rank()); }
  dnnl_data_type_t type() const;
  /// The format as oneDNN writes it: "acdb" is channels last, "aBcd16b" has 16 channels innermost; and bf16, if it is that.
  std::string name() const;

 private:
  int rank() const;
  std::vector<dnnl_dim_t> queried(dnnl_query_t what, int count) const;

  dnnl_shared<dnnl_memory_desc, dnnl_memory_desc_destroy> md_;
};

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/handle.ipp>
#endif
