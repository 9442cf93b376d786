// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/training/listener.hpp>
#include <utility>

namespace cohort::detail {

std::vector<std::string> keys_of(std::span<listener* const> all) {
  std::vector<std::string> keys;
  for (listener const* one : all) {
    std::string const name = one->name();
    std::string key = name;
    for (int n = 2; !key.empty() && std::find(keys.begin(), keys.end(), key) != keys.end(); ++n)
      key = text_of({name, " #", n});
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace cohort::detail
