// SPDX-License-Identifier: Apache-2.0
// label: slow long libraries
// The installed libraries, without a GPU: cuDNN plans every convolution of the conformance ladder and of the
// reference networks for six GPUs, and cuBLASLt accepts the descriptors of matrix products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/cudnn/detail/convolution_on_gpu.hpp>
#include <cohort/cudnn/detail/cublaslt_functions.hpp>
#include <cohort/cudnn/detail/matrix_product.hpp>
#include <cohort/graph/graph.hpp>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../../benchmarks/networks.hpp"
#include "../../backend/operations.hpp"
#include "fake_machine.hpp"
#include "planning_dnn.hpp"

namespace cudnn_deviceless_test {

using namespace cohort;
using detail::convolution_pass, detail::convolution_variant, detail::product_precision;

struct gpu_description {
  char const* name;
  int capability;
};
constexpr gpu_description gpus[]{{"t4", 75},   {"a100", 80},  {"rtx4090", 89},
                                 {"h100", 90}, {"b200", 100}, {"rtx5090", 120}};

std::string text_of(char const* gpu) {
  std::ifstream in(COHORT_SOURCE_DIR "/tests/backends/cudnn/gpus/" + std::string(gpu) + ".json");
  std::stringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

struct planned_convolution {
  std::string name;
  detail::convolution_windows windows;
  int batch;
};

/// The convolutions of a network, except those whose windows and batch are in `known`.
void add_convolutions(graph_view net, std::string const& of, int batch, std::set<std::string>& known,
                      std::vector<planned_convolution>& to) {
  for (int id = 0; id < net.size(); ++id) {
    std::optional<detail::convolution_windows> windows;
    if (net.kind(id) == kind_of<conv2d>) {
      auto const layer = detail::decode<conv2d>(net.fields(id));
      windows =
          detail::convolution_windows{net.input_shapes(id)[0], net[id].output, layer.window(), layer.groups};
    } else if (net.kind(id) == kind_of<conv2d_transposed>) {
      auto const layer = detail::decode<conv2d_transposed>(net.fields(id));
      windows = detail::convolution_windows{net[id].output, net.input_shapes(id)[0], layer.window(),
                                            layer.groups, true};
    }
    if (!windows) continue;
    std::ostringstream key;
    for (shape const& one : {windows->image, windows->map})
      for (int axis = 0; axis < 3; ++axis) key << one[axis] << ' ';
    for (int const c : {0, 1}) {
      auto const border = c == 0 ? vertical_border(windows->window, windows->image[1])
                                 : horizontal_border(windows->window, windows->image[2]);
      key << border.before << ' ' << border.after << ' ';
    }
    key << windows->window.size.height << ' ' << windows->window.size.width << ' '
        << windows->window.stride.height << ' ' << windows->window.stride.width << ' '
        << windows->window.dilation.height << ' ' << windows->window.dilation.width << ' ' << windows->groups
        << ' ' << windows->transposed << ' ' << batch;
    if (known.insert(key.str()).second)
      to.push_back({of + ": " + std::string(net.kind(id).name) + ' ' + std::to_string(id), *windows, batch});
  }
}

std::vector<planned_convolution> all_convolutions() {
  std::vector<planned_convolution> made;
  std::set<std::string> known;
  operations::each_row([&](operations::row const& r) {
    for (int const batch : {1, 16})
      add_convolutions(operations::network_of(r, 1, true), r.name, batch, known, made);
  });
  add_convolutions(graph(benchmarks::lenet), "lenet", 64, known, made);
  add_convolutions(graph(benchmarks::cifar), "cifar", 128, known, made);
  add_convolutions(graph(benchmarks::darknet), "darknet", 64, known, made);
  add_convolutions(benchmarks::resnet50(), "resnet50", 64, known, made);
  return made;
}

class deviceless_planning : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = planning_dnn::missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

/// Bytes of scratch memory of the pass that needs most; none if a pass has no plan.
std::optional<std::size_t> scratch_of(detail::gpu_target const& where, planned_convolution const& one,
                                      convolution_variant const& variant) {
  std::size_t most = 0;
  try {
    for (convolution_pass const pass :
         {convolution_pass::output, convolution_pass::input, convolution_pass::weights})
      most = std::max(
          most,
          detail::convolution_on_gpu(where, pass, one.windows, one.batch, one.name, variant).scratch_bytes());
  } catch (detail::no_convolution_engine const&) {
    return std::nullopt;
  }
  return most;
}

/// Bytes of the outputs of a network's layers.
std::size_t bytes_of_outputs(graph_view net, std::size_t batch, std::size_t bytes_per_element) {
  std::size_t elements = 0;
  for (int id = 0; id < net.size(); ++id) elements += static_cast<std::size_t>(net[id].output.elements());
  return elements * batch * bytes_per_element;
}

TEST_F(deviceless_planning, finds_a_plan_for_every_convolution_on_every_gpu) {
  std::vector<planned_convolution> const all = all_convolutions();
  ASSERT_GT(all.size(), 40U);
  for (gpu_description const& gpu : gpus) {
    planning_dnn const dnn(text_of(gpu.name));
    fake_machine machine;
    machine.major = gpu.capability / 10, machine.minor = gpu.capability % 10;
    machine.dnn = planning_dnn::functions(machine.dnn);
    auto const stream =
        std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
    auto const handle = std::make_shared<detail::dnn_on_gpu const>(stream);
    for (product_precision const products :
         {product_precision::f32, product_precision::tf32, product_precision::bf16}) {
      if (gpu.capability < 80 && products != product_precision::f32) continue;  // probe rejects it
      detail::gpu_target const where{.stream = stream, .blas = nullptr, .dnn = handle, .products = products};
      std::map<std::pair<bool, product_precision>, int> plans;  // number of plans per variant
      std::size_t most_scratch = 0;                             // scratch memory of ResNet-50's convolutions
      int of_resnet50 = 0;
      for (planned_convolution const& one : all) {
        bool any = false;
        for (convolution_variant const& variant : detail::variants_of(products)) {
          if (any && variant.products != products) continue;  // planned as f32
          std::optional<std::size_t> const scratch = scratch_of(where, one, variant);
          plans[{variant.channels_last, variant.products}] += scratch ? 1 : 0;
          if (scratch && !any && one.name.starts_with("resnet50")) {
            most_scratch = std::max(most_scratch, *scratch);
            ++of_resnet50;
          }
          any = any || scratch;
        }
        EXPECT_TRUE(any) << one.name << ", batch " << one.batch << ", " << name_of(products) << ", on "
                         << gpu.name;
      }
      std::cout << gpu.name << ' ' << name_of(products) << ": of " << all.size() << " convolutions";
      for (auto const& [variant, count] : plans)
        std::cout << ", " << count << ' ' << (variant.first ? "channels last" : "channels first") << " in "
                  << name_of(variant.second);
      // All layers share one piece of scratch memory, so a step needs the largest once.
      double const share = static_cast<double>(most_scratch)
                           / static_cast<double>(bytes_of_outputs(
                               benchmarks::resnet50(), 64, products == product_precision::bf16 ? 2 : 4));
      EXPECT_GT(of_resnet50, 10);
      EXPECT_LT(share, 0.1);
      std::cout << "; ResNet-50's convolutions need up to " << static_cast<double>(most_scratch) / 1e6
                << " MB of scratch memory, " << share << " of its layers' outputs" << std::endl;
    }
  }
}

/// The installed cuBLASLt checks the bytes of each attribute. Without a GPU it chooses no algorithm.
TEST(cublaslt, accepts_the_descriptors_of_matrix_products) {
  static detail::cublaslt_functions real;
  std::string const names[]{"libcublasLt.so.13", "libcublasLt.so.12"};
  try {
    real = detail::load_functions<detail::cublaslt_functions>(detail::system_libraries(), "cuBLASLt", names);
  } catch (backend_error const& why) {
    GTEST_SKIP() << why.what();
  }
  EXPECT_EQ(real.version() / 10000, static_cast<std::size_t>(CUBLAS_VER_MAJOR));
  fake_machine machine;
  detail::cublaslt_functions const fake = machine.blas;
  machine.blas = real;
  machine.blas.create = fake.create, machine.blas.destroy = fake.destroy;
  machine.blas.choose = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                           cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t* to, int* count) {
    to->state = CUBLAS_STATUS_SUCCESS;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
  };
  auto const blas = std::make_shared<detail::blas_on_gpu>(
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), ""));
  for (product_precision const products :
       {product_precision::f32, product_precision::tf32, product_precision::bf16})
    for (bool const has_bias : {false, true})
      EXPECT_NO_THROW(detail::matrix_product(
          blas, {.m = 8, .n = 16, .k = 24, .transposes_a = true, .has_bias = has_bias}, products))
          << name_of(products);
  // A wrong size is rejected, so the calls above check sizes.
  cublasLtMatmulDesc_t product = nullptr;
  ASSERT_EQ(real.create_product(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  char const byte = 0;
  EXPECT_NE(real.set_product(product, CUBLASLT_MATMUL_DESC_TRANSA, &byte, 1), CUBLAS_STATUS_SUCCESS);
  real.destroy_product(product);
}

}  // namespace cudnn_deviceless_test
