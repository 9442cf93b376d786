// SPDX-License-Identifier: Apache-2.0
// Sums that end during the next forward have the same bits as sums that end before the update.
#include <cohort/communicator/launch.hpp>
#include <cohort/training/detail/late_update.hpp>
#include <cohort/training/training_loop.hpp>
#include "../checkpoint/scratch_folder.hpp"
#include "rank_cases.hpp"

namespace overlap_next_forward_test {

using namespace cohort_test;

/// Three buckets; the first two have more than half of the elements, and the first layer is in the third.
constexpr auto topped = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 16} | relu{} | dense{.units = 256} | relu{}
         | dense{.units = 256} | relu{} | dense{.units = 72} | batch_norm{} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

int late_in(graph_view net, training_settings const& settings, bool synchronised = false) {
  training made = trainer<narrow>(graph(net), settings);
  parameter_update const update(made.parameters(), settings.optimizer);
  return detail::late_buckets(made.parameters(), update, settings.not_finite, synchronised);
}

TEST(overlap_next_forward, delays_the_last_half_of_the_elements_but_never_the_first_layer) {
  auto const run = trainer<narrow>(topped, with_state());
  EXPECT_EQ(run.parameters().buckets().size(), 3U);
  EXPECT_EQ(late_in(topped, with_state()), 2);
  EXPECT_EQ(late_in(broad, with_state()), 0) << "the first layer has half of them";
  EXPECT_EQ(late_in(small, with_state()), 0) << "one bucket";
}

TEST(overlap_next_forward, has_no_late_bucket_if_a_step_must_be_complete) {
  EXPECT_EQ(late_in(topped, with_state(), true), 0);
  training_settings settings = with_state();
  settings.optimizer.normalisation = normalise::clip_elementwise{0.5};
  EXPECT_EQ(late_in(topped, settings), 2);
  settings.optimizer.normalisation = normalise::clip_l2_per_layer{5};
  EXPECT_EQ(late_in(topped, settings), 0);
  settings = with_state();
  settings.optimizer.constraint = constraint::max_norm{2};
  EXPECT_EQ(late_in(topped, settings), 0);
  settings = with_state();
  settings.optimizer.rule = lamb{.learning_rate = 0.01};
  EXPECT_EQ(late_in(topped, settings), 0);
  settings = with_state();
  settings.not_finite = when_not_finite::skip;
  EXPECT_EQ(late_in(topped, settings), 0);
}

/// Forwards everything to allreduce, and counts the steps that have late buckets.
struct counting final : strategy {
  counting(communicator& world, allreduce how, int& steps) : real(how.on(world)), late_steps(steps) {}
  void begin(step_info const& now, replica const& mine) override { real->begin(now, mine); }
  void ready(step_info const& now, bucket const& one, gradient_parts& parts) override {
    real->ready(now, one, parts);
  }
  bool before_update(step_info const& now, gradient_parts& parts) override {
    bool const takes = real->before_update(now, parts);
    late_steps += real->late_buckets() > 0 ? 1 : 0;
    return takes;
  }
  int late_buckets() const override { return real->late_buckets(); }
  void finish_late(gradient_parts& parts) override {
    if (fails) throw data_error({.what = "the shelf is empty"});
    ++finished_steps;
    real->finish_late(parts);
  }
  void abandon(std::string_view why) noexcept override { real->abandon(why); }
  agreement const* agreed() const override { return real->agreed(); }
  std::string describe() const override { return real->describe(); }

  std::unique_ptr<strategy> real;
  int& late_steps;
  int finished_steps = 0;
  bool fails = false;
};

/// Records checksums after every step, or after some steps only.
struct checksums final : listener {
  explicit checksums(int every) : every(every) {}
  int every;
  std::vector<std::string> all;
  void on_step(training& run, step_report const& done) override {
    if (done.step % every == 0) all.push_back(run.checksum());
  }
};

struct finished {
  std::vector<std::string> checksums;
  int late_steps = 0;
};
/// Some epochs with a smaller last batch, then streams that end at different times, one of them empty.
template <class B, auto const& net = topped>
finished run_of(communicator& world, allreduce how, int workers, int accumulate = 1, int every = 3) {
  bright_thirds const examples(103);
  checksums seen(every);
  finished all;
  training made =
      trainer<B>(net, world, std::make_unique<counting>(world, how, all.late_steps), with_state(workers));
  made.fit(examples.data(), {.batch = 7, .epochs = 2, .accumulate = accumulate, .listeners = {&seen}});
  if (world.size() > 1) made.fit(uneven_stream(), {.batch = 4, .epochs = 1, .listeners = {&seen}});
  all.checksums = seen.all;
  all.checksums.push_back(made.checksum());
  return all;
}

class overlap_next_forward_over_threads : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = std::chrono::seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, overlap_next_forward_over_threads, testing::Values(1, 2, 3, 8));

class overlap_next_forward_over_several_threads : public overlap_next_forward_over_threads {};
INSTANTIATE_TEST_SUITE_P(ranks, overlap_next_forward_over_several_threads, testing::Values(2, 3, 8));

TEST_P(overlap_next_forward_over_threads, is_bitwise_equal_to_allreduce) {
  for (int const workers : {1, 2})
    for (int const accumulate : {1, 3}) {
      finished plain, late;
      auto const to = [&](finished& where, bool overlap_next_forward) {
        on_all([&](communicator& world) {
          finished mine = run_of<narrow>(world, {.resync = 4, .overlap_next_forward = overlap_next_forward},
                                         workers, accumulate);
          EXPECT_TRUE(same_text(world, mine.checksums.back()));
          if (world.rank() == world.size() - 1) where = std::move(mine);
        });
      };
      to(plain, false);
      to(late, true);
      EXPECT_EQ(plain.checksums, late.checksums);
      EXPECT_EQ(plain.late_steps, 0);
      if (GetParam() == 1)
        EXPECT_EQ(late.late_steps, 0) << "a single rank waits for nothing";
      else
        EXPECT_GT(late.late_steps, 5);
    }
}

/// Reads the gradients first, while buckets are late.
struct gradients final : listener {
  std::vector<std::vector<double>> all;
  counting const* exchange = nullptr;
  void on_step(training& run, step_report const&) override {
    for (char const* const layer : {"dense_5", "dense_2", "dense_1"}) {
      all.push_back(run.last_gradient(layer));
      EXPECT_EQ(exchange->finished_steps, exchange->late_steps) << layer;
    }
  }
};

TEST(overlap_next_forward, provides_listeners_with_complete_gradients) {
  bright_thirds const examples(103);
  launch<threads>(2, [&](communicator& world) {
    for (int const workers : {1, 3}) {
      auto const seen = [&](bool overlap_next_forward) {
        int left = 0;
        gradients seen;
        auto exchange =
            std::make_unique<counting>(world, allreduce{.overlap_next_forward = overlap_next_forward}, left);
        seen.exchange = exchange.get();
        training made = trainer<narrow>(topped, world, std::move(exchange), with_state(workers));
        made.fit(examples.data(), {.batch = 7, .epochs = 1, .listeners = {&seen}});
        EXPECT_EQ(left > 0, overlap_next_forward);
        return seen.all;
      };
      EXPECT_EQ(seen(true), seen(false)) << workers;
    }
  });
}

/// Worker 1 has no rows of the batch whose forward finishes the late parts.
TEST(overlap_next_forward, completes_the_update_in_the_first_forward_of_a_training_loop) {
  bright_thirds const examples(32);
  batch_view const data(tensor_view(examples.pixels.data(), shape{32, 1, 8, 8}),
                        tensor_view(examples.labels.data(), shape{32}));
  launch<threads>(2, [&](communicator& world) {
    auto const trained = [&](bool overlap_next_forward) {
      int left = 0;
      auto exchange =
          std::make_unique<counting>(world, allreduce{.overlap_next_forward = overlap_next_forward}, left);
      counting const& counts = *exchange;
      training run = trainer<narrow>(topped, world, std::move(exchange), with_state(2));
      training_loop loop(run);
      for (int const first : {0, 16}) {
        run.train_on(data.rows(first, 16));
        EXPECT_EQ(left > counts.finished_steps, overlap_next_forward);
        for (int const count : {1, 4}) {
          loop.forward(data.rows(first, count));
          EXPECT_EQ(left, counts.finished_steps);
          loop.backward();
        }
        loop.step();
        EXPECT_EQ(left, counts.finished_steps);
      }
      return run.checksum();
    };
    EXPECT_EQ(trained(true), trained(false));
  });
}

TEST(overlap_next_forward, is_bitwise_equal_to_allreduce_in_double_precision) {
  launch<threads>(3, [](communicator& world) {
    EXPECT_EQ(run_of<wide>(world, {}, 2).checksums,
              run_of<wide>(world, {.overlap_next_forward = true}, 2).checksums);
  });
}

TEST(overlap_next_forward, has_no_late_bucket_if_layouts_differ) {
  launch<threads>(2, [](communicator& world) {
    auto const how = allreduce{.overlap_next_forward = true};
    finished const mixed =
        world.rank() == 0 ? run_of<narrow>(world, how, 1) : run_of<other_order>(world, how, 1);
    EXPECT_EQ(mixed.late_steps, 0);
    EXPECT_EQ(mixed.checksums, run_of<narrow>(world, how, 1).checksums);
  });
}

/// Frozen layers in the middle keep their parameters.
TEST(overlap_next_forward, is_bitwise_equal_to_allreduce_with_frozen_layers) {
  bright_thirds const examples(103);
  launch<threads>(2, [&](communicator& world) {
    auto const trained = [&](bool overlap_next_forward) {
      training_settings settings = with_state(2);
      settings.optimizer.layers = {{.layer = "dense_4", .frozen = true}};
      int left = 0;
      training made = trainer<narrow>(
          topped, world,
          std::make_unique<counting>(world, allreduce{.overlap_next_forward = overlap_next_forward}, left),
          settings);
      made.fit(examples.data(), {.batch = 7, .epochs = 2});
      EXPECT_EQ(left > 0, overlap_next_forward);
      return made.checksum();
    };
    EXPECT_EQ(trained(false), trained(true));
  });
}

TEST(overlap_next_forward, has_no_late_bucket_before_a_resync) {
  launch<threads>(2, [](communicator& world) {
    EXPECT_EQ(run_of<narrow>(world, {.resync = 1, .overlap_next_forward = true}, 1).late_steps, 0);
    auto const steps = [&](int resync) {
      return run_of<narrow>(world, {.resync = resync, .overlap_next_forward = true}, 1).late_steps;
    };
    EXPECT_GT(steps(0), steps(2));
    EXPECT_GT(steps(2), 0);
  });
}

/// Calls between two steps use the parameters of a complete step.
struct asking final : listener {
  asking(dataset const& held, shape const& example)
      : held(held), pixels(64, 0.5F), dims(example.batched(1)) {}
  dataset held;
  std::vector<float> pixels;
  shape dims;
  std::vector<double> answers;
  void on_step(training& run, step_report const& done) override {
    tensor_view const image(pixels.data(), dims);
    switch (done.step % 4) {
      case 0: {
        predictions const made = run.predict(image);
        answers.push_back(made[0][0]);
        break;
      }
      case 1:
        answers.push_back(run.evaluate(held).accuracy().value_or(-1));
        break;
      case 2:
        answers.push_back(run.outputs_of({}, image)[0][0][0]);
        break;
      default:
        break;
    }
  }
};

TEST(overlap_next_forward, shows_complete_steps_to_listeners) {
  bright_thirds const examples(96), held(30, 2);
  launch<threads>(2, [&](communicator& world) {
    auto const answers = [&](bool overlap_next_forward) {
      asking listening(held.data(), shape{1, 8, 8});
      training made = trainer<narrow>(topped, world, allreduce{.overlap_next_forward = overlap_next_forward},
                                      with_state(2));
      made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&listening}});
      return listening.answers;
    };
    auto const plain = answers(false);
    EXPECT_EQ(plain.size(), 9U);
    EXPECT_EQ(plain, answers(true));
  });
}

TEST_P(overlap_next_forward_over_several_threads, stops_all_ranks_for_a_non_finite_number) {
  on_all([](communicator& world) {
    a_number_that_is_not_finite_stops_all_and_is_named<topped>(world, false, {.overlap_next_forward = true});
  });
}

/// One bucket per layer. Only the gradient of the second layer's weights can overflow f32, after the first
/// bucket's votes have been sent.
constexpr auto steep = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 8} | dense{.units = 8192} | dense{.units = 3}
         | mean_squared_error{};
}>();

TEST(overlap_next_forward, skips_a_step_on_all_ranks_if_only_late_buckets_are_not_finite) {
  constexpr int batch = 2, steps = 6;
  std::vector<float> pixels(static_cast<std::size_t>(2 * steps * batch * 64));
  std::vector<float> const targets(static_cast<std::size_t>(2 * steps * batch * 3));
  pixels[static_cast<std::size_t>((3 * 2 + 1) * batch * 64)] = 1;  // the number that rank 1 reads in step 3
  dataset const data = arrays({{.values = tensor_view(pixels.data(), shape{2 * steps * batch, 1, 8, 8})}},
                              {{.values = tensor_view(targets.data(), shape{2 * steps * batch, 3})}});
  launch<threads>(2, [&](communicator& world) {
    auto const steeply = [&](when_not_finite what) {
      training made = trainer<narrow>(steep, world, allreduce{.overlap_next_forward = true},
                                      {.optimizer = {sgd{.learning_rate = 0.01}}, .not_finite = what});
      auto values = parameters_of<float>(made);
      parameter const* const table = made.parameters().table().data();
      constexpr float fills[]{1e37F, 0, 1e-32F, 0, 1e-2F, 0};  // weights and bias of each layer
      for (std::size_t p = 0; p < std::size(fills); ++p)
        std::fill_n(values.begin() + table[p].first, table[p].spec.dims.elements(), fills[p]);
      made.parameters().write_all(reinterpret_cast<std::byte const*>(values.data()),
                                  made.parameters().master());
      made.parameters().mark_changed();
      return made;
    };
    training skipping = steeply(when_not_finite::skip);
    std::string const before = skipping.checksum();
    EXPECT_EQ(skipping.fit(data, {.batch = batch, .epochs = 1, .shuffle = false}).skipped, 1);
    EXPECT_EQ(skipping.checksum(), before) << "all other gradients are 0";

    std::string said;
    try {
      steeply(when_not_finite::stop).fit(data, {.batch = batch, .epochs = 1, .shuffle = false});
    } catch (numeric_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find("rank 1: step 3, epoch 0, in backward"), std::string::npos) << said;
  });
}

TEST(overlap_next_forward, reports_the_cause_of_a_failure_to_other_ranks) {
  bright_thirds const examples(64);
  std::string heard;
  auto const run = [&] {
    launch<threads>(2, [&](communicator& world) {
      int steps = 0;
      auto owned = std::make_unique<counting>(world, allreduce{.overlap_next_forward = true}, steps);
      owned->fails = world.rank() == 1;
      training made = trainer<narrow>(topped, world, std::move(owned), with_state(2));
      try {
        made.fit(examples.data(), {.batch = 4, .epochs = 3});
      } catch (communicator_error const& e) {
        heard = e.what();
        EXPECT_NO_THROW(made.checksum()) << "what there is can be saved";
        throw;
      }
    });
  };
  EXPECT_THROW(run(), data_error);
  EXPECT_EQ(heard, "rank 1 failed: the shelf is empty");
}

/// If a rank fails between two steps, the other ranks are notified, and this rank's last step is complete.
TEST(overlap_next_forward, completes_the_last_step_when_a_rank_fails) {
  bright_thirds const examples(64);
  struct failing final : listener {
    void on_step(training& run, step_report const& done) override {
      if (done.step == 4 && run.world().rank() == 1) throw data_error({.what = "the pen is dry"});
    }
  } no_pen;
  std::string heard, failed;
  auto const run = [&](bool overlap_next_forward, bool asks = true) {
    launch<threads>(2, [&](communicator& world) {
      int left = 0;
      training made = trainer<narrow>(
          topped, world,
          std::make_unique<counting>(world, allreduce{.overlap_next_forward = overlap_next_forward}, left),
          with_state());
      try {
        made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&no_pen}});
      } catch (data_error const&) {
        EXPECT_EQ(left, overlap_next_forward ? 5 : 0);
        if (asks) failed = made.checksum();
        throw;
      } catch (communicator_error const& e) {
        heard = e.what();
        throw;
      }
    });
  };
  EXPECT_THROW(run(false), data_error);
  std::string const plain = failed;
  EXPECT_THROW(run(true), data_error);
  EXPECT_EQ(failed, plain);
  for (bool const asks : {true, false}) {
    heard.clear();
    EXPECT_THROW(run(true, asks), data_error);
    EXPECT_NE(heard.find("the pen is dry"), std::string::npos) << heard;
  }
}

/// A checkpoint within an epoch contains the complete step.
TEST(overlap_next_forward, resumes_bitwise_from_a_checkpoint) {
  bright_thirds const examples(96);
  struct saving final : listener {
    explicit saving(std::string to) : to(std::move(to)) {}
    std::string to;
    void on_step(training& run, step_report const& done) override {
      if (done.step == 4) save_checkpoint(run, to);
    }
  };
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    auto const make = [&] {
      return trainer<narrow>(topped, world, allreduce{.overlap_next_forward = true}, with_state());
    };
    saving listening(folder.path());
    training whole = make();
    whole.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&listening}});
    training resumed = make();
    EXPECT_TRUE(resume(resumed, folder.path()));
    EXPECT_EQ(resumed.step(), 5);
    resumed.fit(examples.data(), {.batch = 4, .epochs = 1});
    EXPECT_EQ(resumed.checksum(), whole.checksum());
  });
}

TEST(overlap_next_forward, describes_itself_and_refuses_a_low_precision_wire) {
  launch<self>([](communicator& world) {
    EXPECT_EQ(allreduce{.overlap_next_forward = true}.on(world)->describe(),
              "allreduce, resync 100, overlap with the next forward");
    EXPECT_THROW((allreduce{.wire = element_type::bf16, .overlap_next_forward = true}.on(world)),
                 setting_error);
  });
}

}  // namespace overlap_next_forward_test
