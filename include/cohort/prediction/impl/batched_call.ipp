// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/prediction/detail/batched_call.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

batched_call::batched_call(std::vector<tensor_view> parts, int examples, clock::time_point until)
    : count(examples), limit(until), parts_(std::move(parts)) {}

bool batched_call::is_over() const {
  std::lock_guard const lock(mutex_);
  return over_ || clock::now() >= limit;
}

bool batched_call::has_same_parts(batched_call const& other) const {
  return std::ranges::equal(parts_, other.parts_, {}, &tensor_view::type, &tensor_view::type);
}

void batched_call::copy_part(std::size_t i, std::byte* to) const {
  std::lock_guard const lock(mutex_);
  tensor_view const& part = parts_[i];
  if (over_)
    std::memset(to, 0, part.bytes());
  else
    std::memcpy(to, part.data, part.bytes());
}

void batched_call::answer(predictions made) {
  std::lock_guard const lock(mutex_);
  if (!over_) made_ = std::move(made);
  end();
}

void batched_call::fail(std::exception_ptr why) {
  std::lock_guard const lock(mutex_);
  if (!over_) why_ = std::move(why);
  end();
}

void batched_call::cancel() {
  std::lock_guard const lock(mutex_);
  end();
}

predictions batched_call::wait_for_answer() {
  std::unique_lock lock(mutex_);
  if (!ended_.wait_until(lock, limit, [&] { return over_; })) {
    over_ = true;
    why_ = std::make_exception_ptr(
        deadline_error({.what = "the call was not answered within its deadline",
                        .where = "dynamic_batcher",
                        .expected = "an answer within dynamic_batching::deadline",
                        .got = "none; use fewer callers, more runs or a longer deadline"}));
  }
  if (why_) std::rethrow_exception(why_);
  why_ = std::make_exception_ptr(setting_error({.what = "get was called twice for one call",
                                                .where = "pending_predictions::get",
                                                .expected = "one call of get for each submit",
                                                .got = "a second call"}));
  return std::move(made_);
}

void batched_call::end() {
  over_ = true;
  ended_.notify_all();
}

}  // namespace cohort::detail
