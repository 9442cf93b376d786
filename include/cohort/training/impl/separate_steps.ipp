// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/layer/layer_norm.hpp>
#include <cohort/training/detail/separate_steps.hpp>
#include <iterator>
#include <string_view>

namespace cohort::detail {

bool computes_steps_separately(graph_view net, int id) {
  // clang-format off
  constexpr std::string_view kinds[]{
      "dense", "embedding", "concatenate", "subset",
      "add", "multiply", "average", "maximum",
      "softmax", "log_softmax", "scale", "prelu",
      "batch_norm", "synchronised_batch_norm", "layer_norm", "rms_norm",
      "dropout", "spatial_dropout", "gaussian_noise", "relu",
      "leaky_relu", "relu6", "elu", "selu",
      "sigmoid", "hard_sigmoid", "tanh", "hard_tanh",
      "softplus", "softsign", "swish", "gelu",
      "gelu_tanh", "mish", "identity"};
  // clang-format on
  kind const& what = net.kind(id);
  if (what.name == layer_norm::kind_name) return decode<layer_norm>(net.fields(id)).axes == 1;
  return what.in_place || what.role == layer_role::loss
         || std::ranges::find(kinds, what.name) != std::end(kinds);
}

}  // namespace cohort::detail
