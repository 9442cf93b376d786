// SPDX-License-Identifier: Apache-2.0
#include <cohort/strategy/detail/exchange_meter.hpp>

namespace cohort::detail {

void exchange_meter::start(std::size_t bytes, std::size_t dense) {
  sent_ += static_cast<double>(bytes);
  dense_ += static_cast<double>(dense);
  if (!std::exchange(in_flight_, true)) span_ = {.begin = clock::now()};
  waits_ = false;
}

void exchange_meter::count_dense(std::size_t bytes) {
  sent_ += static_cast<double>(bytes);
  dense_ += static_cast<double>(bytes);
}

void exchange_meter::finish() {
  if (!std::exchange(in_flight_, false)) return;
  span_.end = std::max(span_.end, span_.begin);
  transfer_ += span_.end - span_.begin;
  hideable_ += (waits_ ? wait_begin_ : span_.end) - span_.begin;
  last_.transfer = span_;
  exchanges_ += 1;
}

void exchange_meter::add(exchange_times const& whole, clock::duration hideable, clock::duration waited) {
  last_ = whole;
  encode_ += whole.encode.end - whole.encode.begin;
  transfer_ += whole.transfer.end - whole.transfer.begin;
  apply_ += whole.apply.end - whole.apply.begin;
  hideable_ += hideable;
  waited_ += waited;
  exchanges_ += 1;
}

void exchange_meter::add_times(std::vector<measurement> const& report) {
  for (measurement const& one : report) {
    auto const time = std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(one.value));
    if (one.name == "exchanges") exchanges_ += one.value;
    if (one.name == "encode_seconds") encode_ += time;
    if (one.name == "transfer_seconds") transfer_ += time;
    if (one.name == "hideable_seconds") hideable_ += time;
    if (one.name == "waited_seconds") waited_ += time;
    if (one.name == "apply_seconds") apply_ += time;
  }
}

std::vector<measurement> exchange_meter::report() const {
  std::vector<measurement> all{{"message_bytes", sent_, true}, {"dense_bytes", dense_, true}};
  append_times(all);
  return all;
}

void exchange_meter::append_times(std::vector<measurement>& to) const {
  double const transfer = seconds(transfer_), waited = seconds(waited_);
  to.insert(to.end(), {{"exchanges", exchanges_, true},
                       {"encode_seconds", seconds(encode_), true},
                       {"transfer_seconds", transfer, true},
                       {"hideable_seconds", seconds(hideable_), true},
                       {"waited_seconds", waited, true},
                       {"apply_seconds", seconds(apply_), true},
                       {"hidden", transfer > 0 ? std::max(0.0, 1 - waited / transfer) : 0}});
}

}  // namespace cohort::detail
