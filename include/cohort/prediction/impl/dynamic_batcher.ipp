// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/prediction/dynamic_batcher.hpp>
#include <exception>
#include <utility>

namespace cohort {

dynamic_batcher::dynamic_batcher(training const& model, dynamic_batching how)
    : dynamic_batcher(batch_function([&model](batch_view const& call) { return model.predict(call); }),
                      parts_of(model.network()), how) {}

dynamic_batcher::dynamic_batcher(run_function run, std::vector<shape> inputs, dynamic_batching how)
    : dynamic_batcher(
        batch_function([run = std::move(run)](batch_view const& call) { return run(call.inputs); }),
        [&] {
          parts made;
          for (shape const& one : inputs) made.inputs.push_back({one});
          return made;
        }(),
        how) {}

dynamic_batcher::dynamic_batcher(batch_function run, parts of, dynamic_batching how)
    : run_(std::move(run)), parts_(std::move(of)), how_(how) {
  if (how.max_batch < 1 || how.runs < 1 || how.max_queue < how.max_batch || how.max_delay.count() < 0
      || how.max_delay > longest)
    throw setting_error(
        {.what = "invalid batching settings",
         .expected = "max_batch ≥ 1, runs ≥ 1, max_queue ≥ max_batch, max_delay of 0 to 1,000 h",
         .got = {"max_batch ", how.max_batch, ", runs ", how.runs, ", max_queue ", how.max_queue,
                 ", max_delay ", how.max_delay.count(), " us"}});
  check(how.deadline);
  try {
    for (int i = 0; i < how.runs; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

pending_predictions dynamic_batcher::submit(std::span<tensor_view const> inputs,
                                            std::chrono::milliseconds deadline) {
  return submit(inputs, {}, deadline);
}

pending_predictions dynamic_batcher::submit(batch_view const& call, std::chrono::milliseconds deadline) {
  return submit(call.inputs, call.masks, deadline);
}

pending_predictions dynamic_batcher::submit(std::span<tensor_view const> inputs,
                                            std::span<tensor_view const> masks,
                                            std::chrono::milliseconds deadline) {
  int const count = checked_count(inputs, masks);
  check(deadline);
  std::vector<tensor_view> given(inputs.begin(), inputs.end());
  given.insert(given.end(), masks.begin(), masks.end());
  auto const call = std::make_shared<detail::batched_call>(std::move(given), count, clock::now() + deadline);
  std::unique_lock lock(mutex_);
  auto const has_room = [&] {
    if (!stopping_ && queued_ + count > how_.max_queue) drop_expired();
    return stopping_ || queued_ + count <= how_.max_queue;
  };
  if (how_.full == when_full::wait) space_available_.wait_until(lock, call->limit, has_room);
  if (stopping_) throw setting_error({.what = "the batcher has been stopped and accepts no calls"});
  if (!has_room())
    throw deadline_error({.what = "the batcher's queue is full",
                          .expected = {"at most ", how_.max_queue, " examples"},
                          .got = {queued_, " queued, and a call with ", count}});
  call->since = clock::now();
  waiting_.push_back(call);
  queued_ += count;
  lock.unlock();
  work_available_.notify_one();
  return pending_predictions(call);
}

predictions dynamic_batcher::predict(std::span<tensor_view const> inputs,
                                     std::chrono::milliseconds deadline) {
  return submit(inputs, deadline).get();
}

void dynamic_batcher::stop() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  work_available_.notify_all();
  space_available_.notify_all();
  for (std::thread& one : threads_) one.join();  // bounded: each thread returns after its batch
  threads_.clear();
}

int dynamic_batcher::queued() const {
  std::lock_guard const lock(mutex_);
  return queued_;
}

void dynamic_batcher::check(std::chrono::milliseconds deadline) {
  if (deadline.count() < 1 || deadline > longest)
    throw setting_error({.what = "invalid deadline for a call",
                         .expected = "1 ms to 1,000 h",
                         .got = {deadline.count(), " ms"}});
}

dynamic_batcher::parts dynamic_batcher::parts_of(graph_view net) {
  parts made;
  for (int id : net.with_role(layer_role::input)) {
    made.inputs.push_back({net[id].output, net.is_indices(id)});
    if (net[id].mask == id) made.masks.push_back({shape(net[id].output[0])});
  }
  return made;
}

int dynamic_batcher::checked_count(std::span<tensor_view const> inputs,
                                   std::span<tensor_view const> masks) const {
  int const count = inputs.empty() || inputs[0].dims.rank == 0 ? 0 : inputs[0].dims[0];
  if (inputs.size() != parts_.inputs.size() || count < 1)
    throw shape_error({.what = "a call does not have every input of the network, or has no examples",
                       .expected = {parts_.inputs.size(), " inputs, at least 1 example"},
                       .got = {inputs.size(), " inputs, ", count, " examples"}});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    part const& wanted = parts_.inputs[i];
    bool const typed =
        inputs[i].type == element_type::f32 || (wanted.may_be_indices && inputs[i].type == element_type::i32);
    if (!(inputs[i].dims == wanted.example.batched(count)) || !typed)
      throw shape_error({.what = "the shape or type of an input differs from the network's",
                         .where = {"input ", i},
                         .expected = {to_string(wanted.example.batched(count)), " x f32",
                                      wanted.may_be_indices ? " or i32" : ""},
                         .got = {to_string(inputs[i].dims), " x ", name_of(inputs[i].type)}});
  }
  if (!masks.empty() && masks.size() != parts_.masks.size())
    throw shape_error({.what = "a call has the wrong number of masks",
                       .expected = {parts_.masks.size(), ", one for each masked input of the network"},
                       .got = {masks.size()}});
  for (std::size_t m = 0; m < masks.size(); ++m)
    if (shape const wanted = parts_.masks[m].example.batched(count);
        !(masks[m].dims == wanted) || masks[m].type != element_type::u8)
      throw shape_error({.what = "a mask of a call has the wrong shape or type",
                         .where = {"mask ", m},
                         .expected = {to_string(wanted), " x u8"},
                         .got = {to_string(masks[m].dims), " x ", name_of(masks[m].type)}});
  if (count > how_.max_batch)
    throw setting_error({.what = "a call has more examples than a batch may have",
                         .expected = {"at most ", how_.max_batch},
                         .got = {count}});
  return count;
}

bool dynamic_batcher::is_due() const {
  return !waiting_.empty()
         && (stopping_ || queued_ >= how_.max_batch
             || clock::now() >= waiting_.front()->since + how_.max_delay);
}

void dynamic_batcher::drop_expired() {
  std::erase_if(waiting_, [&](auto const& one) {
    bool const gone = one->is_over();
    if (gone) queued_ -= one->count;
    return gone;
  });
}

dynamic_batcher::calls dynamic_batcher::dequeue_batch() {
  calls batch;
  for (int count = 0; !waiting_.empty(); waiting_.pop_front()) {
    auto const& next = waiting_.front();
    if (count + next->count > how_.max_batch) break;
    if (!batch.empty() && !batch[0]->has_same_parts(*next)) break;
    queued_ -= next->count;
    count += next->count;
    batch.push_back(next);
  }
  return batch;
}

void dynamic_batcher::work() {
  std::vector<reusable_buffer> memory(parts_.inputs.size() + parts_.masks.size());
  std::unique_lock lock(mutex_);
  for (;;) {
    drop_expired();
    if (waiting_.empty()) {
      if (stopping_) return;
      work_available_.wait_for(lock, std::chrono::seconds(1));
      continue;
    }
    if (!is_due()) work_available_.wait_until(lock, waiting_.front()->since + how_.max_delay);
    if (!is_due()) continue;
    calls const batch = dequeue_batch();
    bool const more = !waiting_.empty();
    lock.unlock();
    space_available_.notify_all();
    if (more) work_available_.notify_one();
    if (!batch.empty()) run(batch, memory);
    lock.lock();
  }
}

void dynamic_batcher::run(calls const& batch, std::vector<reusable_buffer>& memory) const {
  try {
    int count = 0;
    for (auto const& one : batch) count += one->count;
    batch_view together;
    for (std::size_t i = 0; i < batch[0]->parts(); ++i) {
      bool const is_mask = i >= parts_.inputs.size();
      shape const& example =
          is_mask ? parts_.masks[i - parts_.inputs.size()].example : parts_.inputs[i].example;
      element_type const type = batch[0]->part_type(i);
      memory[i].resize(static_cast<std::size_t>(example.batched(how_.max_batch).elements()) * bytes_of(type));
      std::byte* to = memory[i].data();
      for (auto const& one : batch) {
        one->copy_part(i, to);
        to += one->part_bytes(i);
      }
      (is_mask ? together.masks : together.inputs)
          .emplace_back(memory[i].data(), type, example.batched(count));
    }
    together.count = count;
    predictions const made = run_(together);
    auto const size = static_cast<std::ptrdiff_t>(made.example.elements());
    if (std::ssize(made.values) != size * count)
      throw shape_error({.what = "a run did not return one row of outputs per example",
                         .expected = {size * count, " values"},
                         .got = {made.values.size()}});
    auto from = made.values.begin();
    for (auto const& one : batch) {
      auto const end = from + one->count * size;
      one->answer({made.example, {from, end}});
      from = end;
    }
  } catch (...) {
    for (auto const& one : batch) one->fail(std::current_exception());
  }
}

}  // namespace cohort
