// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/availability.hpp>
#include <cohort/backend/operation.hpp>
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort {

namespace detail {

/// Usable if a backend's smallest convolution runs.
template <class B>
availability probe_convolution() try {
  B const backend;
  conv2d const smallest{.filters = 1, .kernel = 1};
  auto const fields = encode(smallest);
  shape const image{1, 1, 1};
  parameter_list const specs = smallest.parameters({&image, 1});
  memory_layout const input = backend.plain(image.batched(1));
  std::optional<memory_layout> const settled[2]{};
  operation_request<onednn> request;
  request.name = "probe";
  request.kind = &kind_of<conv2d>;
  request.fields = fields.data();
  request.training = false;
  request.input_shapes = {&image, 1};
  request.output_shape = image;
  request.inputs = {&input, 1};
  request.wants_diff_input = {false};
  request.parameter_specs = {specs.specs.data(), 2};
  request.parameters = settled;
  operation<onednn> const made = backend.prepare(request);
  alignas(64) float memory[8][4096 / sizeof(float)]{};
  std::vector<void*> addresses;
  for (auto const& o : made.forward[0].operands) {
    if (o.layout.bytes() > sizeof memory[0] || addresses.size() == 8) return {};
    addresses.push_back(memory[addresses.size()]);
  }
  onednn::bind(made.forward[0].kernel, addresses)();
  return {};
} catch (error const& why) {
  return {false, why.what()};
}

}  // namespace detail

static_assert(tensor_backend<onednn>);

}  // namespace cohort

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/onednn.ipp>
#endif
