// SPDX-License-Identifier: Apache-2.0
// uses: onednn
#include <gtest/gtest.h>
#include <cohort/cudnn.hpp>
#include <cohort/training/own_backend.hpp>
#include <cohort/training/trainer.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../data/refused.hpp"
#include "../../execution/with_variable.hpp"
#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

namespace cudnn_test {

using namespace cohort;
using cohort_test::bright_thirds;

#if __has_include(<cohort/onednn.hpp>)
using of_the_processor = onednn;
#else
using of_the_processor = reference<float>;
#endif

constexpr auto with_a_layer_of_a_user = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 20} | operations::bent{} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// The first log line, and the accuracy after training.
template <class Gpu>
std::pair<std::string, double> trained_by_priority(graph const& net) {
  cohort_test::with_variable const no_cpu("BACKEND_PRIORITY_CPU", nullptr),
      no_gpu("BACKEND_PRIORITY_GPU", nullptr);
  std::vector<std::string> said;
  bright_thirds const examples(200);
  training made = trainer<priority<Gpu, of_the_processor>>(
      net, {.optimizer = {adam{.learning_rate = 0.01}},
            .log = [&](std::string_view line) { said.emplace_back(line); }});
  made.fit(examples.data(), {.batch = 10, .epochs = 3});
  return {said.empty() ? "" : said[0], made.evaluate(examples.data()).accuracy().value()};
}

class cudnn_backend : public testing::Test {
 protected:
  cudnn_backend() { pretended_cudnn::machine = &machine; }
  ~cudnn_backend() override {
    EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU";
    EXPECT_TRUE(machine.page_locked.empty()) << "memory is left locked";
    EXPECT_EQ(fake_blas::descriptions, 0) << "descriptions of cuBLASLt are left";
    EXPECT_EQ(fake_dnn::descriptions(), 0) << "descriptions of cuDNN are left";
    EXPECT_EQ(fake_dnn::handles, 0) << "handles of cuDNN are left";
    EXPECT_EQ(machine.contexts, 0) << "a context is left";
  }
  fake_dnn::settings with;
  fake_machine machine;
};

TEST_F(cudnn_backend, agrees_with_the_reference) {
  cudnn_cases::agrees_with_the_reference<pretended_cudnn>();
}
TEST_F(cudnn_backend, trains_like_the_reference) {
  cudnn_cases::trains_like_the_reference<pretended_cudnn>();
}
/// The kernels of this GPU compute sums in pairs of f32 numbers instead of f64.
TEST_F(cudnn_backend, agrees_with_the_reference_on_a_gpu_with_few_f64_units) {
  machine.major = 8, machine.minor = 9;
  cudnn_cases::agrees_with_the_reference<pretended_cudnn>();
  cudnn_cases::trains_like_the_reference<pretended_cudnn>();
  cudnn_cases::layers_of_images_agree_with_the_reference<pretended_cudnn>();
  EXPECT_TRUE(machine.splits_sums);
}
TEST_F(cudnn_backend, trains_with_frozen_layers_like_the_reference) {
  cudnn_cases::freezes_like_the_reference<pretended_cudnn>();
}
TEST_F(cudnn_backend, weighs_examples_and_draws_masks_like_the_reference) {
  cudnn_cases::weighs_examples_and_draws_masks_like_the_reference<pretended_cudnn>();
}
TEST_F(cudnn_backend, refuses_an_index_out_of_range_like_the_reference) {
  cudnn_cases::refuses_an_index_like_the_reference<pretended_cudnn>();
}
TEST_F(cudnn_backend, learns) { cudnn_cases::learns<pretended_cudnn>(); }

TEST_F(cudnn_backend, multiplies_in_tf32_if_selected) {
  fake_dnn::now.varies_with_shape = false;
  graph const net(cudnn_cases::lenet);
  trial<pretended_cudnn_tf32> rounded(net, {.batch = 2});
  trial<pretended_cudnn> exact(net, {.batch = 2});
  EXPECT_NEAR(rounded.step(), exact.step(), 1e-2);
  EXPECT_EQ(fake_dnn::runs, (std::map<std::int64_t, int>{{3, 5}, {6, 5}})) << "engines of both";
  for (int p = 0; p < exact.parameters(); ++p) {
    SCOPED_TRACE(exact.parameter(p).name);
    EXPECT_NE(rounded.gradient(p), exact.gradient(p));
    std::vector<float> const wanted = exact.gradient(p);
    ladder::expect_close(rounded.gradient(p), std::vector<double>(wanted.begin(), wanted.end()), {4e-2, 2e-2},
                         "gradient");
  }
}

TEST_F(cudnn_backend, in_tf32_is_not_usable_if_the_gpu_has_no_tensor_cores_for_tf32) {
  machine.major = 7;
  machine.minor = 5;
  EXPECT_EQ(pretended_cudnn::probe().reason, "");
  EXPECT_EQ(pretended_cudnn_tf32::probe().reason,
            "the GPU has no tensor cores for TF32 (Pretended GPU): expected compute capability 8.0, got 7.5");
  machine.major = 8;
  machine.minor = 0;
  EXPECT_EQ(pretended_cudnn_tf32::probe().reason, "");
}

/// Batches, losses and numbers of examples are copied while the processor continues. At the end of a step,
/// the processor waits for the check of the gradient, and once more for norms of all parameters.
TEST_F(cudnn_backend, waits_for_the_gpu_once_per_step) {
  auto const waits = [&](graph const& net, dataset const& examples, gradient_normalisation const& how = {}) {
    training made = trainer<pretended_cudnn>(net, {.optimizer = {.rule = adam{}, .normalisation = how}});
    machine.waits = 0;
    made.fit(examples, {.batch = 10});
    return machine.waits.load();
  };
  cudnn_cases::large_thirds const large(70), less_large(30);
  EXPECT_EQ(
      waits(graph(cudnn_cases::lenet), large.data()) - waits(graph(cudnn_cases::lenet), less_large.data()),
      4);
  bright_thirds const small(70), smaller(30);
  for (graph const& net : {graph(cudnn_cases::normed), graph(cudnn_cases::mlp)})
    EXPECT_EQ(waits(net, small.data()) - waits(net, smaller.data()), 4);
  graph const mlp(cudnn_cases::mlp);
  normalise::clip_global_norm const clipped{1};
  EXPECT_EQ(waits(mlp, small.data(), clipped) - waits(mlp, smaller.data(), clipped), 8) << "for the norm";
}

/// From the second step on, forward and backward are one launch each.
TEST_F(cudnn_backend, replays_a_recorded_step) {
  for (int const workers : {1, 3}) {
    machine.graph_launches = machine.broken_graphs = 0;
    training made = trainer<pretended_cudnn>(cudnn_cases::lenet, {.workers = workers});
    cudnn_cases::large_thirds const examples(60);
    made.fit(examples.data(), {.batch = 12});
    EXPECT_EQ(machine.graphs, 2 * workers);
    EXPECT_EQ(machine.graph_launches, 2 * workers * 4);
    EXPECT_EQ(machine.broken_graphs, 0);
  }
  EXPECT_EQ(machine.graphs, 0);
}

TEST_F(cudnn_backend, agrees_with_the_reference_after_changes_of_step_settings) {
  cudnn_cases::steps_with_different_settings_agree_with_the_reference<pretended_cudnn>();
  EXPECT_GT(machine.graph_launches, 0);
}

TEST_F(cudnn_backend, runs_only_the_chosen_engine) {
  trial<pretended_cudnn>(graph(cudnn_cases::lenet), {.batch = 2}).step();
  EXPECT_EQ(fake_dnn::runs,
            (std::map<std::int64_t, int>{{6, 5}}));  // the first layer's input has no gradient
}

/// Names of the steps of a plan, without reorders and without the names of passes.
std::set<std::string> steps_of(bool training) {
  std::set<std::string> found;
  for (plan_row const& row :
       trial<pretended_cudnn>(graph(cudnn_cases::fused), {.batch = 2, .training = training}).plan->rows())
    if (row.implementation != "reorder") found.insert(row.step);
  return found;
}

TEST_F(cudnn_backend, fuses_sums_and_rectifiers_into_other_kernels) {
  EXPECT_EQ(steps_of(true),
            (std::set<std::string>{"conv2d_1 + leaky_relu_1", "conv2d_2", "batch_norm_1 + relu_1", "conv2d_3",
                                   "batch_norm_2 + add_1 + leaky_relu_2", "conv2d_4", "batch_norm_3 + add_2",
                                   "conv2d_5", "add_3", "relu_2", "add_4", "conv2d_transposed_1 + relu_3",
                                   "dense_1", "relu_4", "dense_2", "softmax_cross_entropy_1"}));
  EXPECT_EQ(steps_of(false),
            (std::set<std::string>{"conv2d_1 + leaky_relu_1", "conv2d_2 + batch_norm_1 + relu_1",
                                   "conv2d_3 + batch_norm_2 + add_1 + leaky_relu_2",
                                   "conv2d_4 + batch_norm_3 + add_2", "conv2d_5 + add_3 + relu_2", "add_4",
                                   "conv2d_transposed_1 + relu_3", "dense_1", "relu_4", "dense_2",
                                   "softmax_cross_entropy_1"}));
}

TEST_F(cudnn_backend, includes_engine_workspaces_in_the_memory_forecast) {
  std::size_t activations[2];
  for (bool const large : {false, true}) {
    fake_dnn::now.best = {{8, {}, true, large ? 50'000'000 : 0}};
    trial<pretended_cudnn> const made(graph(cudnn_cases::lenet), {.batch = 2});
    activations[large] = made.plan->memory().activations;
  }
  EXPECT_LT(activations[0], 2'000'000U);
  EXPECT_GT(activations[1], 50'000'000U);
  EXPECT_LT(activations[1], 52'000'000U) << "one engine's after the other's";
  EXPECT_THROW(trainer<pretended_cudnn>(cudnn_cases::lenet, {.max_bytes = 40'000'000})
                   .fit(cudnn_cases::large_thirds(4).data(), {.batch = 2}),
               memory_error);
}

TEST_F(cudnn_backend, refuses_excess_memory_and_suggests_a_batch_that_fits) {
  machine.free_bytes = std::size_t{600} << 20;
  training made = trainer<pretended_cudnn>(cudnn_cases::lenet, {});
  std::size_t const held = machine.memory.size();
  cudnn_cases::large_thirds const many(8000), few(4);
  expect_parts(refused<memory_error>([&] { made.fit(many.data(), {.batch = 8000}); }),
               {"conv2d_1", "batch 8000", "than is free on the device", "at most 629145600 bytes, got ",
                " bytes; the largest batch that fits is "});
  EXPECT_EQ(machine.memory.size(), held);
  made.fit(few.data(), {.batch = 4});
}

TEST_F(cudnn_backend, reports_a_layer_without_kernels) {
  try {
    trainer<pretended_cudnn>(with_a_layer_of_a_user);
    FAIL() << "a plan with a layer of a user was made";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(), "the backend cudnn has no kernels for bent (bent_1)");
  }
}

TEST_F(cudnn_backend, reports_a_broadcasting_layer_without_kernels) {
  auto const net = [](bool sum) {
    return graph::build([=](builder& b) {
      tensor const x = b.input({3, 2, 2}), one = x | dense{.units = 3} | reshape{.extents = {3, 1, 1}};
      (sum ? x + one : x * one) | dense{.units = 3} | softmax_cross_entropy{};
    });
  };
  for (bool const sum : {false, true})
    expect_parts(refused<backend_error>([&] { trial<pretended_cudnn>(net(sum), {.batch = 2}); }),
                 {"no kernels for broadcast inputs", sum ? "add_1" : "multiply_1", "3x2x2", "3x1x1"});
}

TEST_F(cudnn_backend, reports_a_batch_norm_of_a_sequence_without_kernels) {
  auto const net = [](bool masked) {
    return graph::build([=](builder& b) {
      return (masked ? b.masked_input({6, 2}) : b.input({6, 2})) | batch_norm{} | softmax_cross_entropy{};
    });
  };
  for (bool const masked : {false, true})
    expect_parts(refused<backend_error>([&] { trial<pretended_cudnn>(net(masked), {.batch = 2}); }),
                 {"the GPU backends have no kernels for this layer on sequences", "batch_norm_1",
                  "a backend of the processor: priority<cudnn, onednn>", "batch_norm on 6x2"});
  expect_parts(
      refused<backend_error>([] {
        graph const net = graph::build([](builder& b) {
          return b.input({6, 2}) | conv1d{.filters = 2, .kernel = 3} | flatten{} | softmax_cross_entropy{};
        });
        trial<pretended_cudnn>(net, {.batch = 2});
      }),
      {"the backend cudnn has no kernels for conv1d (conv1d_1)"});
}

TEST_F(cudnn_backend, is_not_chosen_for_a_layer_without_kernels) {
  auto const [line, accuracy] = trained_by_priority<pretended_cudnn>(with_a_layer_of_a_user);
  EXPECT_EQ(line, "backend: " + std::string(of_the_processor::name)
                      + " (skipped: cudnn: it has no kernels for bent (bent_1))");
  EXPECT_GT(accuracy, 0.8);
}

TEST_F(cudnn_backend, is_not_chosen_for_layers_that_broadcast_an_input) {
  auto const net = [](bool sum) {
    return graph::build([=](builder& b) {
      tensor const x = b.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | relu{};
      tensor const one = x | dense{.units = 4} | reshape{.extents = {4, 1, 1}};
      (sum ? x + one : x * one) | dense{.units = 3} | softmax_cross_entropy{};
    });
  };
  for (auto const& [sum, layer] : {std::pair(true, "add (add_1)"), std::pair(false, "multiply (multiply_1)")})
    EXPECT_EQ(trained_by_priority<pretended_cudnn>(net(sum)).first,
              "backend: " + std::string(of_the_processor::name) + " (skipped: cudnn: it has no kernels for "
                  + layer + " with inputs of these shapes)");
}

TEST_F(cudnn_backend, is_chosen_if_it_has_all_kernels) {
  auto const [line, accuracy] = trained_by_priority<pretended_cudnn>(cudnn_cases::normed);
  EXPECT_EQ(line, "backend: cudnn on Pretended GPU");
  EXPECT_GT(accuracy, 0.8);
  EXPECT_EQ(trained_by_priority<pretended_cudnn_tf32>(cudnn_cases::mlp).first,
            "backend: cudnn_tf32 on Pretended GPU");
  EXPECT_EQ(trained_by_priority<pretended_cudnn_bf16>(cudnn_cases::mlp).first,
            "backend: cudnn_bf16 on Pretended GPU");
}

TEST_F(cudnn_backend, reports_the_convolution_for_which_no_engine_exists) {
  fake_dnn::now.best = fake_dnn::now.fallback = {};
  try {
    trial<pretended_cudnn>(graph(cudnn_cases::lenet), {.batch = 2});
    FAIL() << "a plan was made without engines";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(),
                 "cuDNN has no engine for this convolution (conv2d_1): expected a deterministic engine in "
                 "f32, got 0 engines, 0 of them rejected");
  }
}

TEST_F(cudnn_backend, reports_that_cublaslt_has_no_algorithm) {
  fake_blas::has_algorithms = false;
  EXPECT_THROW(trainer<pretended_cudnn>(cudnn_cases::mlp), backend_error);
  fake_blas::has_algorithms = true;
}

TEST_F(cudnn_backend, is_not_usable_if_its_convolution_is_wrong) {
  fake_dnn::now.computes = false;
  EXPECT_EQ(pretended_cudnn::probe().reason, "a convolution gives wrong results on Pretended GPU");
  fake_dnn::now.best = fake_dnn::now.fallback = {};
  EXPECT_EQ(pretended_cudnn::probe().reason,
            "cuDNN has no engine for this convolution (a 3x3 kernel on 4x4 elements): expected a "
            "deterministic engine in f32, got 0 engines, 0 of them rejected");
}

TEST_F(cudnn_backend, reports_why_it_is_not_usable) {
  EXPECT_TRUE(pretended_cudnn::probe().usable);
  EXPECT_EQ(pretended_cudnn::probe().device, "Pretended GPU");
  machine.compile = NVRTC_ERROR_COMPILATION;
  EXPECT_EQ(pretended_cudnn::probe().reason.substr(0, 33), "NVRTC cannot compile the kernels ");
  machine.libraries.erase("libcuda.so.1");
  availability const found = pretended_cudnn::probe();
  EXPECT_FALSE(found.usable);
  EXPECT_EQ(found.reason, "the NVIDIA driver cannot be loaded (libcuda.so.1: no such file)");
}

#ifndef __SANITIZE_ADDRESS__
TEST(fake_machine, protects_gpu_memory_from_host_accesses) {
  fake_machine machine;
  detail::compute_stream stream(std::make_shared<detail::gpu>(machine.source()), "");
  auto* const memory = reinterpret_cast<unsigned char volatile*>(stream.allocate(1000));
  EXPECT_DEATH(static_cast<void>(memory[0]), "");
  {
    guarded_memory::access const of_gpu(machine.memory);
    EXPECT_EQ(memory[0], 0xff);
    EXPECT_DEATH(static_cast<void>(memory[1024]), "");  // 1,000 bytes occupy 1,024
    EXPECT_DEATH(memory[-5000] = 1, "");
  }
  EXPECT_DEATH(memory[999] = 1, "");
  stream.deallocate(reinterpret_cast<std::byte*>(const_cast<unsigned char*>(memory)));
  guarded_memory::access const of_gpu(machine.memory);
  EXPECT_DEATH(static_cast<void>(memory[0]), "");
}
#endif

constexpr auto small = network<[](builder& b) {
  return b.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// Trains for two steps on a new machine that `prepare` changes. Returns the error, or "" without one.
template <class Prepare>
std::string error_of_two_steps(Prepare prepare) {
  fake_dnn::settings const with;
  fake_machine machine;
  pretended_cudnn::machine = &machine;
  prepare(machine);
  std::string why;
  try {
    bright_thirds const examples(8);
    training made = trainer<pretended_cudnn>(small, {.optimizer = {adam{.learning_rate = 0.01}}});
    made.fit(examples.data(), {.batch = 4, .epochs = 1});
  } catch (memory_error const& refused) {
    why = refused.what();
  } catch (backend_error const& refused) {
    why = refused.what();
  }
  bool const is_lost = machine.work != CUDA_SUCCESS;
  EXPECT_TRUE(is_lost || (machine.memory.empty() && machine.page_locked.empty())) << why;
  EXPECT_EQ(fake_dnn::descriptions() + fake_dnn::handles + fake_blas::descriptions, 0) << why;
  EXPECT_EQ(machine.contexts, 0) << why;
  EXPECT_EQ(machine.events, 0) << why;
  EXPECT_TRUE(machine.streams.empty()) << why;
  return why;
}

/// Lets the n-th call fail for n = 0, 1, … until a training succeeds. Returns the number of failures, each of
/// which names the GPU.
int failures_at_each_call(std::atomic<int> fake_machine::*calls_left) {
  constexpr int most = 1000;
  for (int n = 0; n < most; ++n) {
    std::string const why = error_of_two_steps([&](fake_machine& machine) { machine.*calls_left = n; });
    if (why.empty()) return n;
    EXPECT_NE(why.find("Pretended GPU"), why.npos) << why;
  }
  ADD_FAILURE() << "no training has succeeded";
  return most;
}

TEST(cudnn, reports_each_failed_allocation_and_releases_all_memory) {
  EXPECT_GE(failures_at_each_call(&fake_machine::allocations_left), 5);
}

TEST(cudnn, reports_a_lost_gpu_at_each_wait) {
  EXPECT_GE(failures_at_each_call(&fake_machine::queries_left), 3);
}

TEST(cudnn, is_chosen_by_priority_if_this_machine_has_a_usable_gpu) {
  availability const found = cudnn::probe();
  auto const [line, accuracy] = trained_by_priority<cudnn>(cudnn_cases::mlp);
  EXPECT_EQ(line, found.usable ? "backend: cudnn on " + found.device
                               : "backend: " + std::string(of_the_processor::name)
                                     + " (skipped: cudnn: " + found.reason + ")");
  EXPECT_GT(accuracy, 0.8);
}

}  // namespace cudnn_test
