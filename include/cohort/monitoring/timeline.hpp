// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/clock_readings.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/monitoring/detail/implementation.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/training.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

/// Records the newest steps of all ranks as a trace for Perfetto or chrome://tracing. Each rank is shown as a
/// process. The first track of a rank shows the phases of its steps (step_times and the wait for data); the
/// tracks below show the transfers in flight.
///
///     timeline times(world);                       // on every rank
///     training.fit(data, {.listeners = {&times}});
///     std::string trace = times.trace();           // all ranks' steps, on rank 0
///
/// Units     `newest`: number of steps kept, 144 bytes each. `ts` and `dur`: microseconds of rank 0's clock.
///           The other ranks' clocks are compared with rank 0's in the constructor and in trace; their drift
///           between the two comparisons is assumed to be linear. The label of a rank's process contains a
///           bound on the error of the rank's times: half of the fastest round trip, summed over both
///           comparisons.
/// Order     constructor and trace are collective; on_step is not.
/// Moves     one message per rank with all recorded steps to rank 0.
/// Errors    setting_error unless 1 ≤ `newest` ≤ 1,000,000; communicator_error.
/// Exact     spans of one track are nested or disjoint. Phases and transfers below a microsecond are omitted.
/// Cost      allocates nothing in a step.
/// Source    Trace Event Format, complete events ("X").
class timeline final : public listener {
 public:
  explicit timeline(communicator& world, std::int64_t newest = 1000);

  void on_step(training& run, step_report const& done) override;

  /// Returns the trace on rank 0, an empty string on the other ranks.
  std::string trace();

 private:
  static constexpr std::int64_t largest = 1'000'000;
  static constexpr int steps_track = 1, transfer_track = 2;
  struct span {
    std::int64_t begin = 0, end = 0;
  };
  /// A recorded step, as sent to rank 0. Times in ns of this rank's clock.
  struct row {
    std::int64_t step, epoch, examples;
    double loss;
    std::int64_t data, prepare, forward, backward, exchange, update, after_update, end;
    span encode, transfer, apply;
  };

  static row row_of(step_report const& done, exchange_times const& parts);

  std::vector<row> rows_of(int rank);

  static void write_name(io::json_writer& out, int rank, int track, char const* what, char const* field,
                         std::string const& text);

  template <class Clock>
  static void write(io::json_writer& out, int rank, std::vector<row> const& rows, Clock on_rank_0) {
    constexpr std::int64_t shortest = 1000;
    auto const begin = [&](char const* name, int track, span const& of) {
      std::int64_t const from = on_rank_0(of.begin), to = on_rank_0(of.end);
      out.begin_object(io::json_lines::one).field("name", name).field("ph", "X").field("pid", rank);
      out.field("tid", track).field("ts", static_cast<double>(from) / 1e3);
      out.field("dur", static_cast<double>(to - from) / 1e3);
    };
    auto const draw = [&](char const* name, int track, span const& of) {
      if (of.end - of.begin < shortest) return;
      begin(name, track, of);
      out.end_object();
    };
    std::vector<std::int64_t> ends;  // end of the last transfer on each transfer track
    std::int64_t newest = 0;         // start of the newest transfer
    for (row const& one : rows) {
      draw("wait for data", steps_track, {one.data, one.prepare});
      begin("step", steps_track, {one.prepare, one.end});
      out.key("args").begin_object().field("step", one.step).field("epoch", one.epoch);
      out.field("examples", one.examples);
      if (is_finite(one.loss)) out.field("loss", one.loss);
      out.end_object().end_object();
      draw("prepare", steps_track, {one.prepare, one.forward});
      bool const separate = one.backward > one.forward;
      draw("forward", steps_track, {one.forward, one.backward});
      draw(separate ? "backward" : "forward and backward", steps_track, {one.backward, one.exchange});
      draw("exchange", steps_track, {one.exchange, one.update});
      draw("update", steps_track, {one.update, one.after_update});
      draw("exchange", steps_track, {one.after_update, one.end});
      auto const within = [&](span const& of) { return of.begin >= one.prepare && of.end <= one.end; };
      if (within(one.encode)) draw("encode", steps_track, one.encode);
      if (within(one.apply)) draw("apply", steps_track, one.apply);
      if (one.transfer.begin <= newest) continue;
      newest = one.transfer.begin;
      auto const free = std::find_if(ends.begin(), ends.end(), [&](auto end) { return end <= newest; });
      auto const track = transfer_track + static_cast<int>(free - ends.begin());
      if (free == ends.end()) {
        ends.push_back(one.transfer.end);
        write_name(out, rank, track, "thread_name", "name", "in flight");
      } else {
        *free = one.transfer.end;
      }
      draw("transfer", track, one.transfer);
    }
  }

  std::unique_ptr<communicator> world_;
  std::vector<row> rows_;
  std::size_t oldest_ = 0;
  std::int64_t began_ = 0;
  std::vector<detail::clock_reading> clocks_;
};

}  // namespace cohort
