// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/execution/isa.hpp>
#include <cohort/layer/detail/attention_program.hpp>
#include <cohort/layer/detail/attention_simd.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Runs an attention layer on batches of a fixed size.
struct attention_program {
  attention_sizes sizes;
  int batch = 0;
  int inputs = 1;
  bool training = false, masked = false;
  std::vector<char> wants_diff_input;
  attention_passes passes;
  int threads = 1;
  decltype(product_backend::in_parallel) in_parallel = nullptr;
  std::size_t forward_scratch = 0, backward_scratch = 0;  // floats per thread

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(sizes.heads)
           * static_cast<std::size_t>(sizes.queries) * sizeof(float);
  }
  std::size_t scratch_bytes() const {
    return std::max(forward_scratch, backward_scratch) * static_cast<std::size_t>(threads) * sizeof(float);
  }

  void run(std::span<void* const> arguments, bool backward) const {
    auto next = arguments.begin();
    auto* const scratch = static_cast<float*>(*next++);
    attention_call call;
    if (training) call.workspace = static_cast<float*>(*next++);
    if (masked) call.mask = static_cast<step_mask const*>(*next++);
    for (int i = 0; i < inputs; ++i) call.inputs[i] = *next++;
    call.output = *next++;
    if (backward) {
      call.diff_output = *next++;
      for (int i = 0; i < inputs; ++i)
        if (wants_diff_input[static_cast<std::size_t>(i)]) call.diff_inputs[i] = *next++;
    }
    each_head(backward ? passes.backward : passes.forward, call, scratch,
              backward ? backward_scratch : forward_scratch);
  }

 private:
  void each_head(attention_passes::pass pass, attention_call const& call, float* scratch,
                 std::size_t scratch_of_thread) const {
    auto const share = [&](int part, int parts) {
      int const all = batch * sizes.heads;
      for (int i = all * part / parts; i < all * (part + 1) / parts; ++i)
        pass(sizes, call, i / sizes.heads, i % sizes.heads,
             scratch + static_cast<std::size_t>(part) * scratch_of_thread);
    };
    if (threads <= 1) return share(0, 1);
    in_parallel(
        threads,
        [](void const* with, int part, int parts) {
          (*static_cast<decltype(share) const*>(with))(part, parts);
        },
        &share);
  }
};

composed_kernel compose_attention(attention_sizes const& sizes, composed_request const& request,
                                  product_backend& backend) {
  isa const which = best_isa();
  attention_program const program{
      .sizes = sizes,
      .batch = request.batch,
      .inputs = static_cast<int>(request.inputs.size()),
      .training = request.training,
      .masked = request.masked,
      .wants_diff_input = {request.wants_diff_input.begin(), request.wants_diff_input.end()},
      .passes = attention_passes_of(which, backend.narrow),
      .threads = std::max(1, std::min(backend.threads, request.batch * sizes.heads)),
      .in_parallel = backend.in_parallel,
      .forward_scratch = attention_scratch(sizes, false),
      .backward_scratch = request.training ? attention_scratch(sizes, true) : 0};
  composed_kernel made;
  made.forward = [program](std::span<void* const> arguments) { program.run(arguments, false); };
  if (request.training)
    made.backward = [program](std::span<void* const> arguments) { program.run(arguments, true); };
  made.workspace_bytes = program.workspace_bytes();
  made.scratch_bytes = program.scratch_bytes();
  made.reads_tensors = true;
  made.implementation = "own:" + std::string(name_of(which));
  return made;
}

}  // namespace cohort::detail
