// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/detail/text_table.hpp>
#include <cohort/graph/summary.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace cohort::detail {

std::string integer_text(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

std::string extent_text(double const* from) {
  return from[0] == from[1] ? integer_text(from[0]) : integer_text(from[0]) + 'x' + integer_text(from[1]);
}

std::string padding_text(padding const& p) {
  switch (p.mode) {
    case padding_mode::valid:
      return "valid";
    case padding_mode::same:
      return "same";
    case padding_mode::strict:
      return "strict";
    case padding_mode::sides:
      break;
  }
  if (p == padding(p.top)) return std::to_string(p.top);
  return std::to_string(p.top) + '/' + std::to_string(p.bottom) + '/' + std::to_string(p.left) + '/'
         + std::to_string(p.right);
}

/// Returns a field's value as text; empty for a boolean that is true and for a shape equal to the output's.
std::string text_of(field_info const& info, double const* from, shape const& output) {
  switch (info.type) {
    case field_type::integer:
      return integer_text(from[0]);
    case field_type::boolean:
      return from[0] != 0 ? "" : "no";
    case field_type::real: {
      char digits[32];
      return std::string(digits, std::to_chars(digits, digits + sizeof digits, from[0]).ptr);
    }
    case field_type::extent:
      return extent_text(from);
    case field_type::padding:
      return padding_text(field_codec<padding>::decode(from));
    case field_type::shape: {
      shape const dims = field_codec<shape>::decode(from);
      return dims == output ? "" : to_string(dims);
    }
    case field_type::axes: {
      axis_order const order = field_codec<axis_order>::decode(from);
      std::string text;
      for (int axis = 0; axis < order.rank; ++axis)
        text += (axis > 0 ? " " : "") + std::to_string(order[axis]);
      return text;
    }
    case field_type::choice:
      return std::string(info.choices[static_cast<std::size_t>(from[0])]);
  }
  return "";
}

std::string layer_text(graph_view net, int id) {
  std::string text(net.kind(id).name);
  bool first = true;
  auto const add = [&](std::string const& part) {
    text += (first ? ": " : ", ") + part;
    first = false;
  };
  for (field_info const& info : net.kind(id).fields) {
    double const* const from = net.fields(id) + info.first_slot;
    if (!info.required && std::equal(from, from + info.slots, net.kind(id).defaults + info.first_slot))
      continue;
    std::string const value = text_of(info, from, net[id].output), name(info.name);
    if (info.type == field_type::boolean)
      add(value.empty() ? name : value + ' ' + name);
    else if (!value.empty())
      add(name + ' ' + value);
  }
  auto const add_initialiser = [&](char const* of, std::optional<initialiser> const& how) {
    if (how) add(of + std::string(" from ") + std::string(how->name()));
  };
  add_initialiser("weights", net[id].settings.weights);
  add_initialiser("bias", net[id].settings.bias);
  add_initialiser("recurrent weights", net[id].settings.recurrent);
  if (net.owner(id) != id) add("parameters of " + net.name(net.owner(id)));
  return text;
}

bool is_chain(graph_view net) {
  for (int id = 0; id < net.size(); ++id) {
    auto const from = net.inputs(id);
    if (id == 0 ? !from.empty() : from.size() != 1 || from[0] != id - 1) return false;
  }
  return true;
}

}  // namespace cohort::detail

namespace cohort {

std::string summary(graph_view net) {
  bool const chain = detail::is_chain(net);
  detail::text_table text(
      {.others = detail::columns::right, .left = chain ? std::size_t{3} : std::size_t{4}, .indent = 0});
  std::vector<std::string> head{"name", "layer", "output", "parameters", "MFLOP"};
  if (!chain) head.insert(head.begin() + 2, "reads");
  text.add(std::move(head));
  std::int64_t parameters = 0;
  double flops = 0;
  for (int id = 0; id < net.size(); ++id) {
    std::int64_t elements = 0;
    if (net.owner(id) == id)
      for (parameter_spec const& spec : net.parameters(id)) elements += spec.dims.elements();
    double const cost = net.flops(id);
    parameters += elements;
    flops += cost;
    std::vector<std::string> row{net.name(id), detail::layer_text(net, id), to_string(net[id].output),
                                 elements > 0 ? std::to_string(elements) : "",
                                 cost > 0 ? detail::decimal_text(cost / 1e6, 3) : ""};
    if (!chain) {
      std::string reads;
      for (int const from : net.inputs(id)) reads += (reads.empty() ? "" : ", ") + net.name(from);
      row.insert(row.begin() + 2, std::move(reads));
    }
    text.add(std::move(row));
  }
  std::vector<std::string> total{"total",
                                 std::to_string(net.size()) + (net.size() == 1 ? " layer" : " layers"), "",
                                 std::to_string(parameters), detail::decimal_text(flops / 1e6, 3)};
  if (!chain) total.insert(total.begin() + 2, "");
  text.add(std::move(total));
  return text.text();
}

}  // namespace cohort
