// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/tensor/buffer.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Converts the elements of a dense tensor and writes them to `to`.
template <class To, class From>
void convert(tensor_view from, std::byte* to) {
  auto const source = from.as<From>();
  std::transform(source.begin(), source.end(), reinterpret_cast<To*>(to),
                 [](From x) { return static_cast<To>(x); });
}

void require_variances(parameter_set const& layouts, tensor_to_load const& one, std::string_view source) {
  parameter const& p = layouts.table()[static_cast<std::size_t>(one.p)];
  if (p.spec.role != parameter_role::running_variance) return;
  with_real(one.from.type, [&]<class T>(T*) {
    std::span<T const> const values = one.from.as<T>();
    auto const wrong = std::ranges::find_if(values, [](T value) { return !(value >= 0); });
    if (wrong == values.end()) return;
    throw data_error(
        {.what = "a running variance is negative or not a number",
         .where = {source, ", tensor ", quote_for_error(p.name), ", channel ", wrong - values.begin()},
         .expected = "a variance of at least 0. Earlier versions could save negative variances "
                     "if the data's mean was far from 0; train this model again",
         .got = {static_cast<double>(*wrong)}});
  });
}

void write_dense(parameter_set const& layouts, std::span<tensor_to_load const> all, std::string_view source) {
  for (tensor_to_load const& one : all) require_variances(layouts, one, source);
  std::size_t most = 0;
  for (tensor_to_load const& one : all)
    if (one.from.type != layouts.type())
      most = std::max(most, static_cast<std::size_t>(one.from.dims.elements()) * bytes_of(layouts.type()));
  buffer const converted(most);
  for (tensor_to_load const& one : all) {
    std::byte const* dense = one.from.data;
    if (one.from.type != layouts.type()) {
      layouts.type() == element_type::f64 ? convert<double, float>(one.from, converted.data())
                                          : convert<float, double>(one.from, converted.data());
      dense = converted.data();
    }
    layouts.write(one.p, dense, one.arena);
  }
}

/// Marks parameters as changed at its end, also after an exception, which may leave some of them written.
class change_of_parameters {
 public:
  explicit change_of_parameters(parameter_set& written) : written_(written) {}
  change_of_parameters(change_of_parameters const&) = delete;
  change_of_parameters& operator=(change_of_parameters const&) = delete;
  ~change_of_parameters() { written_.mark_changed(); }

 private:
  parameter_set& written_;
};

}  // namespace cohort::detail

namespace cohort {

model_file model_file::open(std::string const& path, safetensors_limits limits) {
  return model_file(safetensors::load(path, limits));
}

model_file model_file::open_on_demand(std::string const& path) {
  return model_file(safetensors::load(
      path, [](std::string_view tensor) { return !tensor.starts_with(detail::strategy_prefix); }));
}

tensor_view model_file::values(std::string_view tensor) const {
  return values(*std::ranges::find(file_.tensors(), tensor, &stored_tensor::name));
}

model_file model_file::read(io::byte_stream_ref in, std::string const& name, safetensors_limits limits) {
  return model_file(safetensors::read(in, name, limits));
}

bool model_file::has_average() const {
  return std::ranges::any_of(file_.tensors(), [](stored_tensor const& tensor) {
    return tensor.name.starts_with(detail::average_prefix);
  });
}

bool model_file::has_parameters() const {
  return std::any_of(file_.tensors().begin(), file_.tensors().end(), is_parameter);
}

void model_file::check_network(graph_view net, parameter_set const& into) const {
  std::string const wanted = detail::hash_text(net.hash());
  if (wanted == metadata("graph_hash")) return;
  auto const found = first_difference(into, detail::parameter_tensors(into), true);
  refuse_network(found ? found->name : "", (found ? found->expected + " in " : "") + "network " + wanted,
                 (found ? found->got + " in " : "") + "network " + metadata("graph_hash")
                     + (found ? "" : " with the same parameters but different layers"));
}

void model_file::read_parameters(graph_view net, parameter_set& into) const {
  check_network(net, into);
  read_parameters(into);
}

void model_file::read_parameters(parameter_set& into) const {
  detail::change_of_parameters const change(into);
  read_all(into, detail::parameter_tensors(into), true);
}

void model_file::read_averaged_parameters(graph_view net, parameter_set& into) const {
  check_network(net, into);
  std::vector<detail::model_tensor> list = detail::parameter_tensors(into);
  bool const averaged = has_average();
  if (averaged)
    for (detail::model_tensor& tensor : list)
      if (is_trained(into.table()[static_cast<std::size_t>(tensor.p)].spec.role))
        tensor.name.insert(0, detail::average_prefix);
  detail::change_of_parameters const change(into);
  read_all(into, list, !averaged);
}

std::vector<detail::model_tensor> model_file::checked_state(parameter_set const& parameters,
                                                            optimizer_settings const& settings,
                                                            std::span<std::byte* const> arrays,
                                                            std::byte* average) const {
  if (!optimizer_)
    throw data_error({.what = "cannot read the optimizers' state",
                      .where = file_.name(),
                      .expected = "a model saved with optimizer state",
                      .got = "parameters only"});
  for (parameter const& one : parameters.table()) {
    std::string_view const wanted = settings.rule_of(one.layer(), one.spec.role).rule.name();
    std::string_view const saved = optimizer_->rule_of(one.layer(), one.spec.role).rule.name();
    if (is_trained(one.spec.role) && wanted != saved)
      throw data_error({.what = "cannot read the optimizers' state",
                        .where = {file_.name(), ", ", one.name},
                        .expected = {"state of ", wanted},
                        .got = {"state of ", saved}});
  }
  if (average && !has_average())
    throw data_error({.what = "the file has no moving average of the parameters",
                      .where = file_.name(),
                      .expected = "a file of a run with average_decay, or average_decay = 0",
                      .got = "optimizer state without an average"});
  std::vector<detail::model_tensor> list = detail::state_tensors(parameters, settings, arrays, average);
  check_tensors(parameters, list, false);
  return list;
}

training_position model_file::read_state(parameter_set const& parameters, optimizer_settings const& settings,
                                         std::span<std::byte* const> arrays, std::byte* average) const {
  read_all(parameters, checked_state(parameters, settings, arrays, average), false);
  return position_;
}

void model_file::check_state(parameter_set const& parameters, parameter_update const& update) const {
  checked_state(parameters, update.settings(), update.states(), update.average());
}

training_position model_file::read_state(parameter_set const& parameters, parameter_update& update) const {
  for (detail::model_tensor const& wanted :
       checked_state(parameters, update.settings(), update.states(), update.average())) {
    auto const load = [&](std::byte* arena) {
      detail::tensor_to_load const tensor{values(wanted.name), wanted.p, arena};
      detail::write_dense(parameters, {&tensor, 1}, file_.name());
    };
    wanted.array < 0 ? load(wanted.arena) : update.access_state(wanted.array, wanted.p, load);
  }
  return position_;
}

model_file::model_file(safetensors file) : file_(std::move(file)) {
  if (metadata("format") != detail::model_format)
    refuse_metadata("format", detail::quote_for_error(detail::model_format));
  if (metadata("format_version") != detail::model_format_version)
    refuse_metadata("format_version",
                    detail::text_of({detail::quote_for_error(detail::model_format_version),
                                     ", the version that this library reads; read the file with the library "
                                     "version that wrote it, or train the model again"}));
  if (file_.metadata().contains("content_hash"))
    if (std::string const hash = detail::hash_text(detail::content_hash(
            file_.tensors(), file_.metadata(), [&](stored_tensor const& tensor) { return values(tensor); }));
        hash != metadata("content_hash"))
      throw data_error({.what = "the model file is damaged",
                        .where = {file_.name(), ", metadata \"content_hash\""},
                        .expected = {"the content's hash ", hash},
                        .got = detail::quote_for_error(metadata("content_hash"))});
  metadata("graph");
  metadata("graph_hash");
  if (!file_.metadata().contains("optimizer")) return;
  io::json_document const document = io::parse_json(metadata("optimizer"), file_.name() + " optimizer");
  optimizer_ = optimizer_from_json(document.root());
  // Older files have no position, so training resumes at the beginning of the epoch.
  position_ = {count("step"), count("epoch"), file_.metadata().contains("position") ? count("position") : 0};
  if (!file_.metadata().contains("plateau")) return;
  io::json_document const seen = io::parse_json(metadata("plateau"), file_.name() + " plateau");
  plateau_ = plateau_from_json(seen.root());
}

std::string const& model_file::metadata(std::string const& key) const {
  auto const found = file_.metadata().find(key);
  if (found == file_.metadata().end())
    throw data_error({.what = "cannot read the model",
                      .where = {file_.name(), ", metadata"},
                      .expected = {key == "format" ? "a file that training::save has written, with " : "",
                                   "an entry ", detail::quote_for_error(key)},
                      .got = "no such entry"});
  return found->second;
}

void model_file::refuse_metadata(std::string const& key, std::string expected) const {
  throw data_error({.what = "cannot read the model",
                    .where = {file_.name(), ", metadata ", detail::quote_for_error(key)},
                    .expected = std::move(expected),
                    .got = detail::quote_for_error(metadata(key))});
}

std::int64_t model_file::count(std::string const& key) const {
  std::string const& text = metadata(key);
  std::int64_t number = -1;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || number < 0)
    refuse_metadata(key, "an integer of at least 0");
  return number;
}

bool model_file::is_parameter(stored_tensor const& one) {
  return one.name.rfind(detail::state_prefix, 0) != 0 && one.name.rfind(detail::strategy_prefix, 0) != 0;
}

std::optional<model_file::difference> model_file::first_difference(
    parameter_set const& parameters, std::vector<detail::model_tensor> const& list, bool reject_extra) const {
  std::set<std::string_view> known;
  for (detail::model_tensor const& one : list) {
    shape const& dims = parameters.table()[static_cast<std::size_t>(one.p)].spec.dims;
    auto const found = file_.find(one.name);
    if (!found) return difference{one.name, to_string(dims), "no such tensor"};
    if (!(found->dims == dims)) return difference{one.name, to_string(dims), to_string(found->dims)};
    if (!is_real(found->type)) return difference{one.name, "f32 or f64", std::string(name_of(found->type))};
    known.insert(one.name);
  }
  for (stored_tensor const& one : file_.tensors())
    if (reject_extra && is_parameter(one) && !known.contains(one.name))
      return difference{one.name, "no tensor of this name", to_string(one.view.dims)};
  return std::nullopt;
}

void model_file::refuse_network(std::string const& tensor, std::string expected, std::string got) const {
  throw data_error(
      {.what = "the model belongs to another network",
       .where = {file_.name(), (tensor.empty() ? "" : ", tensor " + detail::quote_for_error(tensor))},
       .expected = std::move(expected),
       .got = std::move(got)});
}

void model_file::check_tensors(parameter_set const& layouts, std::vector<detail::model_tensor> const& list,
                               bool reject_extra) const {
  if (auto const found = first_difference(layouts, list, reject_extra))
    refuse_network(found->name, found->expected, found->got);
}

void model_file::read_all(parameter_set const& layouts, std::vector<detail::model_tensor> const& list,
                          bool reject_extra) const {
  check_tensors(layouts, list, reject_extra);
  for (detail::model_tensor const& wanted : list)
    if (layouts.table()[static_cast<std::size_t>(wanted.p)].spec.role == parameter_role::running_variance)
      detail::require_variances(layouts, {values(wanted.name), wanted.p, wanted.arena}, file_.name());
  for (detail::model_tensor const& wanted : list) {
    detail::tensor_to_load const tensor{values(wanted.name), wanted.p, wanted.arena};
    detail::write_dense(layouts, {&tensor, 1}, file_.name());
  }
}

}  // namespace cohort
