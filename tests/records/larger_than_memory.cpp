// SPDX-License-Identifier: Apache-2.0
// For larger_than_memory_test.py: writes records, or trains on them.
//
//   write FOLDER COUNT                   writes COUNT records of 64 KiB to 8 files, each with its number and
//                                        bytes that occur in no other record
//   train FOLDER COUNT RANKS BATCH STOP  trains an epoch, or until step STOP; resumes from FOLDER/kept
//
// The network is a table with one weight per record. An update changes only the weights of the records in the
// batch, each from 0 to the same value. If a record is read twice, its weight has another value.
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/records/record_writer.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace cohort;
constexpr std::size_t words = 8192;  // words per record

/// Fills a record: word 0 is its number, the others are those of splitmix64.
void fill(std::vector<std::uint64_t>& record, std::uint64_t number) {
  std::uint64_t state = number << 32;
  record[0] = number;
  for (std::size_t k = 1; k < record.size(); ++k) {
    std::uint64_t mixed = state += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    record[k] = mixed ^ mixed >> 31;
  }
}

std::vector<std::string> files(std::string const& folder) {
  return numbered_paths(folder + "/part-{0..7}.tfrecord");
}

void write(std::string const& folder, int count) {
  std::vector<std::uint64_t> record(words);
  for (int file = 0; file < 8; ++file) {
    tfrecord_writer to(files(folder)[static_cast<std::size_t>(file)]);
    for (int number = count * file / 8; number < count * (file + 1) / 8; ++number) {
      fill(record, static_cast<std::uint64_t>(number));
      to.add(std::as_bytes(std::span(record)));
    }
    to.commit();
  }
}

dataset examples(std::string const& folder) {
  record_set const records(files(folder), tfrecord(), {.cache = folder + "/indices"});
  data_description const described{
      .inputs = {{.name = "number", .example = {1}, .stored = element_type::i32, .type = element_type::i32}},
      .targets = {{.name = "one", .example = {1}}}};
  return decoded_records(records, described, [](record_view& record, example_view& out) {
    thread_local std::vector<std::uint64_t> wanted(words);
    auto const bytes = record.bytes(0);
    fill(wanted, static_cast<std::uint64_t>(record.index()));
    if (bytes.size() != words * 8 || std::memcmp(bytes.data(), wanted.data(), bytes.size()) != 0)
      throw data_error({.what = "a record has other bytes", .where = record.where()});
    *out.fill<std::int32_t>(0) = static_cast<std::int32_t>(record.index());
    *out.fill<float>(1) = 1;
  });
}

struct stop_at final : listener {
  explicit stop_at(std::int64_t at) : step(at) {}
  void on_step(training& run, step_report const&) override {
    if (run.step() == step) run.request({.stop = true});
  }
  std::int64_t step;
};

int train(std::string const& folder, int count, int ranks, int batch, int stop) {
  return launch<threads>(ranks, [&](communicator& world) {
    graph const net = graph::build([&](builder& b) {
      return b.input({1}) | embedding{.vocabulary = count, .width = 1, .settings = {.weights = init::zeros{}}}
             | flatten{} | mean_squared_error{};
    });
    training run = trainer<reference<float>>(net, world, allreduce{},
                                             {.optimizer = {sgd{.learning_rate = 8}}, .seed = 5});
    resume(run, folder + "/kept");
    std::int64_t const first = run.step();
    checkpoint_listener saving(folder + "/kept", 0);
    stop_at stopping(stop);
    fit_report const done = run.fit(examples(folder), {.batch = batch,
                                                       .blocks = {.block = 8, .window = 256},
                                                       .prefetch = 2,
                                                       .readers = 2,
                                                       .listeners = {&saving, &stopping}});
    run.save(folder + "/model");
    if (world.rank() == 0)
      std::printf("steps %lld to %lld, %s\n", static_cast<long long>(first),
                  static_cast<long long>(run.step()), done.stopped ? "stopped" : "done");
  });
}

}  // namespace

int main(int count, char** words_of) {
  auto const number = [&](int which) { return std::stoi(words_of[which]); };
  try {
    if (count == 4) return write(words_of[2], number(3)), 0;
    return train(words_of[2], number(3), number(4), number(5), number(6));
  } catch (error const& refused) {
    std::puts(refused.what());
    return 1;
  }
}
