// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/interchange/detail/onnx_patterns.hpp>

/// Masks of padding, as export_onnx writes them: nodes that compute which steps exist, and the operators that
/// read them.
namespace cohort::detail {

namespace {

/// Returns whether a node reduces axis `axis` of its input, and no other; `keeps`: with an extent of 1.
bool reduces(onnx_patterns const& find, onnx_node const& node, std::int64_t axis, bool keeps) {
  onnx_attribute const* const older = node.find("axes");
  onnx_attribute const* const kept = node.find("keepdims");
  onnx_patterns::list const axes = older                    ? older->ints
                                   : node.inputs.size() > 1 ? find.integers(node.inputs[1])
                                                            : onnx_patterns::list();
  return axes == onnx_patterns::list{axis} && (!kept || kept->i != 0) == keeps;
}

/// Returns the mask N×T that Unsqueeze extends to N×T×1; "" for other values.
std::string before_column(onnx_patterns const& find, std::string const& name) {
  onnx_node const* const column = find.producer(name, "Unsqueeze", 2);
  return column && find.integers(column->inputs[1]) == onnx_patterns::list{2} ? column->inputs[0]
                                                                              : std::string();
}

}  // namespace

/// Finds the values that are masks: t < lengths, and x ≠ value.
void onnx_importer::find_masks(onnx_patterns& find) {
  auto const rank_of = [&](std::string const& name) {
    auto const found = std::ranges::find(model_.inputs, name, &onnx_value_info::name);
    return found == model_.inputs.end() || values_.contains(name) ? std::size_t{0} : found->dims.size();
  };
  // Elements that differ from a number, of an input of indices or numbers.
  auto const differing = [&](std::string const& name) -> std::optional<onnx_mask> {
    onnx_node const* const differs = find.producer(name, "Not", 1);
    onnx_node const* const equal = differs ? find.producer(differs->inputs[0], "Equal", 2) : nullptr;
    if (!equal) return std::nullopt;
    std::string input = equal->inputs[0];
    for (onnx_type const type : {onnx_type::f32, onnx_type::i32})
      if (std::string source = find.before_cast(input, type); !source.empty()) input = std::move(source);
    onnx_tensor const* const number = find.constant(equal->inputs[1]);
    if (rank_of(input) == 0 || !number || number->elements() != 1) return std::nullopt;
    if (auto const reals = number->floats())
      return onnx_mask{.input = input, .value = static_cast<double>((*reals)[0])};
    if (auto const integers = number->integers())
      return onnx_mask{.input = input, .value = static_cast<double>((*integers)[0])};
    return std::nullopt;
  };
  for (onnx_node const& node : model_.nodes) {
    if (node.outputs.size() != 1) continue;
    std::string const& name = node.outputs[0];
    if (auto const found = differing(name); found && rank_of(found->input) == 2) masks_.emplace(name, *found);
    if (std::string const any = find.before_cast(name, onnx_type::boolean); !any.empty()) {
      onnx_node const* const most = find.producer(any, "ReduceMax", 1, {"axes", "keepdims"});
      auto const found = most && reduces(find, *most, 2, false)
                             ? differing(find.before_cast(most->inputs[0], onnx_type::f32))
                             : std::nullopt;
      if (found && rank_of(found->input) == 3) masks_.emplace(name, *found);
    }
    if (!onnx_patterns::is(node, "Less", 2)) continue;
    onnx_node const* const column = find.producer(node.inputs[1], "Unsqueeze", 2);
    if (!column || find.integers(column->inputs[1]) != onnx_patterns::list{1}) continue;
    std::string const& lengths = column->inputs[0];
    std::string const input = lengths.substr(0, lengths.rfind('.'));
    onnx_tensor const* const steps = find.constant(node.inputs[0]);
    bool const is_row = steps && !steps->dims.empty() && steps->dims.back() == steps->elements();
    if (!is_row || lengths != input + ".lengths" || rank_of(lengths) != 1 || rank_of(input) < 2) continue;
    if (find.is_range(node.inputs[0])) masks_.emplace(name, onnx_mask{.input = input, .lengths = lengths});
  }
}

/// Returns the input whose mask a value is. The input becomes a masked or padded one.
std::string onnx_importer::use_mask(std::string const& mask) {
  onnx_mask const& used = masks_.find(mask)->second;
  auto const [known, is_new] = input_masks_.try_emplace(used.input, used);
  if (!is_new && known->second != used) {
    place_ = "input " + quote_for_error(used.input);
    refuse("the nodes compute two different masks of the input", "one mask", "two", onnx_remedy::replace);
  }
  if (!used.lengths.empty()) lengths_[used.lengths] = used.input;
  return used.input;
}

void onnx_importer::fuse_masks() {
  onnx_patterns find(model_.nodes, values_);
  find_masks(find);
  if (masks_.empty()) return;
  fuse_masked_means(find);
  fuse_masked_maxima(find);
  fuse_masked_zeros(find);
  fuse_masked_lengths(find);
}

/// Returns x of Where(mask, x, number), of a sequence N×T×C; "" for other values.
std::string onnx_importer::masked_value(onnx_patterns const& find, std::string const& name, std::string& mask,
                                        bool (*is_padding)(float)) const {
  onnx_node const* const where = find.producer(name, "Where", 3);
  auto const otherwise = where ? find.number(where->inputs[2]) : std::nullopt;
  if (!otherwise || !is_padding(*otherwise)) return {};
  mask = before_column(find, where->inputs[0]);
  return masks_.contains(mask) ? where->inputs[1] : std::string();
}

/// Fuses Σ where(mask, x, 0) / max(Σ mask, 1) into ReduceMean.
void onnx_importer::fuse_masked_means(onnx_patterns const& find) {
  for (onnx_node& ratio : model_.nodes) {
    if (!onnx_patterns::is(ratio, "Div", 2)) continue;
    onnx_node const* const sum = find.producer(ratio.inputs[0], "ReduceSum", 2, {"keepdims"});
    onnx_node const* const most = find.producer(ratio.inputs[1], "Max", 2);
    onnx_node const* const count =
        most ? find.producer(most->inputs[0], "ReduceSum", 2, {"keepdims"}) : nullptr;
    if (!sum || !count || !find.is_number(most->inputs[1], 1) || !reduces(find, *sum, 1, false)
        || !reduces(find, *count, 1, true))
      continue;
    std::string mask;
    std::string const x = masked_value(find, sum->inputs[0], mask, [](float number) { return number == 0; });
    if (x.empty() || find.before_cast(count->inputs[0], onnx_type::f32) != mask) continue;
    ratio.op = "ReduceMean";
    ratio.inputs = {x};
    ratio.attributes = {{.name = "axes", .type = onnx_attribute::integers, .ints = {1}},
                        {.name = "keepdims", .type = onnx_attribute::integer, .i = 0}};
    fusions_[&ratio].masked_by = use_mask(mask);
  }
}

/// Fuses where(max mask, max where(mask, x, lowest), 0) into ReduceMax.
void onnx_importer::fuse_masked_maxima(onnx_patterns const& find) {
  for (onnx_node& chosen : model_.nodes) {
    if (!onnx_patterns::is(chosen, "Where", 3) || !find.is_number(chosen.inputs[2], 0)) continue;
    onnx_node const* const most = find.producer(chosen.inputs[1], "ReduceMax", 1, {"axes", "keepdims"});
    onnx_node const* const any = find.producer(find.before_cast(chosen.inputs[0], onnx_type::boolean),
                                               "ReduceMax", 1, {"axes", "keepdims"});
    if (!most || !any || !reduces(find, *most, 1, false) || !reduces(find, *any, 1, false)) continue;
    std::string mask;
    std::string const x =
        masked_value(find, most->inputs[0], mask, [](float number) { return number < -1e30F; });
    std::string const same = before_column(find, find.before_cast(any->inputs[0], onnx_type::f32));
    if (x.empty() || same != mask) continue;
    chosen.op = "ReduceMax";
    chosen.inputs = {x};
    chosen.attributes = most->attributes;
    fusions_[&chosen].masked_by = use_mask(mask);
  }
}

/// Where(mask, x, 0) of a sequence N×T or N×T×C.
void onnx_importer::fuse_masked_zeros(onnx_patterns const& find) {
  for (onnx_node& chosen : model_.nodes) {
    if (!onnx_patterns::is(chosen, "Where", 3) || !find.is_number(chosen.inputs[2], 0)) continue;
    bool const is_row = masks_.contains(chosen.inputs[0]);
    std::string const mask = is_row ? chosen.inputs[0] : before_column(find, chosen.inputs[0]);
    if (!masks_.contains(mask)) continue;
    chosen.inputs = {chosen.inputs[1]};
    fusion& with = fusions_[&chosen];
    with.masked_by = use_mask(mask);
    with.masked_rank = is_row ? 2 : 3;
  }
}

/// sequence_lens that count the steps of a mask. As the export requires, padding only occurs after the last
/// step of a sequence.
void onnx_importer::fuse_masked_lengths(onnx_patterns const& find) {
  constexpr std::size_t place = 4;
  for (onnx_node& cells : model_.nodes) {
    if (!is_recurrent_operator(cells.op) || !cells.domain.empty() || cells.inputs.size() <= place) continue;
    onnx_node const* const count = find.producer(cells.inputs[place], "ReduceSum", 2, {"keepdims"});
    if (!count || !reduces(find, *count, 1, false)) continue;
    std::string const mask = find.before_cast(count->inputs[0], onnx_type::i32);
    if (!masks_.contains(mask)) continue;
    cells.inputs[place].clear();
    fusions_[&cells].masked_by = use_mask(mask);
  }
}

}  // namespace cohort::detail
