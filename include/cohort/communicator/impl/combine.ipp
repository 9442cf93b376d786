// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/execution/flat_simd.hpp>

namespace cohort::detail {

bool is_nan(double x) {
  return (std::bit_cast<std::uint64_t>(x) & ~(std::uint64_t{1} << 63)) > std::uint64_t{0x7ff} << 52;
}

template <class T>
T maximum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bf16>) {
    return is_nan(a.value()) ? a : is_nan(b.value()) ? b : a.value() > b.value() ? a : b;
  } else if constexpr (std::is_floating_point_v<T>) {
    return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
  } else {
    return a > b ? a : b;
  }
}

template <class T>
void combine_as(isa which, T* dst, T const* src, std::size_t n, reduction how) {
  if constexpr (std::is_floating_point_v<T>) {
    if (how == reduction::sum) {
      T const* const parts[] = {src, dst};
      return sum_parts(which, dst, parts, 2, n);
    }
  }
  if (how == reduction::sum)
    for (std::size_t i = 0; i < n; ++i) dst[i] = sum_of(src[i], dst[i]);
  else
    for (std::size_t i = 0; i < n; ++i) dst[i] = maximum_of(src[i], dst[i]);
}

void combine(isa which, elements dst, std::byte const* src, reduction how) {
  auto const as = [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    combine_as(which, typed, reinterpret_cast<T const*>(src), dst.count, how);
  };
  switch (dst.type) {
    case element_type::f32:
      return as(reinterpret_cast<float*>(dst.data));
    case element_type::f64:
      return as(reinterpret_cast<double*>(dst.data));
    case element_type::bf16:
      return as(reinterpret_cast<bf16*>(dst.data));
    case element_type::u8:
      return as(reinterpret_cast<std::uint8_t*>(dst.data));
    case element_type::i32:
      return as(reinterpret_cast<std::int32_t*>(dst.data));
    case element_type::i64:
      return as(reinterpret_cast<std::int64_t*>(dst.data));
    case element_type::u64:
      return as(reinterpret_cast<std::uint64_t*>(dst.data));
  }
}

}  // namespace cohort::detail
