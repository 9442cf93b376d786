// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/tensor/view.hpp>
#include <cohort/training/detail/training_state.hpp>

namespace cohort {

imported_model::imported_model(cohort::graph network, std::string origin)
    : network_(std::move(network)), origin_(std::move(origin)) {
  graph_view const net = network_;
  for (int id = 0; id < net.size(); ++id) {
    if (net.owner(id) != id) continue;
    for (parameter_spec const& spec : net.parameters(id))
      parameters_.try_emplace(net.name(id) + '.' + std::string(spec.name), values_of{.dims = spec.dims});
  }
}

void imported_model::refuse(std::string_view parameter, std::string what, std::string expected,
                            std::string got) const {
  throw data_error({.what = std::move(what),
                    .where = origin_ + ", parameter " + std::string(parameter),
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

imported_model::values_of const* imported_model::find(std::string_view parameter) const {
  auto const found = parameters_.find(parameter);
  return found == parameters_.end() ? nullptr : &found->second;
}

imported_model::values_of& imported_model::unset(std::string_view parameter, shape const& dims,
                                                 std::size_t values) {
  auto const found = parameters_.find(parameter);
  if (found == parameters_.end()) {
    std::vector<std::string_view> names;
    for (auto const& [name, one] : parameters_) names.push_back(name);
    std::string_view const near = detail::nearest_name(parameter, names);
    refuse(parameter, "the network has no such parameter",
           near.empty() ? "one of its " + std::to_string(names.size()) + " parameters"
                        : "a parameter of the network; the nearest name is " + std::string(near),
           std::string(parameter));
  }
  values_of& made = found->second;
  if (made.values) refuse(parameter, "the parameter is set twice", {}, {});
  if (made.dims != dims || static_cast<std::int64_t>(values) != dims.elements())
    refuse(parameter, "the parameter has another shape", to_string(made.dims),
           to_string(dims) + " with " + std::to_string(values) + " values");
  return made;
}

void imported_model::set(std::string_view parameter, shape const& dims, std::span<float const> values) {
  unset(parameter, dims, values.size()).values.emplace(values.begin(), values.end());
}

void imported_model::set(std::string_view parameter, shape const& dims, std::vector<float>&& values) {
  unset(parameter, dims, values.size()).values.emplace(std::move(values));
}

void imported_model::read_parameters(parameter_set& into) const { read(into, true); }
void imported_model::read_known_parameters(parameter_set& into) const { read(into, false); }

void imported_model::read(parameter_set& into, bool all) const {
  std::vector<detail::tensor_to_load> known;
  for (int p = 0; p < static_cast<int>(into.table().size()); ++p) {
    parameter const& one = into.table()[static_cast<std::size_t>(p)];
    values_of const* const found = find(one.name);
    if (!found || found->dims != one.spec.dims)
      refuse(one.name, "the parameters belong to another network", to_string(one.spec.dims),
             found ? to_string(found->dims) : "no such parameter");
    if (!found->values && !all) continue;
    if (!found->values)
      refuse(one.name, "the file has no values of the parameter", to_string(one.spec.dims), {});
    known.push_back({tensor_view(found->values->data(), found->dims), p, into.master()});
  }
  detail::write_dense(into, known, origin_);
  into.mark_changed();
}

void imported_model::set_state(std::string_view parameter, int k, std::vector<float>&& values) {
  auto const found = parameters_.find(parameter);
  if (found == parameters_.end() || found->second.dims.elements() != std::ssize(values) || k < 0)
    refuse(parameter, "the optimizers' state belongs to another network",
           found == parameters_.end() ? std::string("a parameter of the network")
                                      : to_string(found->second.dims),
           std::to_string(values.size()) + " values");
  auto const index = static_cast<std::size_t>(k);
  std::vector<std::vector<float>>& state = found->second.state;
  if (state.size() <= index) state.resize(index + 1);
  state[index] = std::move(values);
}

bool imported_model::has_state() const {
  return std::ranges::any_of(parameters_, [](auto const& entry) { return !entry.second.state.empty(); });
}

void imported_model::read_state(training& into) const {
  detail::training_state& run = into.state();
  parameter_set& parameters = run.parameters();
  parameter_update& update = run.update();
  auto const each_array = [&](auto use) {
    for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
      if (values_of const* const found = find(parameters.table()[static_cast<std::size_t>(p)].name))
        for (int k = 0; k < static_cast<int>(found->state.size()); ++k)
          if (!found->state[static_cast<std::size_t>(k)].empty()) use(p, k, *found);
  };
  each_array([&](int p, int k, values_of const& found) {
    if (k >= update.state_arrays())
      refuse(parameters.table()[static_cast<std::size_t>(p)].name,
             "the optimizer has fewer state arrays than the file", std::to_string(found.state.size()),
             std::to_string(update.state_arrays()));
  });
  each_array([&](int p, int k, values_of const& found) {
    update.access_state(k, p, [&](std::byte* arena) {
      detail::tensor_to_load const tensor{
          tensor_view(found.state[static_cast<std::size_t>(k)].data(), found.dims), p, arena};
      detail::write_dense(parameters, {&tensor, 1}, origin_);
    });
  });
  run.position = position;
}

}  // namespace cohort
