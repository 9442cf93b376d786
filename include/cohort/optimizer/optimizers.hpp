// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/rate_schedule.hpp>

/// The optimizers.
///
///     w −= u              u is the step; g is the gradient with its penalties; η is the learning rate.
///     m̂ = m / (1 − β₁ᵗ)   in step t = 1, 2, …
///     v̂ = v / (1 − β₂ᵗ)
///
/// State starts at 0 unless stated otherwise. Weight decay is decoupled: it subtracts η·decay·w, with w
/// before the step. Weight decay applies to all parameters, except those that
/// optimizer_settings::decay_from_rank (by tensor rank) or layer_override::decays (by layer) excludes.
namespace cohort {

/// u = η·g
struct sgd {
  rate_schedule learning_rate = 0.1;
};

/// v = momentum·v + g; u = η·v
///
/// Units     with `rate_in_velocity`, as in Caffe and Keras: v = momentum·v + η·g; u = v. Both forms give the
///           same steps at a constant rate. A falling rate then does not scale the velocity of earlier steps.
///           The rate's schedule is by steps, and the factor of reduce_on_plateau scales the whole velocity.
///           The state contains v / η.
struct momentum {
  rate_schedule learning_rate = 0.1;
  rate_schedule momentum = 0.9;
  bool rate_in_velocity = false;
};

/// v = momentum·v + g; u = η·(g + momentum·v)
///
/// Units     with `rate_in_velocity`: v = momentum·v + η·g; u = η·g + momentum·v; see momentum.
struct nesterov {
  rate_schedule learning_rate = 0.1;
  rate_schedule momentum = 0.9;
  bool rate_in_velocity = false;
};

/// m = β₁m + (1−β₁)g; v = β₂v + (1−β₂)g²; u = η·m̂ / (√v̂ + epsilon)
///
/// Units     `epsilon_hat` is added to √v before the bias correction. To match Keras, TensorFlow and
///           Deeplearning4j, set `epsilon_hat` to their ε and `epsilon` to 0. One of the two is above 0.
///
/// Source    Kingma and Ba, ICLR 2015; `epsilon_hat`: the formula at the end of its section 2.
struct adam {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double epsilon_hat = 0;
};

/// u = Adam's u + η·decay·w
///
/// Source    Loshchilov and Hutter, ICLR 2019.
struct adamw {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 1e-2;
  double epsilon_hat = 0;
};

/// Adam with the largest v so far instead of v.
///
/// Source    Reddi, Kale and Kumar, ICLR 2018; with the bias correction of PyTorch.
struct amsgrad {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double epsilon_hat = 0;
};

/// n = max(β₂n, |g|); u = η·m̂ / (n + epsilon); m as in Adam
///
/// Source    Kingma and Ba, ICLR 2015, section 7, which has no epsilon. Keras also adds epsilon to n;
///           PyTorch adds it to |g|.
struct adamax {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// u = η·(β₁m̂ + (1−β₁)g / (1−β₁ᵗ)) / (√v̂ + epsilon); m and v as in Adam
///
/// Source    Dozat, ICLR 2016 workshop, without the paper's schedule of β₁.
struct nadam {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// s = β₂s + (1−β₂)(g−m)² + epsilon; ŝ = s / (1−β₂ᵗ); u = η·m̂ / (√ŝ + epsilon); m as in Adam
///
/// Source    Zhuang et al., NeurIPS 2020.
struct adabelief {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-14;
};

/// h += g²; u = η·g / (√h + epsilon); h starts at `initial`.
///
/// Source    Duchi, Hazan and Singer, JMLR 2011.
struct adagrad {
  rate_schedule learning_rate = 0.1;
  double epsilon = 1e-6;
  double initial = 1e-6;
};

/// a = rho·a + (1−rho)g²; x = g·√(d + epsilon) / √(a + epsilon); d = rho·d + (1−rho)x²; u = η·x
///
/// Source    Zeiler 2012; the paper's rate is 1.
struct adadelta {
  rate_schedule learning_rate = 1;
  double rho = 0.95;
  double epsilon = 1e-6;
};

/// a = rho·a + (1−rho)g²; u = η·g / (√a + epsilon)
///
/// Source    Tieleman and Hinton, Coursera, lecture 6.5, 2012.
struct rmsprop {
  rate_schedule learning_rate = 1e-3;
  double rho = 0.95;
  double epsilon = 1e-8;
};

/// u = η·(sign(β₁m + (1−β₁)g) + decay·w); m = β₂m + (1−β₂)g
///
/// Source    Chen et al., NeurIPS 2023.
struct lion {
  rate_schedule learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double decay = 0;
};

/// r = m̂ / (√v̂ + epsilon) + decay·w; u = η·r·‖w‖ / ‖r‖
///
/// m and v are Adam's. The norms are over the whole parameter; the ratio ‖w‖ / ‖r‖ is 1 if a norm is 0.
///
/// Source    You et al., ICLR 2020.
struct lamb {
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double decay = 1e-2;
};

/// λ = trust·‖w‖ / (‖g₀‖ + decay·‖w‖); v = momentum·v + η·λ·(g + decay·w); u = v
///
/// The norms are over the whole parameter; λ is 1 if a norm is 0. g₀ is the gradient without penalties,
/// before normalise::clip_elementwise and after the other normalisations.
///
/// Source    You, Gitman and Ginsburg 2017.
struct lars {
  rate_schedule learning_rate = 0.1;
  rate_schedule momentum = 0.9;
  double decay = 5e-4;
  double trust = 1e-3;
};

/// u = g, without a rate.
struct no_op {};

}  // namespace cohort
