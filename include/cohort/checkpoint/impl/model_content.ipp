// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/version.hpp>
#include <exception>
#include <utility>

namespace cohort::detail {

inline constexpr std::string_view listener_prefix = "listener/", data_prefix = "data/";

std::vector<model_tensor> parameter_tensors(parameter_set const& parameters) {
  std::vector<model_tensor> list;
  for (parameter const& one : parameters.table())
    list.push_back({one.name, static_cast<int>(list.size()), parameters.master()});
  return list;
}

std::vector<model_tensor> state_tensors(parameter_set const& parameters, optimizer_settings const& settings,
                                        std::span<std::byte* const> arrays, std::byte* average) {
  std::vector<model_tensor> list;
  for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p) {
    parameter const& one = parameters.table()[static_cast<std::size_t>(p)];
    if (!is_trained(one.spec.role)) continue;
    optimizer_rule const rule = settings.rule_of(one.layer(), one.spec.role, one.spec.dims.rank).rule;
    int const count = rule.state_arrays();
    if (arrays.size() < static_cast<std::size_t>(count))
      throw setting_error({.what = "too few arrays of optimizer state",
                           .where = one.name,
                           .expected = {count, " for ", rule.name()},
                           .got = {arrays.size()}});
    for (int k = 0; k < count; ++k)
      list.push_back({std::string(state_prefix) + std::string(rule.state_name(k)) + '/' + one.name, p,
                      arrays[static_cast<std::size_t>(k)], k});
    if (average) list.push_back({std::string(average_prefix) + one.name, p, average});
  }
  return list;
}

std::uint64_t content_hash(std::span<stored_tensor const> tensors, safetensors_metadata const& metadata,
                           tensor_reader const& read) {
  std::uint64_t hash = fnv1a(model_format);
  for (auto const& [key, text] : metadata)
    if (key != "content_hash") hash = fnv1a(text, fnv1a(key, hash));
  std::vector<stored_tensor const*> order;
  for (stored_tensor const& one : tensors) order.push_back(&one);
  std::sort(order.begin(), order.end(), [](auto a, auto b) { return a->name < b->name; });
  for (stored_tensor const* one : order) {
    tensor_view const values = read ? read(*one) : one->view;
    hash = fnv1a({reinterpret_cast<char const*>(values.data), values.bytes()}, fnv1a(one->name, hash));
  }
  return hash;
}

/// A file that is written to the end, also if the disk is full, because other ranks send their parts until
/// then. commit() throws the first error.
class draining_writer {
 public:
  /// Without a path, all bytes are discarded.
  explicit draining_writer(std::optional<std::string> const& path) {
    if (path) attempt([&] { file_.emplace(*path); });
  }
  void write(char const* data, std::size_t bytes) {
    attempt([&] {
      if (file_) file_->write(data, bytes);
    });
  }
  void commit() {
    if (failure_) std::rethrow_exception(failure_);
    if (file_) file_->commit();
  }

 private:
  template <class Action>
  void attempt(Action action) {
    if (failure_) return;
    try {
      action();
    } catch (file_error const&) {
      failure_ = std::current_exception();
    }
  }

  std::optional<io::file_writer> file_{};
  std::exception_ptr failure_{};
};

void require_same_parameters(graph_view net, parameter_set const& parameters) {
  std::size_t p = 0;
  for (int id = 0; id < net.size(); ++id) {
    if (net.owner(id) != id) continue;
    for (parameter_spec const& spec : net.parameters(id)) {
      std::string const name = net.name(id) + '.' + std::string(spec.name);
      bool const known = p < parameters.table().size();
      if (known && parameters.table()[p].name == name && parameters.table()[p].spec.dims == spec.dims) {
        ++p;
        continue;
      }
      throw shape_error(
          {.what = "the parameters belong to another network",
           .where = name,
           .expected = to_string(spec.dims),
           .got = known ? parameters.table()[p].name + ' ' + to_string(parameters.table()[p].spec.dims)
                        : "no more parameters"});
    }
  }
  if (p < parameters.table().size())
    throw shape_error({.what = "the parameters belong to another network",
                       .expected = "no more parameters",
                       .got = parameters.table()[p].name});
}

}  // namespace cohort::detail

namespace cohort {

model_content::model_content(graph_view net, detail::tensor_source source)
    : model_content(net, std::move(source), network_metadata(net)) {}

model_content::model_content(graph_view net, detail::tensor_source source, safetensors_metadata network)
    : net_(net), network_hash_(net.hash()), metadata_(std::move(network)), source_(std::move(source)) {}

safetensors_metadata model_content::network_metadata(graph_view net) {
  return {{"format", std::string(detail::model_format)},
          {"format_version", std::string(detail::model_format_version)},
          {"library_version", std::string(library_version)},
          {"graph", to_json(net)},
          {"graph_hash", detail::hash_text(net.hash())}};
}

std::span<stored_tensor const> model_content::tensors() const& { return tensors_; }

model_content& model_content::add_parameters(parameter_set const& parameters) {
  detail::require_same_parameters(net_, parameters);
  add_dense(parameters, detail::parameter_tensors(parameters));
  return *this;
}

model_content& model_content::add_state(parameter_set const& parameters, optimizer_state_view const& state) {
  detail::require_same_parameters(net_, parameters);
  add_dense(parameters, detail::state_tensors(parameters, state.settings, state.arrays, state.average));
  metadata_.insert_or_assign("optimizer", to_json(state.settings));
  if (state.plateau != plateau()) metadata_.insert_or_assign("plateau", to_json(state.plateau));
  metadata_.insert_or_assign("step", std::to_string(state.position.step));
  metadata_.insert_or_assign("epoch", std::to_string(state.position.epoch));
  metadata_.insert_or_assign("position", std::to_string(state.position.position));
  return *this;
}

model_content& model_content::add(std::string name, tensor_view tensor) {
  require_strategy(name);
  tensors_.push_back({std::move(name), tensor});
  return *this;
}

model_content& model_content::add_metadata(std::string key, std::string text) {
  if (!key.starts_with(detail::listener_prefix) && !key.starts_with(detail::data_prefix))
    require_strategy(key);
  metadata_.insert_or_assign(std::move(key), std::move(text));
  return *this;
}

void model_content::require_strategy(std::string const& name) {
  if (name.rfind(detail::strategy_prefix, 0) != 0)
    throw setting_error({.what = "cannot add the entry to a model",
                         .where = detail::quote_for_error(name),
                         .expected = "a name that begins with strategy/",
                         .got = {}});
}

void model_content::add_dense(parameter_set const& parameters, std::vector<detail::model_tensor> list) {
  for (detail::model_tensor& one : list) {
    shape const& dims = parameters.table()[static_cast<std::size_t>(one.p)].spec.dims;
    if (source_.is_deferred) {
      tensors_.push_back({one.name, tensor_view(nullptr, parameters.type(), dims)});
      deferred_.emplace_back(tensors_.size() - 1, std::move(one));
      continue;
    }
    buffer dense(static_cast<std::size_t>(dims.elements()) * bytes_of(parameters.type()));
    if (source_.read)
      source_.read(one, dense.data());
    else
      parameters.read(one.p, one.arena, dense.data());
    tensors_.push_back({std::move(one.name), tensor_view(dense.data(), parameters.type(), dims)});
    memory_.push_back(std::move(dense));
  }
}

tensor_view model_content::read(stored_tensor const& tensor) const {
  auto const index = static_cast<std::size_t>(&tensor - tensors_.data());
  auto const found = std::ranges::lower_bound(deferred_, index, {}, &decltype(deferred_)::value_type::first);
  if (found == deferred_.end() || found->first != index) return tensor.view;
  dense_.resize(tensor.view.bytes());
  if (!source_.read(found->second, dense_.data())) return {nullptr, tensor.view.type, {0}};
  return {dense_.data(), tensor.view.type, tensor.view.dims};
}

void detail::check_model(model_content const& content) {
  safetensors_metadata sealed = content.metadata();
  sealed.insert_or_assign("content_hash", hash_text(0));
  check_safetensors(content.tensors(), sealed);
}

std::uint64_t write_model(io::byte_sink_ref sink, model_content const& content) {
  auto const read = [&](stored_tensor const& tensor) { return content.read(tensor); };
  std::uint64_t const hash = detail::content_hash(content.tensors(), content.metadata(), read);
  safetensors_metadata sealed = content.metadata();
  sealed.insert_or_assign("content_hash", detail::hash_text(hash));
  write_safetensors(sink, content.tensors(), sealed, read);
  return hash;
}

std::uint64_t write_model(io::byte_sink_ref sink, graph_view net, parameter_set const& parameters,
                          std::optional<optimizer_state_view> const& state) {
  model_content content(net);
  content.add_parameters(parameters);
  if (state) content.add_state(parameters, *state);
  return write_model(sink, content);
}

std::uint64_t save_model(std::string const& path, model_content const& content) {
  io::file_writer file(path);
  std::uint64_t const hash = write_model(file, content);
  file.commit();
  return hash;
}

std::uint64_t detail::save_model_of_ranks(communicator& world, std::optional<std::string> const& path,
                                          model_content const& content) try {
  draining_writer file(path);
  std::uint64_t const hash = write_model(file, content);
  file.commit();
  return hash;
} catch (communicator_error const&) {
  throw;
} catch (file_error const&) {
  throw;
} catch (std::exception const& failure) {
  if (content.is_collective()) world.abort(failure.what());  // the other ranks wait for this rank's parts
  throw;
}

std::uint64_t save_model(std::string const& path, graph_view net, parameter_set const& parameters,
                         std::optional<optimizer_state_view> const& state) {
  io::file_writer file(path);
  std::uint64_t const hash = write_model(file, net, parameters, state);
  file.commit();
  return hash;
}

}  // namespace cohort
