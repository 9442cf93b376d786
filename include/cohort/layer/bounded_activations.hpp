// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/bounded_formulas.hpp>
#include <cohort/layer/pointwise.hpp>

namespace cohort {

/// 1 / (1 + e⁻ˣ)
using sigmoid = pointwise<detail::formula::sigmoid>;

/// 0.2x + 0.5 clipped to [0, 1]. The derivative at both ends is 0.
///
/// Source    Deeplearning4j and Keras 2; PyTorch uses x/6 + 0.5.
using hard_sigmoid = pointwise<detail::formula::hard_sigmoid>;

/// tanh x. The type has a longer name than its kind ("tanh"), to avoid a conflict with ::tanh.
using tanh_activation = pointwise<detail::formula::tanh>;

/// x clipped to [−1, 1]. The derivative at both ends is 0.
using hard_tanh = pointwise<detail::formula::hard_tanh>;

/// x / (1 + |x|)
using softsign = pointwise<detail::formula::softsign>;

extern template struct detail::host_kernels<sigmoid>;
extern template struct detail::host_kernels<hard_sigmoid>;
extern template struct detail::host_kernels<tanh_activation>;
extern template struct detail::host_kernels<hard_tanh>;
extern template struct detail::host_kernels<softsign>;

}  // namespace cohort
