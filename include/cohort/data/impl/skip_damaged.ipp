// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/skip_damaged.hpp>
#include <cstddef>
#include <string>

namespace cohort::detail {

data_description with_weights(data_description description) {
  description.weighted = true;
  return description;
}

damage_guard::damage_guard(data_description description, damage_reports reports)
    : description_(with_weights(std::move(description))),
      writer_(description_),
      reports_(std::move(reports)) {}

void damage_guard::check(example_view const& example, std::int64_t index) const {
  writer_.check(example, index);
}

void damage_guard::replace(data_error const& problem, example_view& example) const {
  for (std::size_t part = 0; part < description_.parts(); ++part) {
    tensor_description const& described = description_.part(part);
    std::fill_n(example.fill(part),
                static_cast<std::size_t>(described.example.elements()) * bytes_of(described.stored),
                std::byte{0});
  }
  example.weight = 0;
  if (reports_.skipped) ++*reports_.skipped;
  if (!reports_.log) return;
  std::lock_guard const lock(*log_mutex_);
  reports_.log(std::string("skipped: ") + problem.what());
}

}  // namespace cohort::detail
