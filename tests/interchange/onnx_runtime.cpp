// SPDX-License-Identifier: Apache-2.0
// Writes networks of every kind of layer as ONNX files, with inputs and Cohort's outputs:
//   onnx_runtime FOLDER
#include <sys/stat.h>
#include <cmath>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cstdio>
#include <set>

#include "onnx_networks.hpp"

namespace {

using namespace onnx_networks;

std::string bytes_of_tensor(tensor_view one) {
  return {reinterpret_cast<char const*>(one.data), one.bytes()};
}

/// Writes the model, and `case.txt`: a line "role name type extents" for each tensor of data.bin.
void write_case(std::string const& folder, network_case const& one, std::mt19937& random,
                std::set<std::string_view>& kinds) {
  mkdir(folder.c_str(), 0777);
  training run = trainer<reference<float>>(graph::build(one.describe));
  fill_parameters(run, random);
  if (one.prepare) one.prepare(run);
  graph_view const net = run.network();
  for (int id = 0; id < net.size(); ++id) kinds.insert(net.kind(id).name);
  std::string list, data;
  auto const write = [&](char const* role, std::string const& name, tensor_view values) {
    list += std::string(role) + ' ' + name + ' ' + (values.type == element_type::i32 ? "int32" : "float32");
    for (int axis = 0; axis < values.dims.rank; ++axis) list += ' ' + std::to_string(values.dims[axis]);
    list += '\n';
    data += bytes_of_tensor(values);
  };
  random_batch const batch(net, random);
  std::size_t masks = 0;
  std::vector<int> const inputs = net.with_role(layer_role::input);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    write("input", net.name(inputs[i]), batch.view.inputs[i]);
    if (net[inputs[i]].mask != inputs[i]) continue;
    std::vector<std::int32_t> const& lengths = batch.lengths[masks++];
    if (net.kind(inputs[i]) == kind_of<masked_input>)
      write("lengths", net.name(inputs[i]) + ".lengths",
            tensor_view(lengths.data(), shape{random_batch::count}));
  }
  std::vector<std::string> outputs;
  for (int const id : net.outputs()) outputs.push_back(net.name(id));
  std::vector<predictions> const made = run.outputs_of(outputs, batch.view);
  for (std::size_t o = 0; o < made.size(); ++o)
    write(net[net.outputs()[o]].mask >= 0 ? "masked_output" : "output", outputs[o],
          tensor_view(made[o].values.data(), made[o].example.batched(random_batch::count)));
  export_onnx(run, folder + "/model.onnx", one.how);
  io::write_file(folder + "/case.txt", list);
  io::write_file(folder + "/data.bin", data);
}

/// A network whose inputs are the columns of a table.
void write_encoded(std::string const& folder) {
  mkdir(folder.c_str(), 0777);
  std::string const header = "age,town,colour,shop,price\n";
  data_table const training_rows =
      parse_table(header + "20,Ulm,red,a,1\n30,Bonn,blue,b,2\n,Ulm,green,c,3\n50,Kiel,red,a,4\n", "rows",
                  {.missing = missing_values::keep});
  table_encoder const encoder(
      training_rows,
      {.target = "price", .regression = true, .indexed = {"shop"}, .impute = imputation::mean});
  arrays const examples = encoder.examples(training_rows);
  training run = trainer<reference<float>>(graph::build([&](builder& b) {
    auto const columns = b.input({examples.describe().inputs[0].example[0]}, "columns");
    auto const shop = b.input({1}, "shop")
                      | embedding{.vocabulary = encoder.column("shop").width(), .width = 2} | flatten{};
    return concat(columns, shop) | dense{.units = 1} | mean_squared_error{.name = "price"};
  }));
  std::mt19937 random(8);
  fill_parameters(run, random);
  run.keep(encoder);
  run.normalise(examples, {.targets = rescaling::standardise});
  data_table const rows = parse_table(header + "25,Kiel,blue,c,\n,Bonn,green,b,\n35,Ulm,red,a,\n", "rows",
                                      {.missing = missing_values::keep});
  predictions const made = run.predict(rows);
  export_onnx(run, folder + "/model.onnx");
  float const ages[]{25, std::nanf(""), 35};
  std::string data(reinterpret_cast<char const*>(ages), sizeof ages);
  data.append(reinterpret_cast<char const*>(made.values.data()), 4 * made.values.size());
  io::write_file(folder + "/data.bin", data);
  io::write_file(folder + "/case.txt",
                 "input age float32 3 1\ntexts town Kiel Bonn Ulm\ntexts colour blue green red\n"
                 "texts shop c b a\noutput price float32 3 1\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::mt19937 random(7);
  int failed = 0;
  std::set<std::string_view> kinds;
  for (network_case const& one : all_cases()) try {
      write_case(std::string(argv[1]) + '/' + one.name, one, random, kinds);
    } catch (std::exception const& why) {
      std::printf("%s: %s\n", one.name.c_str(), why.what());
      ++failed;
    }
  for (kind const* const one : built_in_kinds())
    if (!kinds.contains(one->name)) {
      std::printf("no network has a layer of kind %s\n", std::string(one->name).c_str());
      ++failed;
    }
  write_encoded(std::string(argv[1]) + "/encoded");
  return failed;
}
