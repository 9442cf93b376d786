// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/onednn/detail/kernel.hpp>
#include <cohort/onednn/detail/threads.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// oneDNN (3.2 or newer) on the processor, in f32.
///
/// Order     blocked or channels-last activations, as oneDNN's `any` chooses; parameters in forward's layouts.
/// Exact     one binary, instruction set and thread count give one result, bit by bit.
/// Errors    backend_error naming the layer where it has a reference implementation only; reorders and sums of gradients
///           take what there is.
class onednn {
 public:
  using scalar = float;
  using layout = detail::memory_layout;
  using kernel = detail::dnnl_kernel;
  using call = detail::dnnl_call;

  static constexpr std::string_view name = "onednn";
  onednn() : onednn(dnnl_f32) {}

  static availability probe();
  /// Sets OpenMP's count for the calling thread; returns the former one.
  static int threads(int count) { return detail::set_openmp_threads(count); }
  /// What the environment makes this backend do otherwise, for the user to know; or nothing.
  static std::string environment_note() { return detail::affinity_note(); }

  static bool supports(kind const& k);
  bool fuses(kind const& a, kind const& b, bool training) const;
  layout plain(shape const& s) const;
  layout plain(layout const& l) const { return layout::dense(l.dims()); }
  std::size_t bytes(layout const& l) const { return l.bytes(); }
  element_type element(layout const& l) const;
  std::string describe(layout const& l) const { return l.name(); }
  kernel reorder(layout const& from, layout const& to) const;
  kernel accumulate(layout const& l) const;
  static call bind(kernel const& k, std::span<void* const> addresses) { return {k, addresses}; }
  basic_operation<kernel, layout> prepare(basic_request<layout> const& request) const;
  /// Of convolutions without groups and of dense layers.
  std::vector<std::string> candidates(basic_request<layout> const& request) const;
  static std::string describe_machine();

 protected:
  explicit onednn(dnnl_data_type_t type) : on_{detail::make_engine(), type} {}

 private:
  detail::dnnl_target on_;
};

/// The same in mixed precision: activations, their gradients and working copies of weights in bf16.
///
/// Exact     what is learned stays f32: parameters, their gradients, biases, statistics, losses, updaters' state. Convolutions and
///           dense layers sum in f32 and round what they give on; so do pools, activations and norms of what is bf16 already;
///           layers that run by loops of our own, and layer normalisation, work in f32.
/// Errors    not usable without the processor's bf16 instructions, which oneDNN would emulate (probe).
/// Source    Micikevicius et al., Mixed Precision Training, ICLR 2018; Kalamkar et al., A Study of BFLOAT16 for Deep Learning
///           Training, 2019: bf16 needs no scaling of the loss.
class onednn_bf16 : public onednn {
 public:
  static constexpr std::string_view name = "onednn_bf16";
  onednn_bf16() : onednn(dnnl_bf16) {}

  static availability probe();
  bool lies_rounded(layout const& wide, layout const& narrow) const;
  void round(float const* from, std::byte* to, std::size_t first, std::size_t n) const;
};

}  // namespace cohort

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/backend.ipp>
#endif
