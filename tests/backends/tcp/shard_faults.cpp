// SPDX-License-Identifier: Apache-2.0
// needs: tcp
// shard_faults FOLDER PLACE: a run with sharded state that saves and resumes checkpoints in FOLDER, for
// shard_faults_test.py. After the third step has begun, rank 1 kills its own process in its next sum, gather
// or send, as PLACE requests.
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string const folder = argv[1], place = argv[2];
  return launch<tcp>({.heartbeat = std::chrono::seconds(2)}, [&](communicator& world) {
    killing ranks(world.duplicate(), world.rank() == 1 ? place : "");
    training run = trainer<narrow>(shards::tall, world, allreduce{.shard = shard::gradients}.on(ranks),
                                   shards::settings_of({.rule = adam{.learning_rate = 0.01}}));
    resume(run, folder);
    std::printf("rank %d begins at step %d\n", world.rank(), static_cast<int>(run.step()));
    bright_thirds const examples(24 * world.size());
    checkpoint_listener saves(folder, 2);
    run.fit(examples.data(), {.batch = 4, .listeners = {&saves}});
    std::printf("rank %d has %s\n", world.rank(), run.checksum().c_str());
  });
}
