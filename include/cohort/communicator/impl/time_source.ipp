// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/time_source.hpp>
#include <thread>

namespace cohort::detail {

time_source& system_time() {
  class steady final : public time_source {
    clock::time_point now() override { return clock::now(); }
    void let_pass(clock::duration time) override { std::this_thread::sleep_for(time); }
  };
  static steady made;
  return made;
}

}  // namespace cohort::detail
