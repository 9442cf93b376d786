// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cohort/error/exceptions.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <cstddef>
#include <exception>
#include <utility>

namespace cohort::detail {

nccl_ranks::nccl_ranks(std::shared_ptr<nccl_functions const> by, std::shared_ptr<communicator> over,
                       std::shared_ptr<gpu const> on)
    : functions_(std::move(by)), over_(std::move(over)), on_(std::move(on)) {
  require_distinct_gpus();
  ncclUniqueId id{};
  if (over_->rank() == 0) check(functions_->unique_id(&id), "making an identifier");
  over_->broadcast({reinterpret_cast<std::byte*>(&id), element_type::u8, sizeof id}, 0);
  on_->use();
  // Sums get a higher priority than the kernels of backward, because other ranks wait for the sums.
  int least = 0, greatest = 0;
  check(driver().stream_priorities(&least, &greatest), "reading the priorities of streams");
  check(driver().create_stream_with_priority(&stream_, CU_STREAM_NON_BLOCKING, greatest),
        "making a stream for sums");
  try {
    ncclConfig_t how = NCCL_CONFIG_INITIALIZER;
    how.blocking = 0;
    check(functions_->join(&ranks_, over_->size(), id, over_->rank(), &how), "joining the ranks");
    wait_for_nccl("joining the ranks");
  } catch (...) {
    abort();
    driver().destroy_stream(stream_);
    throw;
  }
}

nccl_ranks::~nccl_ranks() {
  on_->make_current();
  if (ended()) functions_->destroy(std::exchange(ranks_, nullptr));
  abort();
  driver().destroy_stream(stream_);
}

void nccl_ranks::start(elements const& data, reduction how, compute_stream const& computed,
                       gpu_event const& begin, gpu_event const& end) {
  on_->use();
  {
    auto const turn = computed.lock_queue();
    check(driver().record(begin.handle(), computed.handle()), "marking a sum's begin");
  }
  check(driver().wait_for_event(stream_, begin.handle(), 0), "waiting for a sum's begin");
  ncclResult_t status = ncclSuccess;
  {
    std::lock_guard const lock(mutex_);
    if (ranks_)
      status = functions_->allreduce(data.data, data.data, data.count, type_of(data.type),
                                     how == reduction::sum ? ncclSum : ncclMax, ranks_,
                                     reinterpret_cast<cudaStream_t>(stream_));
  }
  check(status, "starting a sum");
  wait_for_nccl("starting a sum");  // the sum is in the stream from here on
  check(driver().record(end.handle(), stream_), "marking a sum's end");
}

bool nccl_ranks::done(gpu_event const& end) {
  on_->use();
  CUresult const status = driver().query_event(end.handle());
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY) check(status, "a sum");
  check(state(), "a sum");
  if (!was_aborted()) return status == CUDA_SUCCESS;
  check_other_ranks();  // the event is meaningless after an abort
  return false;
}

void nccl_ranks::await(gpu_event const& end) {
  poll_until("a sum", [&] { return done(end); });
}

void nccl_ranks::end() noexcept {
  if (std::uncaught_exceptions() > 0) {
    over_->abort("its communicator was destroyed by an exception");
    return abort();
  }
  std::lock_guard const lock(mutex_);
  ending_ = true;
  if (ranks_) functions_->finalize(ranks_);
}

bool nccl_ranks::ended() {
  std::lock_guard const lock(mutex_);
  ncclResult_t now = ncclInProgress;
  return ending_ && ranks_ && functions_->state(ranks_, &now) == ncclSuccess && now == ncclSuccess;
}

void nccl_ranks::wait_for_end() noexcept try {
  clock::time_point const begin = clock::now();
  while (!ended() && clock::now() - begin < over_->settings().deadline) {
    if (state() != ncclInProgress) return;
    check_other_ranks();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
} catch (error const&) {
}

void nccl_ranks::abort() noexcept try {
  ncclComm_t aborted = nullptr;
  {
    std::lock_guard const lock(mutex_);
    aborted = std::exchange(ranks_, nullptr);
  }
  if (!aborted) return;
  auto const over = std::make_shared<std::atomic<bool>>(false);
  std::thread([by = functions_, aborted, over] {
    by->abort(aborted);
    over->store(true);
  }).detach();
  clock::time_point const begin = clock::now();
  while (!over->load() && clock::now() - begin < std::chrono::seconds(1)) std::this_thread::yield();
} catch (...) {  // no thread can be started
}

ncclDataType_t nccl_ranks::type_of(element_type type) {
  switch (type) {
    case element_type::f32:
      return ncclFloat32;
    case element_type::f64:
      return ncclFloat64;
    case element_type::bf16:
      return ncclBfloat16;
    case element_type::u8:
      return ncclUint8;
    case element_type::i32:
      return ncclInt32;
    case element_type::i64:
      return ncclInt64;
    case element_type::u64:
      return ncclUint64;
  }
  return ncclFloat32;
}

void nccl_ranks::require_distinct_gpus() {
  gathered const all = over_->allgatherv(on_->identity());
  for (int r = 1; r < over_->size(); ++r)
    for (int earlier = 0; earlier < r; ++earlier)
      if (std::ranges::equal(all.of(r), all.of(earlier)))
        throw setting_error({.what = "two ranks share a GPU",
                             .where = {"ranks ", earlier, " and ", r},
                             .expected = "one GPU for each rank (set CUDA_VISIBLE_DEVICES)"});
}

bool nccl_ranks::was_aborted() {
  std::lock_guard const lock(mutex_);
  return !ranks_;
}

ncclResult_t nccl_ranks::state() {
  std::lock_guard const lock(mutex_);
  ncclResult_t now = ncclInProgress;
  if (!ranks_) return now;
  ncclResult_t const asked = functions_->state(ranks_, &now);
  return asked == ncclSuccess ? now : asked;
}

void nccl_ranks::wait_for_nccl(char const* doing) {
  poll_until(doing, [&] {
    ncclResult_t const now = state();
    check(now, doing);
    return now == ncclSuccess;
  });
}

void nccl_ranks::check_other_ranks() {
  try {
    over_->probe(communicator::any_source, communicator::largest_tag);
  } catch (...) {
    abort();
    throw;
  }
}

void nccl_ranks::fail_at_deadline(char const* doing) {
  try {
    over_->barrier();
  } catch (...) {
    abort();
    throw;
  }
  fail(text_of({"NCCL: ", doing, " has not ended within ", over_->settings().deadline.count(), " ms"}));
}

void nccl_ranks::fail(std::string const& why) {
  check_other_ranks();  // another rank may have announced the reason
  over_->abort(why, communicator_exit_status);
  abort();
  over_->barrier();  // throws the reason that all ranks receive
  throw communicator_error({.what = why});
}

void nccl_ranks::check(ncclResult_t status, char const* doing) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  char const* const more = functions_->last_error(nullptr);
  bool const says_more = more && *more;
  fail(text_of({"NCCL: ", doing, " failed (", functions_->error_text(status), says_more ? "; " : "",
                says_more ? more : "", ")"}));
}

void nccl_ranks::check(CUresult status, char const* doing) {
  try {
    driver().check(status, doing);
  } catch (backend_error const& why) {
    fail(why.what());
  }
}

}  // namespace cohort::detail
