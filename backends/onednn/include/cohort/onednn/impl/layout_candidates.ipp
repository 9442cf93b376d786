// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/onednn/detail/layout_candidates.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Candidates of convolutions. "direct", the rule without Winograd's algorithm, is a candidate at inference
/// only.
inline constexpr layout_candidate convolution_layout_candidates[]{
    {"rule"},
    {"direct"},
    {"last, data last", layout_candidate::order::last, layout_candidate::order::kept},
    {"last, data blocks", layout_candidate::order::last, layout_candidate::order::blocks},
    {"last, data any", layout_candidate::order::last, layout_candidate::order::any},
    {"any, data kept", layout_candidate::order::any, layout_candidate::order::kept},
    {"any, data last", layout_candidate::order::any, layout_candidate::order::last},
    {"any, data blocks", layout_candidate::order::any, layout_candidate::order::blocks},
    {"any, data any", layout_candidate::order::any, layout_candidate::order::any},
    {"weights any", layout_candidate::order::rule, layout_candidate::order::rule, true}};

inline constexpr layout_candidate dense_layout_candidates[]{
    {"rule"},
    {"input any", layout_candidate::order::any},
    {"weights plain", layout_candidate::order::rule, layout_candidate::order::rule, false, true},
    {"input any, weights plain", layout_candidate::order::any, layout_candidate::order::rule, false, true},
    {"data any", layout_candidate::order::rule, layout_candidate::order::any},
    {"weights any", layout_candidate::order::rule, layout_candidate::order::rule, true}};

std::span<layout_candidate const> layout_candidates_of(operation_request<onednn> const& request) {
  if (*request.kind == kind_of<dense>)
    return request.input_shapes[0].rank == 2 ? std::span<layout_candidate const>() : dense_layout_candidates;
  if (*request.kind == kind_of<conv2d>)
    return decode<conv2d>(request.fields).groups == 1 ? convolution_layout_candidates
                                                      : std::span<layout_candidate const>();
  if (request.kind->name == conv1d::kind_name && decode<conv1d>(request.fields).groups == 1)
    return convolution_layout_candidates;
  return {};
}

/// Returns whether a convolution has stride 1 and channels that fill blocks of 16. In all measurements of
/// training with such convolutions, the rule was the fastest candidate.
bool is_plain_convolution(operation_request<onednn> const& request) {
  constexpr int block = 16;
  bool const fills =
      channels_of(request.input_shapes[0]) % block == 0 && channels_of(request.output_shape) % block == 0;
  if (*request.kind == kind_of<conv2d>) {
    extent2 const stride = decode<conv2d>(request.fields).stride;
    return fills && stride.height == 1 && stride.width == 1;
  }
  return request.kind->name == conv1d::kind_name && fills && decode<conv1d>(request.fields).stride == 1;
}

layout_candidate requested_candidate(operation_request<onednn> const& request) {
  if (!request.candidate.empty())
    for (layout_candidate const& one : layout_candidates_of(request))
      if (one.name == request.candidate) return one;
  return {"rule"};
}

}  // namespace cohort::detail

namespace cohort {

std::vector<std::string> onednn::candidates(operation_request<onednn> const& request) const {
  using order = detail::layout_candidate::order;
  std::vector<std::string> names;
  bool const plain = detail::is_plain_convolution(request);
  bool const gives_gradient = request.training && request.wants_diff_input[0];
  for (detail::layout_candidate const& one : detail::layout_candidates_of(request)) {
    bool const moves_data = one.data == order::any || one.data == order::last || one.data == order::blocks;
    if (plain && (request.training || (one.name != "rule" && one.name != "direct"))) continue;
    if (one.weights_any && !request.training) continue;
    if (one.name == "direct" && request.training) continue;
    if (moves_data && !gives_gradient) continue;
    names.emplace_back(one.name);
  }
  return names;
}

std::string onednn::describe_machine() {
  dnnl_version_t const& version = *dnnl_version();
  return detail::text_of({"oneDNN ", version.major, '.', version.minor, '.', version.patch, ' ', version.hash,
                          ", instructions ", static_cast<int>(dnnl_get_effective_cpu_isa()), ", ",
                          omp_get_max_threads(), " threads"});
}

}  // namespace cohort
