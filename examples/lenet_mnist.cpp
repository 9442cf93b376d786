// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// LeNet on MNIST with everything that can be set from the command line: lenet_mnist --help
#include <getopt.h>
#include <charconv>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/file_writer.hpp>
#include <cohort/checkpoint/json_writer.hpp>
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cohort/trainer/model_io.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace {

// clang-format off
constexpr auto lenet = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28})
       | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
       | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
       | dense{.units = 200} | relu{}
       | dense{.units = 10} | softmax_cross_entropy{};
}>();
// clang-format on

struct options {
  std::string data{};
  int workers = 1;
  int threads = 1;
  int batch = 32;
  int epochs = 5;
  double rate = 0.02;
  std::string backend = "auto";
  std::uint64_t seed = 123;
  std::string save{};
  std::string load{};
  std::string json{};
  bool profile = false;
  bool help = false;
};

constexpr char const* help_text =
    R"(Trains LeNet on MNIST and prints a classification report of the test images.

  --data DIR       folder with MNIST's four files, plain or .gz; unset: $COHORT_DATA, data/, the cache of the
                   set-up, else digits that are drawn
  --workers N      threads that share the parameters and split each batch (1)
  --threads N      OpenMP threads in each worker (1)
  --batch N        examples a step, over all workers (32)
  --epochs N       passes over the training images; 0 only evaluates (5)
  --rate X         AdaGrad's learning rate (0.02)
  --backend NAME   auto, onednn or reference; auto: the first that works here (auto)
  --seed N         of the initial weights and the order of the images (123)
  --load FILE      begins with the model in FILE
  --save FILE      writes the trained model, with the updater's state
  --json FILE      writes the final numbers
  --profile        prints what each kernel took
  --help           prints this text

A flag's value follows it or an equals sign; the last of a repeated flag counts.
)";

/// A flag that cannot be understood: a sentence, and exit status 2.
struct usage_error {
  std::string sentence;
};

template <class Number>
Number number_of(std::string_view flag, std::string_view text, Number lowest, Number highest) {
  Number value{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = failure == std::errc() && end == text.data() + text.size();
  if (whole && value >= lowest && value <= highest) return value;
  auto const bound = [](Number number) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  };
  throw usage_error{std::string(flag) + ": expected "
                    + (std::floating_point<Number> ? "a number" : "an integer") + " from " + bound(lowest)
                    + " to " + bound(highest) + ", got '" + std::string(text) + "'"};
}

std::string file_of(std::string_view flag, std::string_view text, char const* what) {
  if (text.empty()) throw usage_error{std::string(flag) + ": expected " + what + ", got ''"};
  return std::string(text);
}

options parse(int argc, char** argv) {
  static constexpr option flags[]{
      {"data", required_argument, nullptr, 'd'},    {"workers", required_argument, nullptr, 'w'},
      {"threads", required_argument, nullptr, 't'}, {"batch", required_argument, nullptr, 'b'},
      {"epochs", required_argument, nullptr, 'e'},  {"rate", required_argument, nullptr, 'r'},
      {"backend", required_argument, nullptr, 'k'}, {"seed", required_argument, nullptr, 's'},
      {"load", required_argument, nullptr, 'l'},    {"save", required_argument, nullptr, 'o'},
      {"json", required_argument, nullptr, 'j'},    {"profile", no_argument, nullptr, 'p'},
      {"help", no_argument, nullptr, 'h'},          {}};
  options chosen;
  opterr = 0;  // the sentences here are ours
  while (optind < argc) {
    std::string const flag = argv[optind];
    int const letter = getopt_long(argc, argv, "+:", flags, nullptr);
    std::string_view const value = optarg ? optarg : "";
    switch (letter) {
      case 'd':
        chosen.data = file_of("--data", value, "a folder");
        break;
      case 'w':
        chosen.workers = number_of("--workers", value, 1, 256);
        break;
      case 't':
        chosen.threads = number_of("--threads", value, 1, 1024);
        break;
      case 'b':
        chosen.batch = number_of("--batch", value, 1, 1'000'000);
        break;
      case 'e':
        chosen.epochs = number_of("--epochs", value, 0, 1'000'000);
        break;
      case 'r':
        chosen.rate = number_of("--rate", value, 1e-9, 1e9);
        break;
      case 's':
        chosen.seed = number_of<std::uint64_t>("--seed", value, 0, UINT64_MAX);
        break;
      case 'l':
        chosen.load = file_of("--load", value, "a file");
        break;
      case 'o':
        chosen.save = file_of("--save", value, "a file");
        break;
      case 'j':
        chosen.json = file_of("--json", value, "a file");
        break;
      case 'p':
        chosen.profile = true;
        break;
      case 'h':
        chosen.help = true;
        break;
      case 'k':
        if (value != "auto" && value != "onednn" && value != "reference")
          throw usage_error{"--backend: expected auto, onednn or reference, got '" + std::string(value)
                            + "'"};
        chosen.backend = value;
        break;
      case ':':
        throw usage_error{flag + ": expected a value after it, got none"};
      case -1:
        throw usage_error{"expected a flag, got '" + flag + "'; --help shows them"};
      default:
        throw usage_error{optopt != 0 && flag.find('=') != std::string::npos
                              ? flag + ": expected no value"
                              : "unknown flag '" + flag + "'; --help shows them"};
    }
  }
  return chosen;
}

cohort::training trainer_for(options const& chosen) {
  cohort::training_settings const settings{.updater = cohort::adagrad{.rate = chosen.rate},
                                           .l2 = 5e-4,
                                           .seed = chosen.seed,
                                           .workers = chosen.workers,
                                           .threads = chosen.threads,
                                           .log = cohort::stderr_sink()};
  using fallback = cohort::reference<float>;
  if (chosen.backend == "onednn") return cohort::trainer<cohort::require<cohort::onednn>>(lenet, settings);
  if (chosen.backend == "reference") return cohort::trainer<cohort::require<fallback>>(lenet, settings);
  return cohort::trainer<cohort::priority<cohort::onednn, fallback>>(lenet, settings);
}

/// Evaluates after every epoch, and adds up what training alone took.
struct after_each_epoch final : cohort::listener {
  cohort::dataset test;
  std::optional<cohort::classification_report> last{};
  double seconds = 0;

  explicit after_each_epoch(cohort::dataset images) : test(std::move(images)) {}
  void on_epoch(cohort::training& training, cohort::epoch_report const& done) override {
    seconds += done.seconds;
    last = training.evaluate(test);
    std::printf("epoch %lld: accuracy %.2f %%\n", static_cast<long long>(done.epoch + 1),
                100 * last->accuracy().value_or(0));
    std::fflush(stdout);
  }
};

std::string json_report(options const& chosen, cohort::training const& training,
                        cohort::fit_report const& fitted, after_each_epoch const& results, bool drawn) {
  double const each_second = results.seconds > 0 ? static_cast<double>(fitted.examples) / results.seconds : 0;
  cohort::json_writer out(2);
  out.begin_object().field("accuracy", results.last->accuracy().value_or(0));
  out.field("seconds", results.seconds).field("samples_per_second", each_second);
  out.field("ranks", 1).field("workers", chosen.workers).field("threads", chosen.threads);
  out.field("backend", training.backend()).field("steps", fitted.steps).field("epochs", chosen.epochs);
  out.field("batch", chosen.batch).field("rate", chosen.rate).field("seed", chosen.seed).key("loss");
  fitted.steps > 0 ? out.value(fitted.loss) : out.value(nullptr);
  out.field("data", drawn ? "drawn" : "real").field("checksum", training.checksum());
  return out.end_object().text();
}

void run(options const& chosen) {
  auto const digits = cohort::mnist::real_or_drawn(chosen.data);
  if (digits.drawn)
    std::puts("No MNIST was found: these digits are drawn, and the accuracy says nothing about MNIST.");
  std::printf("data: %s, %lld training and %lld test images\n", digits.where.c_str(),
              static_cast<long long>(digits.train.size()), static_cast<long long>(digits.test.size()));
  std::fflush(stdout);

  cohort::training training = trainer_for(chosen);
  if (!chosen.load.empty()) training.load(chosen.load);
  training.profile(chosen.profile);

  after_each_epoch results(digits.test);
  cohort::progress_listener progress;
  auto const fitted = training.fit(
      digits.train, {.batch = chosen.batch, .epochs = chosen.epochs, .listeners = {&progress, &results}});
  if (!results.last) results.last = training.evaluate(digits.test);

  if (chosen.profile) std::printf("\n%s", cohort::table(training.profile_rows(chosen.batch)).c_str());
  std::printf("\n%s\n", results.last->stats().c_str());
  if (fitted.steps > 0)
    std::printf("%lld steps in %.2f s, %.0f samples/s, ", static_cast<long long>(fitted.steps),
                results.seconds, static_cast<double>(fitted.examples) / results.seconds);
  std::printf("checksum %s\n", training.checksum().c_str());
  std::fflush(stdout);

  if (!chosen.save.empty()) training.save(chosen.save, true);
  if (!chosen.json.empty())
    cohort::write_file(chosen.json, json_report(chosen, training, fitted, results, digits.drawn));
}

}  // namespace

int main(int argc, char** argv) try {
  options const chosen = parse(argc, argv);
  if (chosen.help)
    std::fputs(help_text, stdout);
  else
    run(chosen);
} catch (usage_error const& mistake) {
  std::fprintf(stderr, "lenet_mnist: %s\n", mistake.sentence.c_str());
  return 2;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "lenet_mnist: %s\n", problem.what());
  return 1;
}
