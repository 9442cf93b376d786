// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/interchange/detail/tensor_operation.hpp>
#include <cohort/io/detail/permutation.hpp>
#include <span>
#include <system_error>

namespace cohort::detail {

/// Parses integers separated by `separator`; nullopt for any other text.
std::optional<std::vector<int>> parse_integers(std::string_view text, char separator) {
  std::vector<int> numbers;
  char const *at = text.data(), *const end = at + text.size();
  while (true) {
    int number = 0;
    auto const [stop, failure] = std::from_chars(at, end, number);
    if (failure != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (stop == end) return numbers;
    if (*stop != separator) return std::nullopt;
    at = stop + 1;
  }
}

std::optional<tensor_operation> tensor_operation::parse(std::string_view text) {
  auto const argument_of = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!text.starts_with(prefix)) return std::nullopt;
    return text.substr(prefix.size());
  };
  if (text == "transpose") return tensor_operation{.what = kind::transpose};
  if (text == "reshape") return tensor_operation{.what = kind::reshape};
  if (auto const list = argument_of("axes:")) {
    auto numbers = parse_integers(*list, ',');
    if (!numbers || numbers->size() > static_cast<std::size_t>(shape::max_rank)) return std::nullopt;
    std::vector<int> sorted = *numbers;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int>(i)) return std::nullopt;
    return tensor_operation{.what = kind::axes, .numbers = std::move(*numbers)};
  }
  if (auto const which = argument_of("part:")) {
    auto numbers = parse_integers(*which, '/');
    if (!numbers || numbers->size() != 2 || (*numbers)[0] >= (*numbers)[1]) return std::nullopt;
    return tensor_operation{.what = kind::part, .numbers = std::move(*numbers)};
  }
  if (auto const library = argument_of("gates:"))
    for (gate_orders const& one : known_gate_orders)
      if (one.library == *library) return tensor_operation{.what = kind::gates, .orders = &one};
  return std::nullopt;
}

std::optional<std::vector<std::string_view>> match_pattern(std::string_view pattern, std::string_view text) {
  std::vector<std::string_view> stars;
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    if (pattern != text) return std::nullopt;
    return stars;
  }
  if (!text.starts_with(pattern.substr(0, star))) return std::nullopt;
  text.remove_prefix(star);
  while (true) {
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    std::string_view const literal = pattern.substr(0, star);
    if (star == std::string_view::npos) {
      if (text.size() <= literal.size() || !text.ends_with(literal)) return std::nullopt;
      stars.push_back(text.substr(0, text.size() - literal.size()));
      return stars;
    }
    std::size_t const at = text.find(literal, 1);
    if (at == std::string_view::npos) return std::nullopt;
    stars.push_back(text.substr(0, at));
    text.remove_prefix(at + literal.size());
  }
}

std::string expand_pattern(std::string_view pattern, std::vector<std::string_view> const& stars) {
  std::string text;
  std::size_t used = 0;
  for (char const one : pattern) {
    if (one == '*')
      text += stars[used++];
    else
      text += one;
  }
  return text;
}

void element_order::permute(std::vector<int> const& axes) {
  std::vector<std::int64_t> const extents(dims.extents.begin(), dims.extents.begin() + dims.rank);
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(dims.elements()));
  visit_permuted(extents, axes, [&](std::int64_t i) { order.push_back(at(i)); });
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    dims[static_cast<int>(axis)] = static_cast<int>(extents[static_cast<std::size_t>(axes[axis])]);
  from = std::move(order);
}

std::string element_order::apply(tensor_operation const& next, mapped_parameter const& into) {
  std::int64_t const elements = dims.elements();
  switch (next.what) {
    case tensor_operation::kind::transpose: {
      std::vector<int> axes;
      for (int axis = dims.rank; axis-- > 0;) axes.push_back(axis);
      permute(axes);
      return {};
    }
    case tensor_operation::kind::axes:
      if (static_cast<int>(next.numbers.size()) != dims.rank)
        return std::to_string(next.numbers.size()) + " axes, but the tensor is " + to_string(dims);
      permute(next.numbers);
      return {};
    case tensor_operation::kind::part: {
      std::int64_t const parts = next.numbers[1];
      if (elements % parts != 0)
        return to_string(dims) + " cannot be divided into " + std::to_string(parts) + " equal parts";
      std::int64_t const each = elements / parts, first = next.numbers[0] * each;
      std::vector<std::int64_t> order(static_cast<std::size_t>(each));
      for (std::int64_t i = 0; i < each; ++i) order[static_cast<std::size_t>(i)] = at(first + i);
      from = std::move(order);
      dims = shape(each);
      return {};
    }
    case tensor_operation::kind::gates: {
      std::span<int const> blocks;
      if (into.name == "peepholes")
        blocks = next.orders->peepholes;
      else if (into.layer_kind == "lstm")
        blocks = next.orders->lstm;
      else if (into.layer_kind == "gru")
        blocks = next.orders->gru;
      if (blocks.empty() || blocks[0] < 0)
        return std::string(next.orders->library) + " has no gate order for " + std::string(into.layer_kind)
               + "'s " + std::string(into.name);
      auto const count = static_cast<std::int64_t>(blocks.size());
      if (dims.rank == 0 || dims[0] % count != 0)
        return "the rows of " + to_string(dims) + " cannot be divided into " + std::to_string(count)
               + " gates";
      std::int64_t const each = elements / count;
      std::vector<std::int64_t> order;
      order.reserve(static_cast<std::size_t>(elements));
      for (int const block : blocks)
        for (std::int64_t i = 0; i < each; ++i) order.push_back(at(block * each + i));
      from = std::move(order);
      return {};
    }
    case tensor_operation::kind::reshape:
      if (elements != into.dims.elements())
        return to_string(dims) + " cannot be reshaped to " + to_string(into.dims);
      dims = into.dims;
      return {};
  }
  return {};
}

}  // namespace cohort::detail
