// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>

namespace cohort {

caffe_model import_caffe(prototxt_message const& net, std::string const& weights,
                         caffe_import_settings const& settings) {
  detail::caffe_importer importer(net, settings);
  std::vector<detail::caffe_trained_layer> trained;
  if (!weights.empty()) {
    std::vector<std::byte> const bytes = io::read_file(weights);
    trained = detail::read_caffemodel({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, weights);
  }
  return importer.run(trained, weights);
}

caffe_model import_caffe(std::string const& path, std::string const& weights,
                         caffe_import_settings const& settings) {
  return import_caffe(read_prototxt(path), weights, settings);
}
caffe_model import_caffe(std::string const& path, caffe_import_settings const& settings) {
  return import_caffe(path, std::string(), settings);
}

std::vector<caffe_data_layer> caffe_data_layers(prototxt_message const& net, caffe_state const& state) {
  std::vector<caffe_data_layer> all;
  for (detail::caffe_layer& each : detail::caffe_layers(net, state))
    if (detail::is_caffe_data(each.type) && each.type != "Input")
      all.push_back(
          {std::move(each.name), std::move(each.type), std::move(each.tops), std::move(each.message)});
  return all;
}

void check_continuation(std::span<float const> continuation, std::span<float const> labels, int ignored,
                        std::int64_t example) {
  auto const refuse = [&](std::size_t step, detail::clause problem, detail::clause expected, float got) {
    throw data_error({.what = std::move(problem),
                      .where = {"example ", example, ", step ", step},
                      .expected = std::move(expected),
                      .got = {got}});
  };
  std::size_t steps = continuation.size();
  for (std::size_t t = 0; t < continuation.size(); ++t) {
    if (t < steps && t > 0 && continuation[t] == 0) steps = t;
    if (t == 0 ? continuation[t] != 0 : t < steps && continuation[t] != 1)
      refuse(t, "the continuation indicators (cont) are not those of one sequence",
             t == 0 ? "0 at step 0" : "1, or 0 after the end of the sequence", continuation[t]);
    if (t >= steps && (t >= labels.size() || labels[t] != static_cast<float>(ignored)))
      refuse(t,
             "a step after the end of the sequence (cont 0) has a label: a second sequence is not supported",
             {"the ignored label ", ignored}, t < labels.size() ? labels[t] : 0);
  }
}

namespace {

std::vector<float> values_of(parameter_set const& parameters, int p) {
  auto const count =
      static_cast<std::size_t>(parameters.table()[static_cast<std::size_t>(p)].spec.dims.elements());
  std::vector<float> values(count);
  if (parameters.type() == element_type::f32) {
    parameters.read(p, parameters.master(), reinterpret_cast<std::byte*>(values.data()));
  } else {
    std::vector<double> wide(count);
    parameters.read(p, parameters.master(), reinterpret_cast<std::byte*>(wide.data()));
    std::ranges::transform(wide, values.begin(), [](double value) { return static_cast<float>(value); });
  }
  return values;
}

}  // namespace

void save_caffemodel(caffe_model const& from, parameter_set const& parameters, std::string const& path) {
  std::vector<detail::caffe_trained_layer> layers;
  for (detail::caffe_parameter_blob const& each : from.parameters) {
    std::vector<float> values;
    for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
      if (parameters.table()[static_cast<std::size_t>(p)].name == each.parameter
          && parameters.table()[static_cast<std::size_t>(p)].spec.dims == each.parameter_dims)
        values = values_of(parameters, p);
    if (static_cast<std::int64_t>(values.size()) != each.parameter_dims.elements())
      throw data_error({.what = "the parameters belong to another network",
                        .where = {path, ", parameter ", each.parameter},
                        .expected = to_string(each.parameter_dims),
                        .got = "no such parameter"});
    if (layers.empty() || layers.back().name != each.layer) {
      auto const found = std::ranges::find(layers, each.layer, &detail::caffe_trained_layer::name);
      if (found != layers.end())
        std::rotate(found, found + 1, layers.end());
      else
        layers.push_back({.name = each.layer, .type = each.type});
    }
    auto& blobs = layers.back().blobs;
    if (blobs.size() <= each.index) blobs.resize(each.index + 1);
    blobs[each.index] = {.dims = each.dims, .values = each.values_in(values)};
    if (each.divided) {
      blobs.resize(3);
      blobs[2] = {.dims = {1}, .values = {1}};
    }
  }
  io::write_file(path, detail::write_caffemodel(layers));
}

}  // namespace cohort
