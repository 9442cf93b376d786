// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/onednn/detail/implementation.hpp>
#include <cohort/onednn/detail/kernel.hpp>
#include <cohort/onednn/detail/threads.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// oneDNN (3.2 or newer) on the processor, in f32.
///
/// Shapes    activations are blocked, channels last or dense: a fixed rule or oneDNN's `any` selects the
///           layout. In f32, parameters are stored in the layouts that forward uses.
/// Exact     the same binary, instruction set and thread count give bitwise equal results.
/// Errors    backend_error naming the layer if oneDNN has only a reference implementation for it. Reorders
///           and gradient sums accept reference implementations.
class onednn {
 public:
  using scalar = float;
  using layout = detail::memory_layout;
  using kernel = detail::dnnl_kernel;
  using call = detail::dnnl_call;

  static constexpr std::string_view name = "onednn";
  onednn() : onednn(dnnl_f32) {}

  /// Checks the version of oneDNN and runs a small convolution.
  static availability probe();
  /// Sets OpenMP's number of threads for the calling thread. Returns the previous number.
  static int threads(int count) { return detail::set_openmp_threads(count); }
  /// Returns a note for the user if the environment changes the behaviour of this backend, otherwise an empty
  /// text.
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
  /// Returns the names of the layout_candidates to time; none unless the layer is a dense layer or a
  /// convolution without groups.
  std::vector<std::string> candidates(basic_request<layout> const& request) const;
  /// Returns arena passes that run on the OpenMP threads of the calling thread.
  static std::shared_ptr<arena_passes> passes();
  /// Returns a text with all properties of the machine, except the processor, on which timings depend: oneDNN
  /// version, instruction set and number of threads.
  static std::string describe_machine();

 protected:
  explicit onednn(dnnl_data_type_t type) : on_{detail::make_engine(), type} {}

 private:
  detail::dnnl_target on_;
};

/// oneDNN in mixed precision: activations, their gradients and working copies of weights are bf16.
///
/// Exact     parameters, their gradients, biases, statistics, losses and the optimizer's state stay f32.
/// Convolutions and dense layers accumulate in f32 and round their results; so do pools, activations and
/// norms of bf16 inputs. Layer normalisation, and layers that run in Cohort's loops, compute in f32.
/// Errors    if the processor has no bf16 instructions, probe returns that the backend is not usable: oneDNN
///           would emulate them.
/// Source    Micikevicius et al., Mixed Precision Training, ICLR 2018; Kalamkar et al., A Study of BFLOAT16
///           for Deep Learning Training, 2019: bf16 needs no loss scaling.
class onednn_bf16 : public onednn {
 public:
  static constexpr std::string_view name = "onednn_bf16";
  onednn_bf16() : onednn(dnnl_bf16) {}

  /// Like onednn::probe, but also requires the bf16 instructions.
  static availability probe();
  /// Returns whether `wide` is f32 and `narrow` is the same layout in bf16, so that an update can write both.
  bool is_rounded_copy(layout const& wide, layout const& narrow) const;
  /// Rounds n values and stores them in the bf16 copy `to` from element `first` on; same bits as a reorder.
  void round(float const* from, std::byte* to, std::size_t first, std::size_t n) const;
};

}  // namespace cohort
