// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace cohort {

void optimizer_rule::check() const {
  rate_.check();
  if (rule_ == rule_of::no_op && rate_ != rate_schedule(1))
    throw setting_error({.what = "the rate of optimizer no_op is not 1",
                         .where = "no_op.learning_rate",
                         .expected = "1, because no_op has no rate",
                         .got = rate_.is_fixed() ? detail::text_of({rate_.value(0, 0)})
                                                 : "schedule " + std::string(rate_.name())});
  if (own_) return check_own();
  if (has_momentum()) momentum_.check("momentum", true);
  for (named_number const& field : fields()) {
    auto const require = [&](bool allowed, char const* expected) {
      detail::require_setting(allowed, name(), field.name, expected, field.value);
    };
    constexpr double least = std::numeric_limits<float>::min();
    if (field.name == "rate_in_velocity") {
      require(field.value == 0 || field.value == 1, "0 or 1");
      if (field.value == 1 && rate_.depends_on_epochs())
        throw setting_error({.what = "the rate depends on epochs",
                             .where = {name(), ".learning_rate"},
                             .expected =
                                 "a schedule by steps, because rate_in_velocity needs the rate of the "
                                 "last step",
                             .got = {"schedule ", rate_.name(), " by epochs"}});
      continue;
    }
    if (field.name == "epsilon")
      require(field.value >= least || (field.value == 0 && number("epsilon_hat") >= least),
              std::ranges::find(row().fields, "epsilon_hat") == row().fields.end()
                  ? "a finite number, at least 1.2e-38"
                  : "a finite number, at least 1.2e-38; or 0 if epsilon_hat is at least 1.2e-38");
    else if (field.name == "trust")
      require(field.value > 0, "a finite number above 0");
    else if (field.name == "initial" || field.name == "decay" || field.name == "epsilon_hat")
      require(field.value >= 0, "a finite number, at least 0");
    else
      require(field.value >= 0 && field.value < 1, "at least 0 and below 1");
  }
}

void optimizer_rule::check_own() const {
  for (named_number const& field : fields())
    detail::require_setting(true, name(), field.name, "a finite number", field.value);
  if (!own_->run_f32) return;
  auto const check = [&]<class T>(void (*run)(double const*, T const*, T*, T* const*, std::size_t)) {
    T w = 0, g = 0, state[3]{};
    T* const states[]{&state[0], &state[1], &state[2]};
    for (std::int64_t step = 1; step <= 3 && w == 0; ++step) {
      double c[detail::own_update::most_constants]{};
      own_->constants(numbers_.data(), {.step = step, .rate = 1}, c);
      run(c, &g, &w, states, 1);
    }
    if (!(w == 0))
      throw setting_error({.what = "an optimizer changes parameters that are 0 and whose gradient is 0",
                           .where = {name(), ", computed in ", name_of(element_of<T>)},
                           .expected = "step 0, because the memory of parameters contains padding; for a "
                                       "quotient of zeros, an epsilon of at least 1.2e-38",
                           .got = {"step ", static_cast<double>(-w)}});
  };
  check(own_->run_f64);
  check(own_->run_f32);
}

}  // namespace cohort
