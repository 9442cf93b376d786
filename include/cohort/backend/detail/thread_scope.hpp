// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// The calling thread's kernels run, and are chosen, with `count` threads for as long as this lives.
template <class B>
class thread_scope {
 public:
  explicit thread_scope(int count) : former_(B::threads(count)) {}
  ~thread_scope() { B::threads(former_); }
  thread_scope(thread_scope const&) = delete;
  thread_scope& operator=(thread_scope const&) = delete;

 private:
  int former_;
};

}  // namespace cohort::detail
