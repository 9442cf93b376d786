// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace cohort::detail {

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    std::size_t const begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos || line[begin] == '#') return words;
    line.remove_prefix(begin);
    std::size_t const end = std::min(line.find_first_of(blanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// Reads one line of a name map.  Before: the line has at least one word.
name_rule read_rule(std::vector<std::string_view> const& words, int line, std::string const& where) {
  auto const refuse = [&](std::string expected, std::string got) {
    throw data_error({.what = "cannot read the name map",
                      .where = {where, ":", line},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  if (words.size() < 2)
    refuse("a parameter, a tensor, and optionally operations", quote_for_error(words[0]) + " only");
  name_rule made{.line = line, .ours = std::string(words[0]), .theirs = {}, .operations = {}};
  for (std::string_view rest = words[1];;) {
    std::size_t const plus = rest.find('+');
    made.theirs.emplace_back(rest.substr(0, plus));
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  bool const maps = !made.ignores() && !made.keeps();
  auto const stars = [](std::string_view text) { return std::count(text.begin(), text.end(), '*'); };
  for (std::string const& one : made.theirs) {
    if (one.empty() || (one == "-" && made.theirs.size() > 1))
      refuse("names of tensors, joined by '+'", quote_for_error(words[1]));
    if (maps && stars(one) != stars(made.ours))
      refuse("as many '*' in " + quote_for_error(one) + " as in " + quote_for_error(made.ours),
             std::to_string(stars(one)) + " and " + std::to_string(stars(made.ours)));
  }
  if (made.ignores() && (made.keeps() || made.theirs.size() > 1))
    refuse("one name of tensors after '-'", quote_for_error(words[1]));
  for (std::size_t i = 2; i < words.size(); ++i) {
    auto operation = tensor_operation::parse(words[i]);
    if (!operation)
      refuse(
          "transpose, axes:3,2,0,1, part:0/2, reshape, or gates: with pytorch, keras, onnx or deeplearning4j",
          quote_for_error(words[i]));
    if (!maps) refuse("no operation on a line with '-'", quote_for_error(words[i]));
    made.operations.push_back(std::move(*operation));
  }
  return made;
}

/// Differences between a file and a network, by kind.
struct mapping_problems {
  static constexpr std::size_t most_of_a_kind = 20;
  std::vector<std::string> unmapped, missing, different, unused;

  std::string text() const {
    std::string all;
    auto const add = [&](char const* title, std::vector<std::string> const& list) {
      if (list.empty()) return;
      all += (all.empty() ? "" : "; ") + std::string(title);
      for (std::size_t i = 0; i < std::min(list.size(), most_of_a_kind); ++i)
        all += (i > 0 ? ", " : " ") + list[i];
      if (list.size() > most_of_a_kind)
        all += " and " + std::to_string(list.size() - most_of_a_kind) + " more";
    };
    add("parameters without a rule:", unmapped);
    add("missing tensors:", missing);
    add("other shapes or types:", different);
    add("unused tensors:", unused);
    return all;
  }
};

/// Writes the elements of a tensor to `to`, in a parameter's order. `adds`: adds the elements to the values
/// in `to`.
template <class To>
void put_elements(tensor_view from, std::vector<std::int64_t> const& order, bool adds, std::span<To> to) {
  auto const put = [&](auto const& value_of) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      To const value = static_cast<To>(value_of(order.empty() ? i : static_cast<std::size_t>(order[i])));
      to[i] = adds ? to[i] + value : value;
    }
  };
  if (from.type == element_type::f64)
    put([&](std::size_t i) { return from.as<double>()[i]; });
  else if (from.type == element_type::f32)
    put([&](std::size_t i) { return from.as<float>()[i]; });
  else
    put([&](std::size_t i) { return reinterpret_cast<bf16 const*>(from.data)[i].value(); });
}

}  // namespace cohort::detail

namespace cohort {

name_map name_map::load(std::string const& path) { return parse(io::read_text(path), path); }

name_map name_map::parse(std::string_view text, std::string name) {
  name_map made;
  made.name_ = std::move(name);
  for (int line = 1; !text.empty(); ++line) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    auto const words = detail::words_of(text.substr(0, end));
    if (!words.empty()) made.rules_.push_back(detail::read_rule(words, line, made.name_));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return made;
}

mapping_report read_mapped(std::span<stored_tensor const> tensors, std::string const& file,
                           name_map const& map, graph_view net, parameter_set& into) {
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < tensors.size(); ++i) by_name.emplace(tensors[i].name, i);
  std::vector<bool> used(tensors.size());
  detail::mapping_problems problems;
  mapping_report report;
  /// A parameter whose tensors fit.
  struct sum {
    int p;
    std::vector<std::size_t> tensors;
    std::vector<std::vector<std::int64_t>> orders;
  };
  std::vector<sum> sums;

  for (int p = 0; p < static_cast<int>(into.table().size()); ++p) {
    parameter const& one = into.table()[static_cast<std::size_t>(p)];
    detail::name_rule const* rule = nullptr;
    std::vector<std::string_view> stars;
    for (detail::name_rule const& next : map.rules()) {
      if (next.ignores()) continue;
      if (auto found = detail::match_pattern(next.ours, one.name)) {
        rule = &next;
        stars = std::move(*found);
        break;
      }
    }
    if (!rule) {
      problems.unmapped.push_back(one.name);
      continue;
    }
    if (rule->keeps()) {
      report.kept.push_back(one.name);
      continue;
    }
    detail::mapped_parameter const target{net.kind(one.node).name, one.spec.name, one.spec.dims};
    sum next{.p = p, .tensors = {}, .orders = {}};
    bool fits = true;
    for (std::string const& pattern : rule->theirs) {
      std::string const name = detail::expand_pattern(pattern, stars);
      auto const found = by_name.find(name);
      if (found == by_name.end()) {
        problems.missing.push_back(name + " for " + one.name);
        fits = false;
        continue;
      }
      used[found->second] = true;
      tensor_view const view = tensors[found->second].view;
      std::string const& unread_type = tensors[found->second].unread_type;
      detail::element_order order{.dims = view.dims, .from = {}};
      std::string wrong;
      if (unread_type.empty())
        for (detail::tensor_operation const& operation : rule->operations)
          if (wrong.empty()) wrong = order.apply(operation, target);
      if (!unread_type.empty())
        wrong = "f32, f64, f16 or bf16 expected, got type " + detail::quote_for_error(unread_type);
      else if (!wrong.empty())
        wrong = "the operations of line " + std::to_string(rule->line) + " do not fit: " + wrong;
      else if (view.type != element_type::f32 && view.type != element_type::f64
               && view.type != element_type::bf16)
        wrong = "f32, f64, f16 or bf16 expected, got " + std::string(name_of(view.type));
      else if (order.dims != one.spec.dims)
        wrong =
            to_string(one.spec.dims) + " expected, got " + to_string(order.dims)
            + (rule->operations.empty() ? "" : " after the operations of line " + std::to_string(rule->line));
      if (!wrong.empty()) problems.different.push_back(name + " for " + one.name + " (" + wrong + ')');
      fits = fits && wrong.empty();
      next.tensors.push_back(found->second);
      next.orders.push_back(std::move(order.from));
    }
    if (!fits) continue;
    report.loaded.push_back(one.name);
    sums.push_back(std::move(next));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (used[i]) continue;
    bool const ignored =
        !tensors[i].unread_type.empty()
        || std::any_of(map.rules().begin(), map.rules().end(), [&](detail::name_rule const& rule) {
             return rule.ignores() && detail::match_pattern(rule.theirs[0], tensors[i].name);
           });
    (ignored ? report.ignored : problems.unused).push_back(tensors[i].name);
  }
  if (std::string got = problems.text(); !got.empty())
    throw data_error({.what = "the tensors do not fit the network",
                      .where = {file, ", by ", map.name()},
                      .expected = "a line of the map for each parameter (NAME - keeps its value) and each "
                                  "tensor (- NAME ignores it), and all tensors that these lines name",
                      .got = std::move(got)});

  std::vector<buffer> memory;
  std::vector<detail::tensor_to_load> all;
  for (sum const& next : sums) {
    tensor_view from = tensors[next.tensors[0]].view;
    shape const& dims = into.table()[static_cast<std::size_t>(next.p)].spec.dims;
    if (next.tensors.size() == 1 && next.orders[0].empty() && from.type != element_type::bf16) {
      from.dims = dims;  // the extents differ after reshape
    } else {
      detail::with_real(into.type(), [&]<class T>(T*) {
        auto const count = static_cast<std::size_t>(dims.elements());
        T* const values = memory.emplace_back(count * sizeof(T)).template as<T>();
        for (std::size_t i = 0; i < next.tensors.size(); ++i)
          detail::put_elements(tensors[next.tensors[i]].view, next.orders[i], i > 0,
                               std::span<T>(values, count));
        from = tensor_view(values, dims);
      });
    }
    all.push_back({from, next.p, into.master()});
  }
  detail::write_dense(into, all, file);
  into.mark_changed();
  return report;
}

}  // namespace cohort
