// SPDX-License-Identifier: Apache-2.0
// uses: onednn
#include <gtest/gtest.h>
#include <cohort/cudnn.hpp>
#include <cohort/trainer/trainer.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif
#include <cstdlib>
#include <string>
#include <vector>

#include "../../backend/ladder.hpp"
#include "../../trainer/bright_thirds.hpp"
#include "fake_machine.hpp"

namespace {

using namespace cohort;
using cohort_test::bright_thirds;

#if __has_include(<cohort/onednn.hpp>)
using of_the_processor = onednn;
#else
using of_the_processor = reference<float>;
#endif

/// cudnn on a pretended machine: plan, memory, layouts, descriptions and launches are the real ones.
struct pretended_cudnn : cudnn {
  static inline fake_machine* machine = nullptr;
  pretended_cudnn()
      : cudnn(
          std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine->source()), "")) {}
  static availability probe() { return {}; }
};

class cudnn_backend : public testing::Test {
 protected:
  cudnn_backend() { pretended_cudnn::machine = &machine; }
  ~cudnn_backend() override {
    EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU";
    EXPECT_EQ(fake_blas::descriptions, 0) << "descriptions of cuBLASLt are left";
  }
  fake_machine machine;
};

struct named_network {
  char const* name;
  graph net;
};

std::vector<named_network> networks() {
  std::vector<named_network> all;
  all.push_back({"dense", graph::build([](builder& net) {
                   net.input({7}) | dense{.units = 5} | dense{.units = 3, .bias = false}
                       | softmax_cross_entropy{};
                 })});
  all.push_back({"rectifiers", graph::build([](builder& net) {
                   net.input({3, 4, 5}) | dense{.units = 9} | relu{} | dense{.units = 6}
                       | leaky_relu{.slope = 0.2} | dense{.units = 4} | softmax_cross_entropy{};
                 })});
  all.push_back({"add and several readers", graph::build([](builder& net) {
                   tensor const x = net.input({6}) | dense{.units = 8};
                   tensor const y = x | relu{} | dense{.units = 8};
                   (x + y + (y | dense{.units = 8})) | dense{.units = 3}
                       | softmax_cross_entropy{.label_smoothing = 0.1, .weight = 0.5};
                 })});
  all.push_back({"dropout", graph::build([](builder& net) {
                   net.input({30}) | dense{.units = 22} | dropout{.rate = 0.4} | dense{.units = 3}
                       | softmax_cross_entropy{};
                 })});
  return all;
}

TEST_F(cudnn_backend, agrees_with_the_reference) {
  for (named_network const& one : networks()) {
    SCOPED_TRACE(one.name);
    for (int batch : {1, 3, 16}) {
      trial<pretended_cudnn> got(one.net, {.batch = batch});
      trial<reference<double>> wanted(one.net, {.batch = batch});
      double const loss = wanted.step();
      EXPECT_NEAR(got.step(), loss, 2e-5 * std::max(1.0, loss));
      for (int p = 0; p < wanted.parameters(); ++p)
        ladder::expect_close(got.gradient(p), wanted.gradient(p), {2e-5, 2e-5},
                             "gradient of " + wanted.parameter(p).name);
      trial<pretended_cudnn> inferred(one.net, {.batch = batch, .training = false});
      trial<reference<double>> outputs(one.net, {.batch = batch, .training = false});
      inferred.forward();
      outputs.forward();
      ladder::expect_close(inferred.output(0), outputs.output(0), {2e-5, 2e-5}, "output");
    }
  }
}

constexpr auto mlp = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 20} | relu{} | dropout{.rate = 0.2} | dense{.units = 10}
         | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class B>
std::vector<float> trained(training_settings const& settings, int pieces = 1) {
  bright_thirds const examples(57);
  training made = trainer<B>(mlp, settings);
  made.fit(examples.data(), {.batch = 10, .epochs = 3, .accumulate = pieces});
  std::vector<float> parameters(static_cast<std::size_t>(made.parameters().elements()));
  made.parameters().read_all(made.parameters().master(), reinterpret_cast<std::byte*>(parameters.data()));
  return parameters;
}

TEST_F(cudnn_backend, trains_as_the_reference_does) {
  for (auto const& [workers, pieces] : {std::pair{1, 1}, {1, 3}, {3, 1}}) {
    training_settings const settings{.updater = adam{.rate = 0.01},
                                     .l2 = 1e-4,
                                     .normalisation = normalise::clip_global_norm{1},
                                     .seed = 5,
                                     .workers = workers};
    std::vector<float> const got = trained<pretended_cudnn>(settings, pieces),
                             wanted = trained<reference<float>>(settings, pieces);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 1e-4) << i << ", " << workers << " workers, " << pieces << " pieces";
  }
}

TEST_F(cudnn_backend, learns) {
  bright_thirds const examples(300), held(90, 2);
  training made = trainer<pretended_cudnn>(mlp, {.updater = adam{.rate = 0.01}, .seed = 7});
  made.fit(examples.data(), {.batch = 16, .epochs = 5});
  EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.95);
}

TEST_F(cudnn_backend, refuses_a_layer_that_it_has_no_kernels_for_by_name) {
  try {
    trainer<pretended_cudnn>(cohort_test::small);
    FAIL() << "a plan with a convolution was made";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(),
                 "the backend cudnn has no kernels for this kind of layer (conv2d_1): got conv2d");
  }
}

TEST_F(cudnn_backend, says_so_where_cublaslt_has_no_algorithm) {
  fake_blas::has_algorithms = false;
  EXPECT_THROW(trainer<pretended_cudnn>(mlp), backend_error);
  fake_blas::has_algorithms = true;
}

TEST(cudnn, is_passed_over_and_the_processor_trains) {
  ::unsetenv("BACKEND_PRIORITY_CPU");
  ::unsetenv("BACKEND_PRIORITY_GPU");
  std::vector<std::string> said;
  bright_thirds const examples(20);
  training made = trainer<priority<cudnn, of_the_processor>>(
      mlp, {.log = [&](std::string_view line) { said.emplace_back(line); }});
  made.fit(examples.data(), {.batch = 10});
  ASSERT_FALSE(said.empty());
  std::string const line = "backend: " + std::string(of_the_processor::name) + " (passed over: cudnn: ";
  EXPECT_EQ(said[0].substr(0, line.size()), line);
  EXPECT_EQ(said[0], line + cudnn::probe().reason + ")");
}

TEST(cudnn, says_why_it_cannot_be_used) {
  fake_machine machine;
  EXPECT_EQ(cudnn::probe(machine.source()).reason,
            "it has no convolutions yet (Pretended GPU could be used)");
  machine.libraries.erase("libcuda.so.1");
  availability const found = cudnn::probe(machine.source());
  EXPECT_FALSE(found.usable);
  EXPECT_EQ(found.reason, "the NVIDIA driver cannot be loaded (libcuda.so.1: no such file)");
}

}  // namespace
