// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/layers.hpp>
#include <cohort/onednn/backend.hpp>
#include <cohort/onednn/detail/activation.hpp>
#include <cohort/onednn/detail/rounding.hpp>

namespace cohort {

bool onednn::supports(kind const& k) {
  for (std::string_view const name : {conv2d::kind_name, dense::kind_name, max_pool::kind_name,
                                      relu::kind_name, leaky_relu::kind_name, concatenate::kind_name})
    if (k.name == name) return true;
  return k.float_kernel.forward != nullptr;
}

bool onednn::fuses(kind const& a, kind const& b, bool training) const {
  bool const weighted = a == kind_of<conv2d> || a == kind_of<dense> || a.name == conv1d::kind_name;
  bool const norm = a.name == batch_norm::kind_name;
  if (b == kind_of<add>) return training ? norm : weighted;
  detail::dnnl_activation const* const activation = detail::find_activation(b);
  return (weighted && activation && activation->reads_output())
         || (norm && (b == kind_of<relu> || b == kind_of<leaky_relu>));
}

onednn::layout onednn::plain(shape const& s) const {
  std::vector<dnnl_dim_t> dims;
  for (int axis = 0; axis < s.rank; ++axis) dims.push_back(s[axis]);
  if (dims.empty()) dims.push_back(1);
  return layout::dense(dims);
}

std::shared_ptr<arena_passes> onednn::passes() {
  return detail::passes_on_processor<float>([](void (*run)(void const*, int, int), void const* with) {
    detail::on_openmp_threads(omp_get_max_threads(), [&](int part, int parts) { run(with, part, parts); });
  });
}

element_type onednn::element(layout const& l) const {
  return l.type() == dnnl_bf16 ? element_type::bf16 : element_type::f32;
}

bool onednn_bf16::is_rounded_copy(layout const& wide, layout const& narrow) const {
  return wide.type() == dnnl_f32 && narrow.type() == dnnl_bf16 && narrow.has_same_layout(wide);
}

void onednn_bf16::round(float const* from, std::byte* to, std::size_t first, std::size_t n) const {
  detail::round_to_bf16(from, reinterpret_cast<std::uint16_t*>(to) + first, n);
}

}  // namespace cohort
