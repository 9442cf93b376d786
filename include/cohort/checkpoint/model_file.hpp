// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <charconv>
#include <cohort/checkpoint/graph_json.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

template <class To, class From>
void convert(tensor_view from, std::byte* to) {
  auto const source = from.as<From>();
  std::transform(source.begin(), source.end(), reinterpret_cast<To*>(to),
                 [](From x) { return static_cast<To>(x); });
}

/// A dense tensor of f32 or f64 and where it goes: parameter `p` of an arena.
struct arriving_tensor {
  tensor_view from;
  int p;
  std::byte* arena;
};

/// After     all memory was had before the first number was written.
inline void write_dense(parameter_set const& layouts, std::span<arriving_tensor const> all) {
  std::size_t most = 0;
  for (arriving_tensor const& one : all)
    if (one.from.type != layouts.type())
      most = std::max(most, static_cast<std::size_t>(one.from.dims.elements()) * bytes_of(layouts.type()));
  buffer const converted(most);
  for (arriving_tensor const& one : all) {
    std::byte const* dense = one.from.data;
    if (one.from.type != layouts.type()) {
      layouts.type() == element_type::f64 ? convert<double, float>(one.from, converted.data())
                                          : convert<float, double>(one.from, converted.data());
      dense = converted.data();
    }
    layouts.write(one.p, dense, one.arena);
  }
}

}  // namespace detail

/// A model that was saved, in memory: gives its network, and fills parameters and updater state.
///
///     model_file const saved = model_file::open("lenet.safetensors");
///     graph const net = saved.network();
///     saved.read_parameters(net, *parameters);
///
/// Before    the file is untrusted: see safetensors and from_json.
/// Errors    file_error if it cannot be read; data_error naming the file and what is wrong with it: damage (by a hash of
///           all its content), another network, a tensor that is missing, too many or of another shape.
///           All is checked before the first number is written.
/// Exact     numbers of the same type keep their bits; f64 becomes the nearest f32, f32 is exact in f64.
class model_file {
 public:
  static model_file open(std::string const& path, safetensors_limits limits = {}) {
    return model_file(safetensors::load(path, limits));
  }
  template <byte_stream Stream>
  static model_file read(Stream& in, std::string const& name = "stream", safetensors_limits limits = {}) {
    return model_file(safetensors::read(in, name, limits));
  }

  /// The tensors of a strategy ("strategy/…") and its notes are read from here.
  safetensors const& file() const { return file_; }

  /// `Own` are kinds of layers beside the library's.
  template <layer... Own>
  graph network() const {
    graph made = from_json<Own...>(metadata("graph"), file_.name() + " graph");
    if (std::string const hash = detail::hash_text(detail::written_hash(made));
        hash != metadata("graph_hash"))
      refuse_metadata("graph_hash", "the graph's hash " + hash);
    return made;
  }

  /// How it was trained and how far; nothing if the updaters' state was not saved.
  std::optional<optimizer_settings> const& optimizer() const { return optimizer_; }
  training_position position() const { return position_; }
  /// What reduce_on_plateau had seen of the loss.
  cohort::plateau const& plateau() const { return plateau_; }
  /// A rank's file in a checkpoint may hold none.
  bool has_parameters() const {
    return std::any_of(file_.tensors().begin(), file_.tensors().end(), is_parameter);
  }

  /// Fills parameters of the same network; without `net`, of any that has parameters of the same names and shapes.
  void read_parameters(graph_view net, parameter_set& into) const {
    std::string const wanted = detail::hash_text(detail::written_hash(net));
    auto const list = detail::parameter_tensors(into);
    if (wanted != metadata("graph_hash")) {
      auto const found = first_difference(into, list, true);
      refuse_network(found ? found->name : "", (found ? found->expected + " in " : "") + "network " + wanted,
                     (found ? found->got + " in " : "the same parameters, but other layers, in ")
                         + ("network " + metadata("graph_hash")));
    }
    read_all(into, list, true);
    into.changed();
  }
  void read_parameters(parameter_set& into) const {
    read_all(into, detail::parameter_tensors(into), true);
    into.changed();
  }

  /// Fills arenas with the layouts of `parameters`; updaters may have other rates and fields than when it was saved.
  ///
  /// Errors    setting_error if there are too few arrays; data_error also for other updaters or no state in the file.
  training_position read_state(parameter_set const& parameters, optimizer_settings const& settings,
                               std::span<std::byte* const> arrays) const {
    if (!optimizer_)
      throw data_error({.what = "cannot read the updaters' state",
                        .where = file_.name(),
                        .expected = "a model that was saved with it",
                        .got = "parameters only"});
    for (parameter const& one : parameters.table()) {
      std::string_view const wanted = settings.rule_of(one.layer(), one.spec.role).updater.name();
      std::string_view const saved = optimizer_->rule_of(one.layer(), one.spec.role).updater.name();
      if (is_trained(one.spec.role) && wanted != saved)
        throw data_error({.what = "cannot read the updaters' state",
                          .where = {file_.name(), ", ", one.name},
                          .expected = {"state of ", wanted},
                          .got = {"state of ", saved}});
    }
    read_all(parameters, detail::state_tensors(parameters, settings, arrays), false);
    return position_;
  }

 private:
  struct difference {
    std::string name, expected, got;
  };

  explicit model_file(safetensors file) : file_(std::move(file)) {
    if (metadata("format") != detail::model_format)
      refuse_metadata("format", detail::shown(detail::model_format));
    if (metadata("format_version") != detail::model_format_version)
      refuse_metadata("format_version", detail::shown(detail::model_format_version));
    if (file_.metadata().contains("content_hash"))
      if (std::string const hash = detail::hash_text(detail::content_hash(file_.tensors(), file_.metadata()));
          hash != metadata("content_hash"))
        refuse_metadata("content_hash", "the content's hash " + hash + " (a file that was not damaged)");
    metadata("graph");
    metadata("graph_hash");
    if (!file_.metadata().contains("optimizer")) return;
    json_document const document = parse_json(metadata("optimizer"), file_.name() + " optimizer");
    optimizer_ = optimizer_from_json(document.root());
    // Older files have no position: they go on at the epoch's beginning.
    position_ = {count("step"), count("epoch"),
                 file_.metadata().contains("position") ? count("position") : 0};
    if (!file_.metadata().contains("plateau")) return;
    json_document const seen = parse_json(metadata("plateau"), file_.name() + " plateau");
    plateau_ = plateau_from_json(seen.root());
  }

  std::string const& metadata(std::string const& key) const {
    auto const found = file_.metadata().find(key);
    if (found == file_.metadata().end())
      throw data_error({.what = "cannot read the model",
                        .where = {file_.name(), ", metadata"},
                        .expected = {"an entry ", detail::shown(key)},
                        .got = "none of this name"});
    return found->second;
  }
  [[noreturn]] void refuse_metadata(std::string const& key, std::string expected) const {
    throw data_error({.what = "cannot read the model",
                      .where = {file_.name(), ", metadata ", detail::shown(key)},
                      .expected = std::move(expected),
                      .got = detail::shown(metadata(key))});
  }
  std::int64_t count(std::string const& key) const {
    std::string const& text = metadata(key);
    std::int64_t number = -1;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size() || number < 0)
      refuse_metadata(key, "an integer of at least 0");
    return number;
  }

  static bool is_real(element_type type) { return type == element_type::f32 || type == element_type::f64; }

  /// Neither state of an updater nor what a strategy remembers.
  static bool is_parameter(stored_tensor const& one) {
    return one.name.rfind(detail::state_prefix, 0) != 0 && one.name.rfind(detail::strategy_prefix, 0) != 0;
  }

  /// `alone`: whether other parameters than those of the list make a difference.
  std::optional<difference> first_difference(parameter_set const& parameters,
                                             std::vector<detail::model_tensor> const& list,
                                             bool alone) const {
    std::set<std::string_view> known;
    for (detail::model_tensor const& one : list) {
      shape const& dims = parameters.table()[static_cast<std::size_t>(one.p)].spec.dims;
      auto const found = file_.find(one.name);
      if (!found) return difference{one.name, to_string(dims), "none of this name"};
      if (!(found->dims == dims)) return difference{one.name, to_string(dims), to_string(found->dims)};
      if (!is_real(found->type)) return difference{one.name, "f32 or f64", std::string(name_of(found->type))};
      known.insert(one.name);
    }
    for (stored_tensor const& one : file_.tensors())
      if (alone && is_parameter(one) && !known.contains(one.name))
        return difference{one.name, "none of this name", to_string(one.view.dims)};
    return std::nullopt;
  }

  [[noreturn]] void refuse_network(std::string const& tensor, std::string expected, std::string got) const {
    throw data_error({.what = "the model is of another network",
                      .where = {file_.name(), (tensor.empty() ? "" : ", tensor " + detail::shown(tensor))},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  void read_all(parameter_set const& layouts, std::vector<detail::model_tensor> const& list,
                bool alone) const {
    if (auto const found = first_difference(layouts, list, alone))
      refuse_network(found->name, found->expected, found->got);
    std::vector<detail::arriving_tensor> all;
    for (detail::model_tensor const& one : list) all.push_back({file_.at(one.name), one.p, one.arena});
    detail::write_dense(layouts, all);
  }

  safetensors file_;
  std::optional<optimizer_settings> optimizer_;
  training_position position_;
  cohort::plateau plateau_;
};

}  // namespace cohort
