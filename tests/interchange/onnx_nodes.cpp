// SPDX-License-Identifier: Apache-2.0
// Imports the cases of ONNX's own tests and compares the outputs:
//   onnx_nodes FOLDER...    each with folders of model.onnx and test_data_set_0/{input,output}_N.pb
// Prints "passed|refused|failed FOLDER/CASE: reason" for each case. An operator's parameters are inputs in
// these files. The parameters become constants if Cohort cannot import them as inputs.
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/io/file.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cstdio>
#include <filesystem>

namespace {

using namespace cohort;
namespace fs = std::filesystem;

std::string contents(fs::path const& path) {
  std::vector<std::byte> const bytes = io::read_file(path.string());
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}
detail::onnx_tensor tensor_in(fs::path const& folder, char const* role, std::size_t number) {
  fs::path const path = folder / "test_data_set_0" / (role + ("_" + std::to_string(number) + ".pb"));
  return detail::read_onnx_tensor(contents(path), path.string());
}

/// Rows of a T×N×C tensor as N×T×C.
std::vector<float> with_batch_first(std::vector<float> const& from, std::vector<std::int64_t>& dims) {
  std::vector<float> to;
  for (std::int64_t n = 0; n < dims[1]; ++n)
    for (std::int64_t t = 0; t < dims[0]; ++t)
      for (std::int64_t c = 0; c < dims[2]; ++c)
        to.push_back(from[static_cast<std::size_t>((t * dims[1] + n) * dims[2] + c)]);
  std::swap(dims[0], dims[1]);
  return to;
}

/// Runs an imported network. Returns a description of the errors in its outputs; empty if they are correct.
std::string compare(imported_model const& made, detail::onnx_model const& model, fs::path const& folder,
                    bool has_batch_second) {
  training run = load_imported<reference<float>>(made);
  graph_view const net = run.network();
  batch_view batch;
  std::vector<std::vector<float>> numbers(made.inputs.size());
  std::vector<std::vector<std::int32_t>> indices(made.inputs.size());
  std::vector<int> const ids = net.with_role(layer_role::input);
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    auto const at = std::ranges::find(model.inputs, made.inputs[i], &detail::onnx_value_info::name);
    detail::onnx_tensor const given =
        tensor_in(folder, "input", static_cast<std::size_t>(at - model.inputs.begin()));
    std::vector<std::int64_t> dims = given.dims;
    if (auto const floats = given.floats()) {
      numbers[i] = has_batch_second && dims.size() == 3 ? with_batch_first(*floats, dims) : *floats;
      batch.count = static_cast<int>(dims[0]);
      batch.inputs.emplace_back(numbers[i].data(), net[ids[i]].output.batched(batch.count));
    } else {
      auto const whole = given.integers();
      if (!whole) return "input of type " + detail::name_of(given.type);
      indices[i].assign(whole->begin(), whole->end());
      batch.count = static_cast<int>(dims[0]);
      batch.inputs.emplace_back(indices[i].data(), net[ids[i]].output.batched(batch.count));
    }
  }
  std::vector<std::string> names;
  for (int const id : net.outputs()) names.push_back(net.name(id));
  // The outputs of this case are rounded to four digits.
  bool const is_rounded = folder.filename() == "test_averagepool_2d_ceil_last_window_starts_on_pad";
  double const tolerance = is_rounded ? 1e-4 : 1e-5;
  std::vector<predictions> const got = run.outputs_of(names, batch);
  for (std::size_t o = 0; o < got.size(); ++o) {
    auto const expected = tensor_in(folder, "output", o).floats();
    if (!expected) return "an output is not float";
    if (expected->size() != got[o].values.size())
      return "output " + std::to_string(o) + " has " + std::to_string(got[o].values.size()) + " elements";
    for (std::size_t i = 0; i < expected->size(); ++i) {
      double const e = static_cast<double>((*expected)[i]), g = static_cast<double>(got[o].values[i]);
      if (e == g || (std::isnan(e) && std::isnan(g))) continue;
      if (!(std::abs(e - g) <= tolerance * std::max(1.0, std::abs(e))))
        return "output " + std::to_string(o) + " differs at " + std::to_string(i) + ": " + std::to_string(g)
               + " instead of " + std::to_string(e);
    }
  }
  return {};
}

struct outcome {
  char const* what;
  std::string reason;
};

/// Runs a case with all its inputs as inputs of the network, then with only one of them.
outcome run_case(fs::path const& folder) {
  std::string reason;
  try {
    detail::onnx_model const model = detail::read_onnx_model(contents(folder / "model.onnx"), "model.onnx");
    bool batch_second = false;
    for (detail::onnx_node const& one : model.nodes) {
      auto const layout = one.find("layout");
      bool const reads_steps =
          (one.op == "LSTM" || one.op == "GRU" || one.op == "RNN") && !(layout && layout->i != 0)
          && std::ranges::find(model.inputs, one.inputs.at(0), &detail::onnx_value_info::name)
                 != model.inputs.end();
      batch_second = batch_second || reads_steps;
    }
    for (std::size_t attempt = 0; attempt <= model.inputs.size(); ++attempt) try {
        detail::onnx_model bound = model;
        for (std::size_t i = 0; attempt > 0 && i < model.inputs.size(); ++i) {
          bool const is_known =
              std::ranges::find(model.initializers, model.inputs[i].name, &detail::onnx_tensor::name)
              != model.initializers.end();
          if (is_known || i + 1 == attempt || model.inputs[i].type == detail::onnx_type::undefined) continue;
          bound.initializers.push_back(tensor_in(folder, "input", i));
          bound.initializers.back().name = model.inputs[i].name;
        }
        imported_model const made = detail::onnx_importer(bound, "model.onnx", {}).run();
        if (made.inputs.empty()) continue;
        std::string const wrong = compare(made, model, folder, batch_second);
        return wrong.empty() ? outcome{"passed", attempt == 0 ? "" : "with constants"}
                             : outcome{"failed", wrong};
      } catch (graph_error const& why) {
        if (attempt < 2) reason = why.what();
      }
  } catch (data_error const& why) {
    reason = why.what();
  } catch (std::exception const& why) {
    return {"failed", why.what()};
  }
  return {"refused", reason};
}

}  // namespace

int main(int argc, char** argv) {
  int failed = 0;
  for (int argument = 1; argument < argc; ++argument) {
    std::vector<fs::path> folders;
    for (auto const& entry : fs::directory_iterator(argv[argument]))
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    for (fs::path const& folder : folders) {
      outcome const made = run_case(folder);
      std::printf("%s %s/%s: %s\n", made.what, fs::path(argv[argument]).filename().c_str(),
                  folder.filename().c_str(), made.reason.c_str());
      failed += std::string_view(made.what) == "failed";
    }
  }
  return failed > 0 ? 1 : 0;
}
