// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cohort/error/exceptions.hpp>
#include <cohort/onednn/detail/handle.hpp>
#include <cohort/tensor/shape.hpp>

namespace cohort::detail {

void check_dnnl(dnnl_status_t status, char const* doing) {
  if (status == dnnl_success) return;
  throw backend_error({.what = {"oneDNN failed while ", doing},
                       .expected = "status 0",
                       .got = {"status ", static_cast<int>(status)}});
}

[[gnu::noinline]] shared_object& shared_object::operator=(shared_object other) noexcept {
  held_.swap(other.held_);
  return *this;
}

dnnl_engine_handle make_engine() {
  dnnl_engine_t engine = nullptr;
  check_dnnl(dnnl_engine_create(&engine, dnnl_cpu, 0), "creating the CPU engine");
  return dnnl_engine_handle(engine);
}

std::string implementation_of(const_dnnl_primitive_desc_t pd) {
  char const* name = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  return name;
}

bool is_optimised(dnnl_pd const& pd) {
  if (!pd) return false;
  std::string const name = implementation_of(pd.get());
  return !name.starts_with("ref") && name.find("+ref") == std::string::npos;
}

dnnl_attributes::dnnl_attributes(dnnl_alg_kind_t activation, float alpha, float beta,
                                 const_dnnl_memory_desc_t summand) {
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

memory_layout memory_layout::copy_of(const_dnnl_memory_desc_t md) {
  dnnl_memory_desc_t copy = nullptr;
  check_dnnl(dnnl_memory_desc_clone(&copy, md), "copying a descriptor");
  return memory_layout(copy);
}

memory_layout memory_layout::tagged(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type,
                                    dnnl_format_tag_t tag) {
  dnnl_memory_desc_t md = nullptr;
  dnnl_dims_t extents{};
  std::copy(dims.begin(), dims.end(), extents);
  check_dnnl(dnnl_memory_desc_create_with_tag(&md, static_cast<int>(dims.size()), extents, type, tag),
             "creating a memory descriptor");
  return memory_layout(md);
}

memory_layout memory_layout::dense(std::vector<dnnl_dim_t> const& dims, dnnl_data_type_t type) {
  dnnl_memory_desc_t md = nullptr;
  dnnl_dims_t extents{}, strides{};
  std::copy(dims.begin(), dims.end(), extents);
  dnnl_dim_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) strides[axis] = stride;
  check_dnnl(dnnl_memory_desc_create_with_strides(&md, static_cast<int>(dims.size()), extents, type, strides),
             "creating a memory descriptor");
  return memory_layout(md);
}

bool memory_layout::operator==(memory_layout const& other) const {
  return get() == other.get() || (get() && other.get() && dnnl_memory_desc_equal(get(), other.get()));
}

bool memory_layout::has_same_layout(memory_layout const& other) const {
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

dnnl_data_type_t memory_layout::type() const {
  dnnl_data_type_t found = dnnl_f32;
  if (md_) dnnl_memory_desc_query(md_.get(), dnnl_query_data_type, &found);
  return found;
}

std::string memory_layout::name() const {
  int const axes = rank();
  int blocks = 0;
  dnnl_memory_desc_query(md_.get(), dnnl_query_inner_nblks_s32, &blocks);
  auto const strides = queried(dnnl_query_strides, axes), sizes = queried(dnnl_query_inner_blks, blocks),
             inner = queried(dnnl_query_inner_idxs, blocks);
  std::string letters;  // axes by descending stride; equal strides keep their order
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

int memory_layout::rank() const {
  int axes = 0;
  if (md_) dnnl_memory_desc_query(md_.get(), dnnl_query_ndims_s32, &axes);
  return axes;
}

std::vector<dnnl_dim_t> memory_layout::queried(dnnl_query_t what, int count) const {
  dnnl_dims_t* values = nullptr;
  if (count == 0 || dnnl_memory_desc_query(md_.get(), what, &values) != dnnl_success) return {};
  return {*values, *values + count};
}

}  // namespace cohort::detail
