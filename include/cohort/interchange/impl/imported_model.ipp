// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/tensor/view.hpp>

namespace cohort {

COHORT_CORE_INLINE imported_model::imported_model(cohort::graph network, std::string origin)
    : network_(std::move(network)), origin_(std::move(origin)) {
  graph_view const net = network_;
  for (int id = 0; id < net.size(); ++id) {
    if (net.owner(id) != id) continue;
    for (parameter_spec const& spec : net.parameters(id))
      parameters_.push_back({net.name(id) + '.' + std::string(spec.name), spec.dims});
  }
}

COHORT_CORE_INLINE void imported_model::refuse(std::string_view parameter, std::string what,
                                               std::string expected, std::string got) const {
  throw data_error({.what = std::move(what),
                    .where = origin_ + ", parameter " + std::string(parameter),
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

COHORT_CORE_INLINE void imported_model::set(std::string_view parameter, shape const& dims,
                                            std::span<float const> values) {
  auto const found = std::ranges::find(parameters_, parameter, &values_of::name);
  if (found == parameters_.end()) refuse(parameter, "the network has no such parameter", {}, {});
  if (found->values) refuse(parameter, "the parameter is set twice", {}, {});
  if (found->dims != dims || static_cast<std::int64_t>(values.size()) != dims.elements())
    refuse(parameter, "the parameter has another shape", to_string(found->dims),
           to_string(dims) + " with " + std::to_string(values.size()) + " values");
  found->values.emplace(values.begin(), values.end());
}

COHORT_CORE_INLINE void imported_model::read_parameters(parameter_set& into) const {
  std::vector<detail::tensor_to_load> all;
  for (int p = 0; p < static_cast<int>(into.table().size()); ++p) {
    parameter const& one = into.table()[static_cast<std::size_t>(p)];
    auto const found = std::ranges::find(parameters_, one.name, &values_of::name);
    if (found == parameters_.end() || found->dims != one.spec.dims)
      refuse(one.name, "the parameters belong to another network", to_string(one.spec.dims),
             found == parameters_.end() ? "no such parameter" : to_string(found->dims));
    if (!found->values)
      refuse(one.name, "the file has no values of the parameter", to_string(one.spec.dims), {});
    all.push_back({tensor_view(found->values->data(), found->dims), p, into.master()});
  }
  detail::write_dense(into, all);
  into.mark_changed();
}

}  // namespace cohort
