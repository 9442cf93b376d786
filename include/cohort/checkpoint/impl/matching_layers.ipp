// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/buffer.hpp>
#include <utility>

namespace cohort {

std::string transfer_report::text() const {
  std::string all = "loaded: ";
  for (std::size_t i = 0; i < loaded.size(); ++i) all += (i > 0 ? ", " : "") + loaded[i];
  if (loaded.empty()) all += "none";
  for (std::size_t i = 0; i < skipped.size(); ++i)
    all += (i > 0 ? ", " : "; skipped: ") + skipped[i].layer + " (" + skipped[i].reason + ')';
  return all;
}

transfer_report read_matching(std::span<stored_tensor const> from, std::string const& name, graph_view net,
                              parameter_set& into) {
  auto const find = [&](std::string const& wanted) -> stored_tensor const* {
    auto const at =
        std::find_if(from.begin(), from.end(), [&](stored_tensor const& one) { return one.name == wanted; });
    return at == from.end() ? nullptr : &*at;
  };
  auto const real = [](element_type type) { return type == element_type::f32 || type == element_type::f64; };
  transfer_report report;
  std::vector<detail::tensor_to_load> found;
  auto const table = into.table();
  for (std::size_t first = 0, end = 0; first < table.size(); first = end) {
    int const node = table[first].node;
    std::size_t const before = found.size();
    std::string reason;
    bool absent = true;
    for (end = first; end < table.size() && table[end].node == node; ++end) {
      parameter const& one = table[end];
      stored_tensor const* const there = find(one.name);
      absent = absent && !there;
      if (there && there->view.dims == one.spec.dims && real(there->view.type)) {
        found.push_back({there->view, static_cast<int>(end), into.master()});
      } else if (reason.empty()) {
        reason = !there ? std::string(one.spec.name) + " is absent"
                        : detail::text_of(
                            {one.spec.name, ": expected ", to_string(one.spec.dims), ' ',
                             name_of(into.type()), ", got ",
                             there->unread_type.empty()
                                 ? to_string(there->view.dims) + ' ' + std::string(name_of(there->view.type))
                                 : "type " + detail::quote_for_error(there->unread_type)});
      }
    }
    if (reason.empty()) {
      report.loaded.push_back(net.name(node));
    } else {
      found.resize(before);
      report.skipped.push_back({net.name(node), absent ? "absent" : std::move(reason)});
    }
  }
  if (report.loaded.empty())
    throw data_error({.what = "no layer has matching parameters",
                      .where = name,
                      .expected = "at least one layer with the same name, parameters and shapes",
                      .got = report.text()});
  detail::write_dense(into, found, name);
  into.mark_changed();
  return report;
}

}  // namespace cohort
