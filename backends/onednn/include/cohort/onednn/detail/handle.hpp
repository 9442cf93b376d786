// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <oneapi/dnnl/dnnl.h>
#include <cohort/detail/build_check.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Throws backend_error if a oneDNN call failed. Cohort uses oneDNN's C interface, because compiling dnnl.hpp
/// costs 0.7 s and 120 MB per translation unit.
void check_dnnl(dnnl_status_t status, char const* doing);

/// Shared ownership of any oneDNN object. A single type with out-of-line copy and destruction keeps the code
/// for vectors of objects small.
class shared_object {
 public:
  shared_object() = default;
  [[gnu::noinline]] shared_object(void* object, void (*destroy)(void*)) : held_(object, destroy) {}
  [[gnu::noinline]] shared_object(shared_object const& other) : held_(other.held_) {}
  shared_object(shared_object&& other) noexcept : held_(std::move(other.held_)) {}
  shared_object& operator=(shared_object other) noexcept;
  [[gnu::noinline]] ~shared_object() {}
  void* get() const { return held_.get(); }

 private:
  std::shared_ptr<void> held_;
};

/// A typed shared_object.
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

/// Engine that runs the kernels, and the element type that layers with weights use for inputs, outputs and
/// weights.
struct dnnl_target {
  dnnl_engine_handle engine;
  dnnl_data_type_t type = dnnl_f32;
};

/// Creates an engine on the processor.
dnnl_engine_handle make_engine();

/// Deleter of dnnl_pd, which owns a primitive descriptor; null if oneDNN has no implementation.
struct dnnl_pd_deleter {
  void operator()(dnnl_primitive_desc_t pd) const { dnnl_primitive_desc_destroy(pd); }
};
using dnnl_pd = std::unique_ptr<dnnl_primitive_desc, dnnl_pd_deleter>;

/// Returns oneDNN's name of the descriptor's implementation.
std::string implementation_of(const_dnnl_primitive_desc_t pd);

/// Returns whether the descriptor exists and its implementation neither is a reference implementation nor
/// contains one ("conv:any+ref:any"). Reference implementations are up to a thousand times slower.
bool is_optimised(dnnl_pd const& pd);

/// Primitive attributes: a scratchpad provided by the caller, and optional post-ops. Post-ops run inside the
/// kernel: first a sum with `summand`, a tensor in the output's layout, then an activation.
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

/// Value type for oneDNN's memory descriptor: extents, element type and layout. A default-constructed object
/// is empty.
class memory_layout {
 public:
  memory_layout() = default;
  /// Takes ownership of the descriptor.
  explicit memory_layout(dnnl_memory_desc_t owned) : md_(owned) {}
  static memory_layout copy_of(const_dnnl_memory_desc_t md);
  /// Returns a layout of the given format; by default `any`, which lets oneDNN choose.
  static memory_layout tagged(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type,
                              dnnl_format_tag_t tag = dnnl_format_tag_any);
  /// Returns a dense row-major layout.
  static memory_layout dense(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type = dnnl_f32);

  const_dnnl_memory_desc_t get() const { return md_.get(); }
  bool operator==(memory_layout const& other) const;
  /// Returns whether each element has the same offset, counted in elements, in both layouts. The element
  /// types may differ.
  bool has_same_layout(memory_layout const& other) const;
  std::size_t bytes() const { return md_ ? dnnl_memory_desc_get_size(md_.get()) : 0; }

  std::vector<dnnl_dim_t> dims() const { return queried(dnnl_query_dims, rank()); }
  dnnl_data_type_t type() const;
  /// Returns the format in oneDNN's notation, followed by " bf16" for bf16: "acdb" is channels last,
  /// "aBcd16b" has 16 channels innermost.
  std::string name() const;

 private:
  int rank() const;
  std::vector<dnnl_dim_t> queried(dnnl_query_t what, int count) const;

  dnnl_shared<dnnl_memory_desc, dnnl_memory_desc_destroy> md_;
};

}  // namespace cohort::detail
