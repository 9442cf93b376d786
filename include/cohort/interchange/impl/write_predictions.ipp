// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/detail/work_queue.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/fingerprint.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/select.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/interchange/detail/merge_predictions.hpp>
#include <cohort/interchange/detail/prediction_part.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace cohort::detail {

/// One call of write_predictions, on one rank.
class prediction_run {
 public:
  prediction_run(training& model, dataset const& data, communicator& world, std::string const& path,
                 prediction_file_settings const& how)
      : model_(model),
        run_(model.state()),
        data_(data),
        world_(world),
        how_(how),
        layout_{.path = path, .format = how.format, .order = how.order, .keys = how.keys} {}

  prediction_file_report run();

 private:
  static constexpr char const* call = "write_predictions";

  void check();
  std::vector<std::string> classes_of(int layer) const;
  void divide();
  std::vector<shared_fact> facts();
  std::string manifest() const { return layout_.folder() + "/run.json"; }
  void prepare(std::vector<shared_fact> const& facts);
  void expect_same_run(std::vector<shared_fact> const& facts) const;
  void remove_parts() const;
  std::vector<std::size_t> chunks_to_do();
  void compute_all(std::vector<std::size_t> const& chunks);
  bool compute(std::size_t chunk, work_queue& queue);

  training& model_;
  training_state& run_;
  dataset const& data_;
  communicator& world_;
  prediction_file_settings const& how_;
  prediction_layout layout_;
  std::string data_text_;  // describes the data sets of all ranks
  std::vector<int> layers_;
  std::vector<predictions> made_;
  std::int64_t resumed_ = 0;
};

void prediction_run::check() {
  auto const refuse = [](char const* field, clause expected, clause got) {
    throw setting_error({.what = "invalid settings of write_predictions",
                         .where = field,
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  if (layout_.path.empty() || layout_.path.ends_with('/')) refuse("path", "a file", layout_.path);
  if (how_.batch < 1) refuse("batch", "at least 1", {how_.batch});
  if (how_.chunk < 1) refuse("chunk", "at least 1", {how_.chunk});
  if (layout_.sorted() && !how_.merge) refuse("merge", "true with prediction_order::keys", "false");
  layout_.keyed = data_.describe().keyed;
  if (layout_.sorted() && !layout_.keyed)
    refuse("order", "prediction_order::examples, or a data set with keys (with_keys)", "keys");
  layout_.local = how_.sharding == sharding::local;
  data_.require_random_access(call);
  check_inputs(run_, data_, call);
  graph_view const net = run_.net;
  layers_ = how_.outputs.empty() ? net.outputs() : named_layers(net, how_.outputs);
  if (!how_.names.empty() && how_.names.size() != how_.outputs.size())
    refuse("names", {how_.outputs.size(), " names, one for each of the outputs"}, {how_.names.size()});
  for (int const id : layers_) {
    if (std::ranges::count(layers_, id) > 1)
      refuse("outputs", "different layers", {net.name(id), ", more than once"});
    std::size_t const which = made_.size();
    layout_.outputs.push_back({.name = how_.names.empty() ? std::string(net.name(id)) : how_.names[which],
                               .example = net[id].output,
                               .classes = classes_of(id)});
    made_.push_back({.example = net[id].output, .values = {}});
  }
  if (layout_.format == prediction_format::npy) layout_.arrays();  // throws if two file names are equal
}

std::vector<std::string> prediction_run::classes_of(int layer) const {
  graph_view const net = run_.net;
  std::vector<int> const losses = net.with_role(layer_role::loss);
  auto const which = static_cast<std::size_t>(std::ranges::find(losses, layer) - losses.begin());
  shape const& example = net[layer].output;
  auto const fits = [&](std::vector<std::string> const& names) {
    return !names.empty() && example.rank >= 1 && example.rank <= 2
           && std::ssize(names) == example[example.rank - 1];
  };
  if (which == losses.size()) return {};
  if (std::vector<std::string> names = run_.preparation.classes_of(net, layer); fits(names)) return names;
  auto const& targets = data_.describe().targets;
  if (which < targets.size() && fits(targets[which].label_names)) return targets[which].label_names;
  return fits(how_.class_names) ? how_.class_names : std::vector<std::string>();
}

void prediction_run::divide() {
  std::vector<std::int64_t> sizes{data_.size()};
  if (layout_.local) sizes = local_sizes(world_, data_, how_.sharding);
  layout_.divide(sizes, how_.chunk);
  std::string mine;
  all_or_none(world_, call, "cannot read the data set", [&] {
    mine = text_of({data_.size(), " examples, fingerprint ", data_.size() > 0 ? fingerprint(data_, 0) : 0});
  });
  data_text_ = mine;
  if (layout_.local) {
    std::vector<std::string> const all = texts_of_all(world_, call, mine);
    data_text_.clear();
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      data_text_ += text_of({rank > 0 ? "; " : "", "rank ", rank, ": ", all[rank]});
  }
}

std::vector<shared_fact> prediction_run::facts() {
  std::string outputs;
  for (prediction_output const& one : layout_.outputs)
    outputs += text_of({outputs.empty() ? "" : ", ", one.name, " ", to_string(one.example)});
  bool const integers = layout_.keys == key_type::integer;
  return {{"network", text_of({run_.net.hash()})},
          {"parameters", model_.checksum()},
          {"normalisation", run_.preparation.rescaling.empty()
                                ? "none"
                                : text_of({"hash ", fnv1a(run_.preparation.rescaling.to_json())})},
          {"data", data_text_},
          {"outputs", outputs},
          {"columns", text_of({"hash ", fnv1a(layout_.header())})},
          {"format", layout_.format == prediction_format::csv ? "csv" : "npy"},
          {"keys", !layout_.keyed ? "none"
                   : integers     ? "integer"
                                  : "text"},
          {"chunk", text_of({how_.chunk})},
          {"sharding", layout_.local ? "local" : "global"}};
}

void prediction_run::expect_same_run(std::vector<shared_fact> const& facts) const {
  std::string const text = io::read_text(manifest());
  io::json_document const document = io::parse_json(text, manifest());
  for (shared_fact const& one : facts) {
    std::string const former(document.root().at(one.name).string());
    if (former == one.value) continue;
    throw setting_error({.what = "the part files are of another model, data set or setting",
                         .where = {manifest(), ", ", one.name},
                         .expected = former,
                         .got = {one.value,
                                 "; repeat the interrupted call, or discard its part files by "
                                 ".resume = false"}});
  }
}

void prediction_run::remove_parts() const {
  auto const names = io::list_folder(layout_.folder());
  if (!names) return;
  for (std::string const& name : *names)
    if (name.starts_with("part-") || name.starts_with("merge-"))
      io::remove_file(layout_.folder() + '/' + name);
  io::remove_file(manifest());
}

void prediction_run::prepare(std::vector<shared_fact> const& facts) {
  if (!how_.resume) remove_parts();
  io::make_folder(layout_.folder());
  std::vector<std::string> const names = io::list_folder(layout_.folder()).value();
  for (std::string const& name : names)
    if (name.find(".partial-") != name.npos) io::remove_file(layout_.folder() + '/' + name);
  if (how_.merge)
    for (std::string const& path : layout_.files()) io::file_writer{path};  // finds errors early
  if (io::size_of_file(manifest())) return expect_same_run(facts);
  io::json_writer out(2);
  out.begin_object();
  for (shared_fact const& one : facts) out.field(one.name, std::string_view(one.value));
  io::write_file(manifest(), out.end_object().text());
}

std::vector<std::size_t> prediction_run::chunks_to_do() {
  std::vector<std::uint8_t> done(layout_.chunks.size(), 1);
  if (world_.rank() == 0) {
    auto const names = io::list_folder(layout_.folder()).value_or(std::vector<std::string>());
    std::set<std::string> const found(names.begin(), names.end());
    std::vector<std::string> const suffixes = layout_.part_suffixes();
    for (std::size_t c = 0; c < done.size(); ++c)
      for (std::string const& suffix : suffixes)
        if (!found.contains(layout_.part(c, suffix).substr(layout_.folder().size() + 1))) done[c] = 0;
  }
  if (world_.size() > 1 && !done.empty()) world_.broadcast(std::span(done), 0);
  std::vector<std::size_t> chunks;
  for (std::size_t c = 0; c < done.size(); ++c) {
    if (done[c] != 0)
      resumed_ += layout_.chunks[c].examples.count;
    else if (!layout_.local || layout_.chunks[c].rank == world_.rank())
      chunks.push_back(c);
  }
  return chunks;
}

bool prediction_run::compute(std::size_t chunk, work_queue& queue) {
  index_slice const examples = layout_.chunks[chunk].examples;
  auto const locate = [&](auto const& problem) {
    refusal why = problem.why();
    why.where += text_of({why.where.empty() ? "" : "; ", "examples ", examples.first, " to ",
                          examples.first + examples.count - 1});
    if (world_.size() > 1) why.where += text_of({", rank ", world_.rank()});
    throw std::remove_cvref_t<decltype(problem)>(std::move(why));
  };
  try {
    auto const batches = std::make_shared<loader>(
        normalised(select(data_, examples.first, examples.count), {run_.preparation.rescaling.inputs, {}}),
        loader_settings{.batch = how_.batch,
                        .shuffle = false,
                        .readers = how_.readers,
                        .deadline = run_.settings.deadline});
    prediction_part part(layout_, chunk);
    batches->start(0);
    while (batch const* const next = batches->next()) {
      if (!queue.make_progress()) return false;
      for (predictions& one : made_) one.values.clear();
      run_.run_workers(batches, [&] {
        run_.workers->infer(*next, layers_, [&](std::int64_t, plan_context const& done) {
          for (std::size_t which = 0; which < made_.size(); ++which)
            append(done.output(static_cast<int>(which)), made_[which].values);
        });
      });
      if (!run_.preparation.rescaling.targets.empty()) run_.rescale_back(layers_, made_);
      part.add(*next, made_);
    }
    part.commit();
  } catch (data_error const& problem) {
    locate(problem);
  } catch (file_error const& problem) {
    locate(problem);
  }
  return true;
}

void prediction_run::compute_all(std::vector<std::size_t> const& chunks) {
  work_queue queue(world_, layout_.local ? 0 : std::ssize(chunks));
  std::exception_ptr failure;
  auto const attempt = [&](auto action) {
    try {
      action();
    } catch (communicator_error const&) {
      throw;
    } catch (...) {
      failure = std::current_exception();
    }
  };
  attempt([&] {
    if (layout_.local) {
      for (std::size_t const chunk : chunks)
        if (!compute(chunk, queue)) break;
    } else {
      while (auto const item = queue.next())
        if (!compute(chunks[static_cast<std::size_t>(*item)], queue)) break;
    }
  });
  bool const complete = queue.join(failure != nullptr);
  if (complete && world_.rank() == 0 && how_.merge)
    attempt([&] {
      merge_predictions(layout_, [&] { queue.make_progress(); });
      remove_parts();
      io::remove_empty_folder(layout_.folder());
    });
  queue.release();
  all_or_none(world_, call, "cannot write the predictions", [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

prediction_file_report prediction_run::run() {
  all_or_none(world_, call, "cannot write the predictions", [&] { check(); });
  check_sharding(world_, data_, how_.sharding, 0, call);
  std::optional<scoped_consensus> consensus;
  if (run_.exchange_strategy->diverged() || run_.settings.average_decay > 0)
    consensus.emplace(*run_.exchange_strategy, run_.current_replica(), 1, true);
  divide();
  std::vector<shared_fact> const mine = facts();
  std::vector<shared_fact> shared = mine;
  shared.insert(shared.end(), {{"path", layout_.path},
                               {"order", layout_.sorted() ? "keys" : "examples"},
                               {"batch", text_of({how_.batch})},
                               {"resume", how_.resume ? "yes" : "no"},
                               {"merge", how_.merge ? "yes" : "no"}});
  require_same(world_, call, shared);
  all_or_none(world_, call, "cannot prepare the files", [&] {
    if (world_.rank() == 0) prepare(mine);
  });
  all_or_none(world_, call, "the ranks do not see the same folder", [&] {
    if (world_.rank() != 0) expect_same_run(mine);
  });
  compute_all(chunks_to_do());

  prediction_file_report report{.examples = layout_.rows, .resumed = resumed_, .files = {}};
  if (how_.merge) {
    report.files = layout_.files();
    return report;
  }
  for (std::size_t c = 0; c < layout_.chunks.size(); ++c)
    for (std::string const& suffix : layout_.part_suffixes()) report.files.push_back(layout_.part(c, suffix));
  return report;
}

}  // namespace cohort::detail

namespace cohort {

prediction_file_report write_predictions(training& model, dataset const& data, communicator& world,
                                         std::string const& path, prediction_file_settings const& how) {
  return detail::prediction_run(model, data, world, path, how).run();
}

prediction_file_report write_predictions(training& model, dataset const& data, std::string const& path,
                                         prediction_file_settings const& how) {
  return write_predictions(model, data, model.world(), path, how);
}

}  // namespace cohort
