// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/predictions.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

void append(tensor_view from, std::vector<float>& to) {
  if (from.type == element_type::f64) {
    for (double const value : from.as<double>()) to.push_back(static_cast<float>(value));
  } else {
    auto const values = from.as<float>();
    to.insert(to.end(), values.begin(), values.end());
  }
}

}  // namespace cohort::detail

namespace cohort {

int predictions::count() const {
  return static_cast<int>(static_cast<std::int64_t>(values.size()) / example.elements());
}

std::span<float const> predictions::operator[](int i) const& {
  if (i < 0 || i >= count())
    throw setting_error({.what = "there is no such example",
                         .where = "predictions",
                         .expected = {"an index of the ", count(), " examples"},
                         .got = {i}});
  auto const size = static_cast<std::size_t>(example.elements());
  return std::span<float const>(values).subspan(static_cast<std::size_t>(i) * size, size);
}

int predictions::best(int i) const {
  auto const row = (*this)[i];
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

int predictions::best(int i, int step) const {
  int const steps = example.rank == 2 ? example[0] : 0;
  if (step < 0 || step >= steps)
    throw setting_error({.what = "there is no such step",
                         .where = {"predictions of ", to_string(example)},
                         .expected = {"an index of the ", steps, " steps"},
                         .got = {step}});
  auto const width = static_cast<std::size_t>(example[1]);
  auto const row = (*this)[i].subspan(static_cast<std::size_t>(step) * width, width);
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace cohort
