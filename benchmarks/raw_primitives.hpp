// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace benchmarks {

/// One oneDNN primitive with its own memory.
struct raw_primitive {
  std::string name;
  std::string implementation;
  int layer = 0;
  bool backward = false;
  std::shared_ptr<dnnl_primitive> primitive;
  std::shared_ptr<dnnl_stream> stream;
  std::vector<dnnl_exec_arg_t> arguments;

  void operator()() const {
    if (dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()),
                               arguments.data())
        != dnnl_success)
      std::abort();
  }
};

/// oneDNN's primitives for a training step of a chain of layers, without a framework. Their time is a lower
/// bound of a step's time.
///
/// Every primitive has separate memory, in the formats that `any` selects (pools and activations: the format
/// of the preceding layer), so no reorders are included. The work equals that of Cohort's plans: no data
/// gradient of the first layer, activations fused into dense layers or placed after pools, and the gradient
/// of an activation as a separate in-place pass.
///
/// Before    OpenMP's number of threads is set for the calling thread.
class raw_chain {
 public:
  raw_chain(int batch, std::vector<dnnl_dim_t> const& example) : dims_{batch} {
    dims_.insert(dims_.end(), example.begin(), example.end());
    dnnl_engine_t engine = nullptr;
    require(dnnl_engine_create(&engine, dnnl_cpu, 0));
    engine_ = {engine, dnnl_engine_destroy};
    dnnl_stream_t stream = nullptr;
    require(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    stream_ = {stream, dnnl_stream_destroy};
  }

  /// A convolution without padding, with bias.
  void conv2d(dnnl_dim_t filters, dnnl_dim_t kernel, dnnl_dim_t stride) {
    std::vector<dnnl_dim_t> const dst{dims_[0], filters, (dims_[2] - kernel) / stride + 1,
                                      (dims_[3] - kernel) / stride + 1};
    auto const src_md = any(dims_), dst_md = any(dst), bias_md = any({filters});
    auto const weights_md = any({filters, dims_[1], kernel, kernel});
    dnnl_dims_t const strides{stride, stride}, none{0, 0};
    auto const forward = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_convolution_forward_primitive_desc_create(
          pd, engine_.get(), dnnl_forward_training, dnnl_convolution_direct, src_md.get(), weights_md.get(),
          bias_md.get(), dst_md.get(), strides, none, none, none, nullptr);
    });
    auto const name = next_name("conv2d");
    add(name + " forward", forward, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST});
    add(name + " backward weights", described([&](dnnl_primitive_desc_t* pd) {
          return dnnl_convolution_backward_weights_primitive_desc_create(
              pd, engine_.get(), dnnl_convolution_direct, src_md.get(), weights_md.get(), bias_md.get(),
              dst_md.get(), strides, none, none, none, forward.get(), nullptr);
        }),
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS});
    if (format_)
      add(name + " backward data", described([&](dnnl_primitive_desc_t* pd) {
            return dnnl_convolution_backward_data_primitive_desc_create(
                pd, engine_.get(), dnnl_convolution_direct, src_md.get(), weights_md.get(), dst_md.get(),
                strides, none, none, none, forward.get(), nullptr);
          }),
          {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
    advance(dst, forward);
  }

  void max_pool(dnnl_dim_t window) {
    std::vector<dnnl_dim_t> const dst{dims_[0], dims_[1], dims_[2] / window, dims_[3] / window};
    auto const dst_md = any(dst);
    dnnl_dims_t const size{window, window}, none{0, 0};
    auto const forward = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_pooling_forward_primitive_desc_create(pd, engine_.get(), dnnl_forward_training,
                                                        dnnl_pooling_max, format_.get(), dst_md.get(), size,
                                                        size, none, none, none, nullptr);
    });
    auto const name = next_name("max_pool");
    dnnl_memory_t const workspace =
        add(name + " forward", forward, {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WORKSPACE});
    primitives_.back()();  // backward reads the indices that forward stored in the workspace
    auto const backward = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_pooling_backward_primitive_desc_create(pd, engine_.get(), dnnl_pooling_max, format_.get(),
                                                         queried(forward, DNNL_ARG_DST), size, size, none,
                                                         none, none, forward.get(), nullptr);
    });
    add(name + " backward", backward, {DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC});
    primitives_.back().arguments.push_back({DNNL_ARG_WORKSPACE, workspace});
    advance(dst, forward);
  }

  /// A separate activation, both passes in place; slope 0 is relu.
  void rectifier(float slope) {
    auto const forward = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_eltwise_forward_primitive_desc_create(pd, engine_.get(), dnnl_forward_training,
                                                        dnnl_eltwise_relu, format_.get(), format_.get(),
                                                        slope, 0, nullptr);
    });
    auto const name = next_name("rectifier");
    dnnl_memory_t const place = add(name + " forward", forward, {DNNL_ARG_SRC});
    primitives_.back().arguments.push_back({DNNL_ARG_DST, place});
    add_rectifier_backward(name, format_, slope);
  }

  /// A dense layer with bias, and a fused activation if slope ≥ 0 (0 is relu).
  void dense(dnnl_dim_t units, float slope) {
    std::vector<dnnl_dim_t> const dst{dims_[0], units};
    auto const src_md = any(dims_), dst_md = any(dst), bias_md = any({units});
    std::vector<dnnl_dim_t> weights = dims_;
    weights[0] = units;
    auto const weights_md = any(weights);
    auto const fused = activation(slope);
    auto const forward = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_inner_product_forward_primitive_desc_create(pd, engine_.get(), dnnl_forward_training,
                                                              src_md.get(), weights_md.get(), bias_md.get(),
                                                              dst_md.get(), fused.get());
    });
    auto const name = next_name("dense");
    add(name + " forward", forward, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST});
    if (slope >= 0) add_rectifier_backward(name, copied(queried(forward, DNNL_ARG_DST)), slope);
    add(name + " backward weights", described([&](dnnl_primitive_desc_t* pd) {
          return dnnl_inner_product_backward_weights_primitive_desc_create(
              pd, engine_.get(), src_md.get(), weights_md.get(), bias_md.get(), dst_md.get(), forward.get(),
              nullptr);
        }),
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS});
    if (format_)
      add(name + " backward data", described([&](dnnl_primitive_desc_t* pd) {
            return dnnl_inner_product_backward_data_primitive_desc_create(
                pd, engine_.get(), src_md.get(), weights_md.get(), dst_md.get(), forward.get(), nullptr);
          }),
          {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
    advance(dst, forward);
  }

  /// The primitives in the order of a step: all forward passes, then the backward passes from the last layer.
  std::vector<raw_primitive> primitives() const {
    std::vector<raw_primitive> ordered = primitives_;
    std::stable_sort(ordered.begin(), ordered.end(), [](raw_primitive const& a, raw_primitive const& b) {
      if (a.backward != b.backward) return b.backward;
      return a.backward && a.layer > b.layer;
    });
    return ordered;
  }

 private:
  using format = std::shared_ptr<dnnl_memory_desc>;
  using description = std::shared_ptr<dnnl_primitive_desc>;

  static void require(dnnl_status_t status) {
    if (status == dnnl_success) return;
    std::fprintf(stderr, "oneDNN cannot create a primitive: status %d\n", static_cast<int>(status));
    std::exit(1);
  }
  static format any(std::vector<dnnl_dim_t> const& dims) {
    dnnl_memory_desc_t md = nullptr;
    auto const tag = dims.size() == 1 ? dnnl_a : dnnl_format_tag_any;
    require(dnnl_memory_desc_create_with_tag(&md, static_cast<int>(dims.size()), dims.data(), dnnl_f32, tag));
    return {md, dnnl_memory_desc_destroy};
  }
  static format copied(const_dnnl_memory_desc_t from) {
    dnnl_memory_desc_t md = nullptr;
    require(dnnl_memory_desc_clone(&md, from));
    return {md, dnnl_memory_desc_destroy};
  }
  static std::shared_ptr<dnnl_primitive_attr> activation(float slope) {
    if (slope < 0) return nullptr;
    dnnl_primitive_attr_t made = nullptr;
    dnnl_post_ops_t ops = nullptr;
    require(dnnl_primitive_attr_create(&made));
    require(dnnl_post_ops_create(&ops));
    require(dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, slope, 0));
    require(dnnl_primitive_attr_set_post_ops(made, ops));
    dnnl_post_ops_destroy(ops);
    return {made, dnnl_primitive_attr_destroy};
  }
  template <class Create>
  static description described(Create create) {
    dnnl_primitive_desc_t pd = nullptr;
    require(create(&pd));
    return {pd, dnnl_primitive_desc_destroy};
  }
  static const_dnnl_memory_desc_t queried(description const& pd, int argument) {
    return dnnl_primitive_desc_query_md(pd.get(), dnnl_query_exec_arg_md, argument);
  }

  std::string next_name(std::string const& kind) {
    ++layer_;
    return kind + '_' + std::to_string(++count_[kind]);
  }

  void advance(std::vector<dnnl_dim_t> const& dims, description const& forward) {
    dims_ = dims;
    format_ = copied(queried(forward, DNNL_ARG_DST));
  }

  /// Memory aligned to 64 bytes, filled with positive numbers. Repeated in-place activations do not change
  /// positive numbers; denormal numbers would make the kernels slower.
  dnnl_memory_t new_memory(const_dnnl_memory_desc_t md) {
    constexpr std::size_t alignment = 64;
    std::size_t const bytes = (dnnl_memory_desc_get_size(md) + alignment - 1) / alignment * alignment;
    auto* const values = static_cast<float*>(std::aligned_alloc(alignment, bytes));
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
      state = state * 1664525 + 1013904223;
      values[i] = static_cast<float>(state >> 16 | 1) / 65536;
    }
    owned_.emplace_back(values, std::free);
    dnnl_memory_t memory = nullptr;
    require(dnnl_memory_create(&memory, md, engine_.get(), values));
    owned_.emplace_back(memory, [](void* m) { dnnl_memory_destroy(static_cast<dnnl_memory_t>(m)); });
    return memory;
  }

  /// Returns the memory of the last argument.
  dnnl_memory_t add(std::string name, description const& pd, std::vector<int> const& arguments) {
    raw_primitive made;
    made.name = std::move(name);
    made.layer = layer_;
    made.backward = made.name.find(" backward") != std::string::npos;
    char const* implementation = "";
    dnnl_primitive_desc_query(pd.get(), dnnl_query_impl_info_str, 0, &implementation);
    made.implementation = implementation;
    dnnl_primitive_t primitive = nullptr;
    require(dnnl_primitive_create(&primitive, pd.get()));
    made.primitive = {primitive, dnnl_primitive_destroy};
    made.stream = stream_;
    for (int argument : arguments) made.arguments.push_back({argument, new_memory(queried(pd, argument))});
    primitives_.push_back(std::move(made));
    return primitives_.back().arguments.back().memory;
  }

  void add_rectifier_backward(std::string const& name, format const& layout, float slope) {
    auto const hint = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_eltwise_forward_primitive_desc_create(pd, engine_.get(), dnnl_forward_training,
                                                        dnnl_eltwise_relu_use_dst_for_bwd, layout.get(),
                                                        layout.get(), slope, 0, nullptr);
    });
    auto const backward = described([&](dnnl_primitive_desc_t* pd) {
      return dnnl_eltwise_backward_primitive_desc_create(pd, engine_.get(), dnnl_eltwise_relu_use_dst_for_bwd,
                                                         layout.get(), layout.get(), layout.get(), slope, 0,
                                                         hint.get(), nullptr);
    });
    dnnl_memory_t const gradient =
        add(name + " backward activation", backward, {DNNL_ARG_DST, DNNL_ARG_DIFF_DST});
    primitives_.back().arguments.push_back({DNNL_ARG_DIFF_SRC, gradient});
  }

  std::shared_ptr<dnnl_engine> engine_;
  std::shared_ptr<dnnl_stream> stream_;
  std::vector<dnnl_dim_t> dims_;
  format format_;  ///< format of the previous layer; null: the batch, which needs no gradient
  std::map<std::string, int> count_;
  int layer_ = 0;
  std::vector<std::shared_ptr<void>> owned_;
  std::vector<raw_primitive> primitives_;
};

}  // namespace benchmarks
