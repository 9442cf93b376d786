// SPDX-License-Identifier: Apache-2.0
// needs: tcp
// shard_faults FOLDER PLACE [late]: a run with sharded state that saves and resumes checkpoints in FOLDER,
// for shard_faults_test.py. After the third step has begun, rank 1 kills its own process in its next sum,
// gather or send, as PLACE requests; `after` is after this step, while parameters may be gathered. `late`:
// parameters are gathered in the next forward.
#include <signal.h>
#include <unistd.h>

#include <cohort/tcp.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include "../../strategy/counting_communicator.hpp"
#include "../../strategy/shard_cases.hpp"

namespace {

using namespace cohort_test;

/// Kills its process in an operation that has begun.
class killing final : public counting_communicator {
 public:
  killing(std::unique_ptr<communicator> real, std::string place)
      : counting_communicator(*real), owned_(std::move(real)), place_(std::move(place)) {}

  pending_operation start_reduce_scatter_phase(elements data, reduction how) override {
    return after(counting_communicator::start_reduce_scatter_phase(data, how), "sum");
  }
  pending_operation start_allgather_phase(elements data) override {
    return after(counting_communicator::start_allgather_phase(data), "gather");
  }
  pending_operation start_send(std::span<std::byte const> data, int to, int tag) override {
    return after(counting_communicator::start_send(data, to, tag), "send");
  }
  void note(rank_progress here) noexcept override {
    step_ = here.step;
    counting_communicator::note(here);
  }
  std::unique_ptr<communicator> duplicate() override {
    return std::make_unique<killing>(counting_communicator::duplicate(), place_);
  }

 private:
  pending_operation after(pending_operation started, std::string_view place) {
    if (step_ >= 2 && place == place_) ::kill(::getpid(), SIGKILL);
    return started;
  }

  std::unique_ptr<communicator> owned_;
  std::string place_;
  std::int64_t step_ = 0;
};

struct kill_after_a_step final : listener {
  void on_step(training&, step_report const& done) override {
    if (done.step == 2) ::kill(::getpid(), SIGKILL);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return 2;
  std::string const folder = argv[1], place = argv[2];
  bool const is_late = argc == 4;
  return launch<tcp>({.heartbeat = std::chrono::seconds(2)}, [&](communicator& world) {
    killing ranks(world.duplicate(), world.rank() == 1 ? place : "");
    allreduce const how{.overlap_next_forward = is_late, .shard = shard::gradients};
    training run = trainer<narrow>(shards::tall, world, how.on(ranks),
                                   shards::settings_of({.rule = adam{.learning_rate = 0.01}}));
    resume(run, folder);
    std::printf("rank %d begins at step %d\n", world.rank(), static_cast<int>(run.step()));
    bright_thirds const examples(24 * world.size());
    kill_after_a_step kills;
    checkpoint_listener saves(folder, 2);
    fit_settings steps{.batch = 4};
    if (place == "after" && world.rank() == 1) steps.listeners.push_back(&kills);
    steps.listeners.push_back(&saves);
    run.fit(examples.data(), steps);
    std::printf("rank %d has %s\n", world.rank(), run.checksum().c_str());
  });
}
