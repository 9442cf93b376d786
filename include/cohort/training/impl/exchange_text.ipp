// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/link.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/detail/text_table.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/training/exchange_text.hpp>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace cohort::detail {

/// Measurements of an interval, found by name. Records which of the first 64 measurements were used.
class measured_interval {
 public:
  measured_interval(std::span<measurement const> now, std::span<measurement const> before)
      : now_(now), before_(before) {}

  std::size_t size() const { return now_.size(); }
  std::string_view name(std::size_t i) const { return now_[i].name; }
  double value(std::size_t i) const {
    bool const has_before = now_[i].is_sum && i < before_.size() && before_[i].name == now_[i].name;
    return now_[i].value - (has_before ? before_[i].value : 0);
  }
  std::optional<double> use(std::string_view name) {
    for (std::size_t i = 0; i < size(); ++i)
      if (now_[i].name == name) {
        use(i);
        return value(i);
      }
    return {};
  }
  void use(std::size_t i) { used_ |= std::uint64_t{i < 64} << i % 64; }
  bool is_used(std::size_t i) const { return i < 64 && (used_ >> i & 1) != 0; }

 private:
  std::span<measurement const> now_, before_;
  std::uint64_t used_ = 0;
};

/// Formats a time: "12.30 ms".
[[gnu::noinline]] std::string in_milliseconds(double seconds) {
  double const ms = 1e3 * seconds;
  return decimal_text(ms, ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3) + " ms";
}

/// Staleness of the applied messages: "; 0 steps late 1.0 %, 4 steps late 99.0 %". The strategy counts them
/// as "staleness_0", "staleness_1", ….
[[gnu::cold, gnu::noinline]] std::string staleness_text(measured_interval& of) {
  constexpr std::string_view counted = "staleness_";
  double sum = 0;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (of.name(i).starts_with(counted)) sum += of.value(i);
  std::string text;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!of.name(i).starts_with(counted)) continue;
    of.use(i);
    std::string how_many(of.name(i).substr(counted.size()));
    std::replace(how_many.begin(), how_many.end(), '_', ' ');  // "3_to_4"
    if (of.value(i) > 0)
      text += text_of({text.empty() ? "; " : ", ", how_many, " steps late ",
                       decimal_text(100 * of.value(i) / sum, 1), " %"});
  }
  of.use("largest_staleness");
  auto const bound = of.use("staleness");
  if (text.empty() && bound && *bound > 0) text = text_of({"; ", three_digits(*bound), " steps late"});
  return text;
}

}  // namespace cohort::detail

namespace cohort {

[[gnu::cold, gnu::noinline]] std::string exchange_text(std::span<measurement const> now,
                                                       std::span<measurement const> before,
                                                       std::int64_t steps) {
  using namespace detail;
  measured_interval of(now, before);
  std::string text;
  auto const add = [&](std::initializer_list<text_piece> micro_batches) {
    text += (text.empty() ? "" : "; ") + text_of(micro_batches);
  };
  auto const sent = of.use("message_bytes"), dense = of.use("dense_bytes"),
             elements = of.use("sent_elements");
  if (auto const times = of.use("exchanges"); times && *times != static_cast<double>(steps))
    add({*times, *times == 1 ? " exchange" : " exchanges"});
  if (sent && dense && *sent != *dense && *dense > 0)
    add({in_bytes(*sent), " of ", in_bytes(*dense), " dense (", three_digits(100 * *sent / *dense), " %)"});
  else if (sent)
    add({in_bytes(*sent), " dense"});
  if (auto const bound = of.use("entropy_bytes")) text += ", entropy bound " + in_bytes(*bound);
  auto density = of.use("density");
  if (elements && dense && *dense > 0) density = *elements * sizeof(float) / *dense;
  if (auto const threshold = of.use("threshold"))
    add({"threshold ", three_digits(*threshold), ", density ", three_digits(100 * density.value_or(0)),
         " %"});
  if (auto const norm = of.use("residual_norm")) add({"residual norm ", three_digits(*norm)});
  if (auto const mass = of.use("clipped_mass"); mass && *mass > 0)
    text += ", clipped mass " + three_digits(*mass);
  text += staleness_text(of);
  auto const transfer = of.use("transfer_seconds"), waited = of.use("waited_seconds");
  of.use("hideable_seconds");
  of.use("hidden");
  std::string times;
  auto const add_time = [&](char const* what, std::optional<double> seconds) {
    if (seconds && *seconds > 0 && steps > 0)
      times +=
          text_of({times.empty() ? "" : ", ", what, in_milliseconds(*seconds / static_cast<double>(steps))});
  };
  add_time("encode ", of.use("encode_seconds"));
  add_time("transfer ", transfer);
  add_time("apply ", of.use("apply_seconds"));
  if (!times.empty()) add({times, " a step"});
  if (transfer && waited && *transfer > 0)
    text += ", " + decimal_text(100 * std::max(0.0, 1 - *waited / *transfer), 0) + " % hidden behind compute";
  for (std::size_t i = 0; i < of.size(); ++i)
    if (!of.is_used(i)) add({of.name(i), " ", three_digits(of.value(i))});
  return text;
}

[[gnu::cold, gnu::noinline]] std::string exchange_warning(interval_cost const& of) {
  using namespace detail;
  double const compute = of.compute_seconds, exchange = of.exchange_seconds;
  if (!(exchange > compute) || of.steps <= 0) return {};
  std::string reason;
  if (of.messages > 0)
    reason = text_of({"; ", three_digits(of.messages / of.steps), " messages of ",
                      in_bytes(of.bytes / of.messages), " a step: at this size ",
                      of.bytes / of.messages < latency_equivalent_bytes ? "latency dominates"
                      : of.selects ? "bandwidth dominates, and a lower density sends fewer bytes"
                                   : "bandwidth dominates, and a sharing strategy sends fewer bytes"});
  auto const gain = [&](double less) {
    return three_digits((compute + exchange) / (compute + exchange / less));
  };
  return text_of({"the exchange takes longer than compute: ", in_milliseconds(exchange / of.steps),
                  " a step (with waits for slower ranks), compute ", in_milliseconds(compute / of.steps),
                  reason, ". Estimated gain in samples/s: ", gain(2), " times with a batch twice as large, ",
                  gain(5), " times with a fifth of the exchanges"});
}

}  // namespace cohort
