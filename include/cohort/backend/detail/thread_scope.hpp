// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// Sets the number of threads that the calling thread uses to run and to select kernels of backend B. The
/// destructor restores the former number.
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
