// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text.hpp>
#include <cohort/training/detail/non_finite_reports.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace cohort::detail {

inline constexpr char const *loss_mark = "L", *gradient_mark = "G";

void non_finite_reports::add(step_info const& now, bool of_loss, std::string const& where) {
  pending_.push_back(
      text_of({of_loss ? loss_mark : gradient_mark, "step ", now.step, ", epoch ", now.epoch, ", ", where}));
}

numeric_error non_finite_reports::exchange(communicator& world, step_info const& now) {
  constexpr std::size_t most_named = 4;
  std::string mine;
  bool of_my_loss = false;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    of_my_loss = of_my_loss || pending_[i][0] == loss_mark[0];
    if (i < most_named) mine += text_of({i == 0 ? "" : "; ", std::string_view(pending_[i]).substr(1)});
  }
  if (pending_.size() > most_named) mine += text_of({"; and ", pending_.size() - most_named, " more steps"});
  if (!pending_.empty()) mine.insert(0, of_my_loss ? loss_mark : gradient_mark);
  std::string where;
  bool of_loss = false;
  auto const add_report = [&](std::string_view report, std::string_view rank) {
    if (report.empty()) return;
    of_loss = of_loss || report[0] == loss_mark[0];
    where += text_of({where.empty() ? "" : "; ", rank, report.substr(1)});
  };
  if (world.size() == 1) {
    add_report(mine, "");
  } else {
    gathered const all = world.allgatherv(std::as_bytes(std::span(mine)));
    for (int r = 0; r < world.size(); ++r)
      add_report({reinterpret_cast<char const*>(all.of(r).data()), all.of(r).size()},
                 text_of({"rank ", r, ": "}));
  }
  pending_.clear();  // after the exchange, which an error may end
  if (where.empty())
    where = text_of({"step ", now.step, ", epoch ", now.epoch, ", in the sum over the ranks"});
  return numeric_error({.what = of_loss ? "the loss is not finite" : "a gradient is not finite",
                        .where = where,
                        .expected = "finite numbers",
                        .got = "NaN or infinity; try a smaller learning rate, rescale the data by "
                               "training::normalise, or check it for NaN"});
}

}  // namespace cohort::detail
