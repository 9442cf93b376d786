// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/batch_source.hpp>
#include <cohort/data/detail/prefetcher.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <string>
#include <utility>

namespace cohort::detail {

loader_settings checked_settings(loader_settings s, dataset const& data) {
  auto const refuse = [](char const* field, std::string expected, std::int64_t got) {
    throw setting_error(
        {.what = "invalid loader settings", .where = field, .expected = std::move(expected), .got = {got}});
  };
  if (s.batch < 1) refuse("batch", "at least 1", s.batch);
  if (s.ranks < 1) refuse("ranks", "at least 1", s.ranks);
  if (s.rank < 0 || s.rank >= s.ranks) refuse("rank", "0 to " + std::to_string(s.ranks - 1), s.rank);
  if (s.prefetch < 0 || s.prefetch > 1024) refuse("prefetch", "0 to 1024", s.prefetch);
  if (s.readers < 1 || s.readers > 256) refuse("readers", "1 to 256", s.readers);
  if (s.readers > 1 && !data.indexed())
    refuse("readers", "1, because a stream is read in sequence", s.readers);
  if (s.blocks.block < 0) refuse("blocks.block", "at least 0", s.blocks.block);
  if (s.blocks.window < 0) refuse("blocks.window", "at least 0", s.blocks.window);
  if (s.blocks.block == 0 && s.blocks.window > 0)
    refuse("blocks.window", "0 without blocks.block", s.blocks.window);
  if (s.blocks.block > 0 && !s.shuffle) refuse("blocks.block", "0 without shuffle", s.blocks.block);
  if (s.blocks.block > 0 && !data.indexed())
    refuse("blocks.block", "0, because a stream has its own order", s.blocks.block);
  if (s.blocks.block > 0 && s.bucket > 0) refuse("bucket", "0 with blocks.block", s.bucket);
  if (s.bucket < 0) refuse("bucket", "at least 0", s.bucket);
  if (s.bucket > 0 && !s.shuffle) refuse("bucket", "0 without shuffle", s.bucket);
  if (s.bucket > 0 && !(data.indexed() && (data.size() == 0 || data.length(0))))
    refuse("bucket", "0, because the data set has no sequences of different lengths", s.bucket);
  if (s.deadline.count() < 1) refuse("deadline", "at least 1 ms", s.deadline.count());
  if (s.is_local()) {
    if (s.local_sizes.size() != static_cast<std::size_t>(s.ranks))
      refuse("local_sizes", text_of({s.ranks, " sizes, one per rank"}), std::ssize(s.local_sizes));
    std::int64_t const own_size = s.local_sizes[static_cast<std::size_t>(s.rank)];
    if (own_size != data.size())
      refuse("local_sizes", text_of({data.size(), " examples on this rank"}), own_size);
    if (std::ranges::count(s.local_sizes, 0) == s.ranks) refuse("data", "at least 1 example on some rank", 0);
  } else if (data.indexed() && data.size() < 1) {
    refuse("data", "at least 1 example", data.size());
  }
  std::int64_t const fewest = s.is_local() ? std::ranges::min(s.local_sizes) : data.size();
  std::int64_t const largest = fewest / (s.is_local() ? 1 : s.ranks);
  if (s.drop_last && fewest >= 0 && s.batch > largest)
    refuse("batch",
           text_of({"at most ", largest, " for ", fewest, " examples",
                    s.is_local()  ? " on the smallest rank"
                    : s.ranks > 1 ? text_of({" on ", s.ranks, " ranks"})
                                  : "",
                    ", because drop_last would leave no batch"}),
           s.batch);
  return s;
}

}  // namespace cohort::detail

namespace cohort {

loader::loader(dataset data, loader_settings settings)
    : settings_(detail::checked_settings(settings, data)),
      size_(settings.is_local() ? std::ranges::max(settings.local_sizes) : data.size()) {
  if (settings.prefetch == 0)
    source_ = std::make_unique<detail::batch_source>(std::move(data), settings);
  else
    prefetcher_ = std::make_unique<detail::prefetcher>(std::move(data), settings);
}

loader::~loader() = default;

void loader::start(std::int64_t epoch, std::int64_t position) {
  if (position < 0 || (size_ >= 0 && position > size_))
    throw setting_error(
        {.what = "the start position is out of range",
         .where = "loader::start, position",
         .expected = size_ < 0 ? std::string("at least 0") : detail::text_of({"0 to ", size_}),
         .got = {position}});
  epoch_ = epoch;
  position_ = position;
  started_ = true;
  ended_ = false;
  failure_ = nullptr;
  if (prefetcher_)
    prefetcher_->queue().start(epoch, position);
  else
    source_->start(epoch, position);
}

batch const* loader::next() {
  if (!started_) start(0);
  if (ended_) return nullptr;
  batch const* result = nullptr;
  if (!prefetcher_) {
    result = make_batch();
  } else if (!prefetcher_->queue().pop(settings_.deadline, result)) {
    throw deadline_error({.what = "the data set did not provide a batch in time",
                          .where = {"epoch ", epoch_, ", position ", position_, ", rank ", settings_.rank},
                          .expected = {"a batch within ", settings_.deadline.count(), " ms"},
                          .got = "no batch"});
  }
  if (result) position_ = result->next_position;
  ended_ = result == nullptr;
  return result;
}

std::int64_t loader::batches() const {
  if (size_ < 0) return -1;
  bool const local = settings_.is_local();
  std::int64_t const full = local ? settings_.batch : settings_.examples_per_step();
  if (settings_.drop_last) return (local ? std::ranges::min(settings_.local_sizes) : size_) / full;
  return (size_ + full - 1) / full;
}

batch const* loader::make_batch() {
  if (failure_) std::rethrow_exception(failure_);
  try {
    return source_->fill(batch_) ? &batch_ : nullptr;
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

}  // namespace cohort
