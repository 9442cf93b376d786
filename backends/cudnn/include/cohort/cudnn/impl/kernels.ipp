// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/kernels.hpp>

namespace cohort::detail {

std::string kernel_symbol(std::string_view type) {
  std::string symbol = "run_" + std::string(type);
  for (char& c : symbol)
    if (c == '<' || c == '>') c = '_';
  return symbol;
}

std::string kernel_program() {
  std::string program = "namespace kernels {\nconstexpr int block_threads = " + std::to_string(block_threads)
                        + ";\nconstexpr unsigned long long sum_chunk = " + std::to_string(sum_chunk) + ";\n";
  program += kernel_text;
  program += R"(
template <class Kernel>
void run_elements(Kernel const& k, size n) {
  size const i = size{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) k(i);
}

template <class Kernel>
void run_rows(Kernel const& k, size n) {
  size const i = size{blockIdx.x} * (block_threads / 32) + threadIdx.x / 32;
  if (i < n) k.row(i, warp{threadIdx.x % 32});
}

template <class Kernel>
void run_marks(Kernel const& k, size n) {
  size const i = size{blockIdx.x} * block_threads + threadIdx.x;
  unsigned const marks = i < n ? k.marks(i) : 0;
  unsigned const first = __ballot_sync(~0U, marks & 1);
  unsigned const second = __ballot_sync(~0U, marks & 2);
  if (threadIdx.x % 32 == 0 && i < n) k.finish(i / 32, first, second);
}

template <class Kernel>
void run_sums(Kernel const& k, size n) {
  __shared__ double sums[block_threads];
  auto const& terms = terms_of(k, n, 0);
  size const begin = size{blockIdx.x} * sum_chunk;
  size const end = terms.end(begin);
  size const own = begin + threadIdx.x;
  double sum = 0;
  if (terms.has(own))
    for (size i = own; i < end; i += block_threads) sum += k.term(i);
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = block_threads / 2; half >= terms.lanes; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < terms.lanes && terms.has(own)) k.finish(terms.slot(own), sums[threadIdx.x]);
}

template <class Kernel>
void run_walk(Kernel const& k) {
  no_state none;
  walk(k, blockIdx.x, threadIdx.x, &none);
}

#ifdef COHORT_SPLIT_SUMS
using thread_sum = split_sum;
#else
using thread_sum = wide_sum;
#endif
// The type of a thread's sums: Kernel::partial, or thread_sum.
template <class Kernel>
auto sum_of(Kernel const&, int) -> typename Kernel::partial;
template <class Kernel>
auto sum_of(Kernel const&, long) -> thread_sum;

template <class Kernel>
void run_walk_sums(Kernel const& k) {
  __shared__ double sums[Kernel::sum_count][block_threads];
  double own[Kernel::sum_count];
  decltype(sum_of(k, 0)) parts[Kernel::sum_count] = {};
  walk(k, blockIdx.x, threadIdx.x, parts);
  for (int s = 0; s < Kernel::sum_count; ++s) sums[s][threadIdx.x] = own[s] = parts[s].value();
  __syncthreads();
  int const lanes = k.walked.lanes();
  for (int half = block_threads / 2; half >= lanes; half /= 2) {
    if (threadIdx.x < half)
      for (int s = 0; s < Kernel::sum_count; ++s)
        sums[s][threadIdx.x] = own[s] += sums[s][threadIdx.x + half];
    __syncthreads();
  }
  unsigned const group = blockIdx.x / k.walked.chunks;
  size const channel = (size{group} * lanes + threadIdx.x) * Kernel::width;
  if (threadIdx.x < lanes && channel < k.walked.channels)
    k.finish(channel, blockIdx.x - group * k.walked.chunks.value, own);
}
)";
  each_kernel([&]<class Kernel>(char const* type) {
    program += "extern \"C\" __global__ void __launch_bounds__(block_threads) " + kernel_symbol(type) + '('
               + type + " const k, size n) { "
               + (walking_sums<Kernel>     ? "run_walk_sums(k)"
                  : walking_kernel<Kernel> ? "run_walk(k)"
                  : summing_kernel<Kernel> ? "run_sums(k, n)"
                  : marking_kernel<Kernel> ? "run_marks(k, n)"
                  : row_kernel<Kernel>     ? "run_rows(k, n)"
                                           : "run_elements(k, n)")
               + "; }\n";
  });
  return program + "}\n";
}

}  // namespace cohort::detail
