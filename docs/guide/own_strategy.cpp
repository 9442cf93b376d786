// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <array>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Each rank votes on the sign of every element of the gradient; the step follows the majority.
class sign_votes final : public cohort::strategy {
 public:
  explicit sign_votes(cohort::communicator& world) : world_(world.duplicate()) {}
  ~sign_votes() override { abandon("its strategy was destroyed during a step"); }

  std::string describe() const override { return "majority of signs"; }
  cohort::agreement const* agreed() const override { return &agreed_; }

  void begin(cohort::step_info const&, cohort::replica const& mine) override {
    if (mine.parameters.type() != cohort::element_type::f32)
      throw cohort::setting_error({.what = "signs are summed in f32 only",
                                   .where = "sign_votes",
                                   .expected = "a backend that computes in f32"});
    values_.resize(mine.parameters.buckets().size());
    pending_.resize(values_.size());
  }

  void ready(cohort::step_info const& now, cohort::bucket const& one,
             cohort::gradient_parts& gradients) override {
    auto const index = static_cast<std::size_t>(one.index);
    values_[index].resize(static_cast<std::size_t>(one.elements));
    gradients.pack(one, reinterpret_cast<std::byte*>(values_[index].data()));
    take_signs(gradients.parameters(), one, now.weight);
    in_flight_ = true;
    pending_[index] = world_->start_allreduce(std::span(values_[index]), cohort::reduction::sum);
    world_->note({now.step, one.index});
  }

  bool before_update(cohort::step_info const& now, cohort::gradient_parts& gradients) override {
    std::array<double, 5> all{static_cast<double>(now.examples), now.weight, now.mine.stop ? 1.0 : 0.0,
                              now.mine.save ? 1.0 : 0.0, now.mine.not_finite ? 1.0 : 0.0};
    world_->allreduce(std::span<double>(all));
    agreed_ = {.meetings = agreed_.meetings + 1,
               .examples = static_cast<std::int64_t>(all[0]),
               .weight = all[1],
               .all = {.stop = all[2] > 0, .save = all[3] > 0, .not_finite = all[4] > 0}};
    for (cohort::bucket const& one : gradients.parameters().buckets()) {
      auto const index = static_cast<std::size_t>(one.index);
      pending_[index].wait();
      if (agreed_.weight > 0) take_signs(gradients.parameters(), one, 1 / agreed_.weight);
      gradients.unpack(one, reinterpret_cast<std::byte const*>(values_[index].data()));
    }
    in_flight_ = false;
    return agreed_.weight > 0 && !agreed_.all.not_finite;
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(in_flight_, false)) world_->abort(std::string(why));
  }

 private:
  /// Replaces a bucket's elements by their signs; those of running statistics are scaled, for a mean.
  void take_signs(cohort::parameter_set const& all, cohort::bucket const& one, double factor) {
    float* x = values_[static_cast<std::size_t>(one.index)].data();
    for (int p = one.first_parameter; p < one.first_parameter + one.parameters; ++p) {
      cohort::parameter_spec const& spec = all.table()[static_cast<std::size_t>(p)].spec;
      bool const votes = cohort::is_trained(spec.role);
      for (float* const end = x + spec.dims.elements(); x != end; ++x)
        *x = !votes ? static_cast<float>(factor) * *x : *x > 0 ? 1.0F : *x < 0 ? -1.0F : 0.0F;
    }
  }

  std::unique_ptr<cohort::communicator> world_;
  std::vector<std::vector<float>> values_;          // per bucket
  std::vector<cohort::pending_operation> pending_;  // per bucket
  cohort::agreement agreed_;
  bool in_flight_ = false;
};

/// The description that a program writes. It has no state; each rank makes its strategy from it.
struct majority_of_signs {
  std::unique_ptr<cohort::strategy> on(cohort::communicator& world) const {
    return std::make_unique<sign_votes>(world);
  }
};

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | dense{.units = 32} | batch_norm{} | relu{} | dense{.units = 10}
         | softmax_cross_entropy{};
}>();

int main() try {
  bool good = true;
  cohort::launch<cohort::threads>(3, [&](cohort::communicator& world) {
    auto training = cohort::trainer<cohort::onednn>(net, world, majority_of_signs{},
                                                    {.updater = cohort::sgd{.rate = 3e-3}});
    training.fit(cohort::drawn_digits(2000, 1), {.batch = 16, .epochs = 3});
    auto const report = training.evaluate(cohort::drawn_digits(500, 2));

    std::array<std::uint64_t, 2> hash{std::stoull(training.checksum(), nullptr, 16)};
    hash[1] = ~hash[0];
    world.allreduce(std::span<std::uint64_t>(hash), cohort::reduction::maximum);
    bool const same = hash[0] == ~hash[1];
    if (world.rank() != 0) return;
    std::printf("accuracy %.3f; the ranks' parameters are %s\n", report.accuracy().value_or(0),
                same ? "equal" : "different");
    good = same && report.accuracy() > 0.8;
  });
  return good ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
