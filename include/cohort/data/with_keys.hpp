// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Returns a data set whose examples have the given keys instead of the keys of `data`.
///
/// Errors    setting_error if the numbers of keys and examples differ, or if `data` is a stream.
dataset with_keys(dataset const& data, std::vector<std::string> keys);
/// Like with_keys(data, keys), but the keys are integers, converted to decimal texts.
dataset with_keys(dataset const& data, std::span<std::int64_t const> keys);

/// Like with_keys(data, keys), but key_of(i) returns the key of example i: for keys that exceed the memory.
///
/// Before    `key_of` is safe to call from several threads.
/// Errors    setting_error if `data` is a stream.
dataset with_keys(dataset const& data, std::function<std::string(std::int64_t i)> key_of);

}  // namespace cohort
