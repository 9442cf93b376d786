// SPDX-License-Identifier: Apache-2.0
// Files of all kinds, and files that are damaged or hostile.
// covers: keras
#include <gtest/gtest.h>
#include <unistd.h>

#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/keras.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "keras_cases.hpp"
#include "keras_models.hpp"

using namespace cohort;
using keras_models::without_remedy;

namespace {

std::string const folder = COHORT_SOURCE_DIR "/tests/golden/keras/";

keras_case case_named(std::string const& name) {
  for (keras_case const& one : read_keras_cases("files.txt").cases)
    if (one.name == name) return one;
  ADD_FAILURE() << "no case " << name;
  return {};
}

std::string file_differences(std::string const& file, std::string const& name,
                             keras_options const& how = {}) {
  imported_model const model = load_keras(folder + file, how);
  training const run = load_imported<reference<double>>(model);
  return compare_outputs(run, model, case_named(name));
}

/// A file that is removed at the end.
struct scratch {
  std::string path;
  explicit scratch(char const* name)
      : path(std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + name)) {}
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() { std::filesystem::remove(path); }
  void write(std::vector<std::byte> const& bytes) const {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
};

std::string refusal_of(std::string const& path, keras_options const& how = {}) {
  try {
    load_keras(path, how);
    return "imported";
  } catch (error const& problem) {
    return without_remedy(problem.what());
  }
}

TEST(keras_files, of_all_formats_have_the_outputs_of_keras) {
  EXPECT_EQ(file_differences("cnn.keras", "cnn"), "");
  EXPECT_EQ(file_differences("cnn.h5", "cnn"), "");
  EXPECT_EQ(file_differences("cnn_keras2.h5", "cnn"), "");
  EXPECT_EQ(file_differences("cnn.json", "cnn", {.weights = folder + "cnn.weights.h5"}), "");
  EXPECT_EQ(file_differences("tagger.keras", "tagger"), "");
  EXPECT_EQ(file_differences("tagger.h5", "tagger"), "");
  EXPECT_EQ(file_differences("nested.h5", "nested"), "");
}

TEST(keras_files, preserve_the_layer_names_of_keras) {
  imported_model const model = load_keras(folder + "tagger.keras");
  std::vector<std::string> names;
  for (int id = 0; id < model.network().view().size(); ++id) names.push_back(model.network().view().name(id));
  std::ranges::sort(names);
  EXPECT_EQ(model.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(model.outputs, std::vector<std::string>{"out"});
  for (char const* const name : {"both/backward", "both/forward", "inner/first", "inner/first/dense",
                                 "inner/second", "lstm", "out", "out/dense", "tied", "tied/dense", "tied@2"})
    EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
}

TEST(keras_files, without_weights_cannot_be_loaded_into_a_training) {
  imported_model const model = load_keras(folder + "cnn.json");
  try {
    load_imported<reference<double>>(model);
    ADD_FAILURE();
  } catch (data_error const& problem) {
    EXPECT_EQ(std::string(problem.what()),
              "the file has no values of the parameter (" + folder
                  + "cnn.json, parameter conv/conv2d.weights): expected 3x1x3x3");
  }
}

TEST(keras_files, of_other_formats_are_refused) {
  EXPECT_EQ(refusal_of("model.pt"),
            "cannot import the Keras model: the file's kind is unknown (model.pt): expected .keras, .h5, "
            ".hdf5 or .json, got another name");
  EXPECT_EQ(refusal_of(folder + "cnn.weights.h5"),
            "cannot import the Keras model: a file of weights has no layers (" + folder
                + "cnn.weights.h5): expected the model's configuration .json, got a file of weights");
  EXPECT_EQ(refusal_of("/nowhere/a.keras"),
            "cannot open the file (/nowhere/a.keras): No such file or directory");
  EXPECT_EQ(refusal_of("/nowhere/a.h5"), "cannot open the file (/nowhere/a.h5): No such file or directory");
}

TEST(keras_files, are_refused_if_truncated_and_read_or_refused_if_bytes_are_flipped) {
  for (char const* const name : {"cnn.keras", "cnn.h5", "tagger.keras"}) {
    std::vector<std::byte> const whole = io::read_file(folder + name);
    scratch const file(name);
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 1 + whole.size() / 97) {
      file.write({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)});
      EXPECT_NE(refusal_of(file.path), "imported") << name << ", " << bytes << " bytes";
    }
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 509) {
      std::vector<std::byte> changed = whole;
      changed[at] ^= std::byte{0x41};
      file.write(changed);
      refusal_of(file.path);  // throws an exception of Cohort or returns, without a crash or endless loop
    }
  }
}

// ---- zip archives ----------------------------------------------------------------------------------------

void append(std::vector<std::byte>& to, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(number >> (8 * i)));
}

struct zip_entry {
  std::string name;
  std::string content;
  int method = 0;
  std::uint64_t bytes = 0;  // 0: size of the content
};

/// An archive whose CRC-32 are 0.
std::vector<std::byte> archive_of(std::vector<zip_entry> const& entries) {
  std::vector<std::byte> made, table;
  for (zip_entry const& one : entries) {
    std::uint64_t const at = made.size(), bytes = one.bytes > 0 ? one.bytes : one.content.size();
    for (auto* const to : {&made, &table}) {
      bool const in_table = to == &table;
      append(*to, in_table ? 0x02014b50 : 0x04034b50, 4);
      if (in_table) append(*to, 20, 2);
      append(*to, 20, 2);
      append(*to, 0, 2);
      append(*to, static_cast<std::uint64_t>(one.method), 2);
      append(*to, 0, 4);
      append(*to, 0, 4);
      append(*to, one.content.size(), 4);
      append(*to, bytes, 4);
      append(*to, one.name.size(), 2);
      append(*to, 0, 2);
      if (in_table) {
        append(*to, 0, 2);
        append(*to, 0, 4);
        append(*to, 0, 4);
        append(*to, at, 4);
      }
      for (char const letter : one.name) to->push_back(static_cast<std::byte>(letter));
      if (!in_table)
        for (char const letter : one.content) to->push_back(static_cast<std::byte>(letter));
    }
  }
  std::uint64_t const place = made.size(), bytes = table.size();
  made.insert(made.end(), table.begin(), table.end());
  append(made, 0x06054b50, 4);
  append(made, 0, 4);
  append(made, entries.size(), 2);
  append(made, entries.size(), 2);
  append(made, bytes, 4);
  append(made, place, 4);
  append(made, 0, 2);
  return made;
}

TEST(keras_archives, with_compressed_damaged_or_duplicate_entries_are_refused) {
  scratch const file("bomb.keras");
  std::string const where = " (" + file.path + ", byte ";
  std::string const entry = "cannot read the zip archive: the entry \"metadata.json\" ";
  file.write(archive_of({{"metadata.json", "x", 8, 1 << 30}}));
  EXPECT_EQ(refusal_of(file.path), entry + "has a size that deflate cannot produce" + where
                                       + "0): expected at most 1032 bytes from 1, got 1073741824");
  file.write(archive_of({{"metadata.json", "x", 8, 1032}}));
  EXPECT_EQ(refusal_of(file.path),
            entry + "is compressed" + where + "0): expected stored, as Keras writes it, got method 8");
  file.write(archive_of({{"metadata.json", "x", 0, 1 << 30}}));
  EXPECT_EQ(refusal_of(file.path), entry + "is stored with different compressed and uncompressed sizes"
                                       + where + "0): expected 1, got 1073741824");
  file.write(archive_of({{"metadata.json", "x", 0}}));
  EXPECT_EQ(refusal_of(file.path),
            entry + "is damaged" + where + "0): expected CRC-32 0, got CRC-32 2363233923");
  file.write(archive_of({{"metadata.json", "", 0}, {"metadata.json", "", 0}}));
  EXPECT_EQ(refusal_of(file.path),
            entry + "exists twice" + where
                + "43): expected different names, got equal names; write the archive again");
  file.write(archive_of({{"../metadata.json", "", 0}}));  // names are never paths of files
  EXPECT_EQ(refusal_of(file.path), "cannot read the zip archive: it has no entry \"metadata.json\" ("
                                       + file.path + "): expected a file of Keras 3");
  file.write({});
  EXPECT_EQ(refusal_of(file.path),
            "cannot read the zip archive: it has no end record: it is truncated or not a zip archive" + where
                + "0): expected an end record, got none; copy or write the file again");
  std::vector<std::byte> const whole = io::read_file(folder + "cnn.keras");
  file.write(whole);
  EXPECT_EQ(refusal_of(file.path, {.max_bytes = 100}), "the file is too large (" + file.path
                                                           + "): expected at most 100 bytes, got "
                                                           + std::to_string(whole.size()) + " bytes");
}

// ---- HDF5 files ------------------------------------------------------------------------------------------

/// A position in the file cnn_keras2.h5: the extents of the array conv/kernel:0, which is 3x3x1x3. The
/// messages of its header follow: elements, fill value, layout.
struct kernel_in_file {
  std::vector<std::byte> bytes = io::read_file(folder + "cnn_keras2.h5");
  std::size_t extents = 0, type = 0, layout = 0;

  kernel_in_file() {
    std::vector<std::byte> wanted;
    for (std::uint64_t const one : {3, 3, 1, 3}) append(wanted, one, 8);
    extents = static_cast<std::size_t>(std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end())
                                       - bytes.begin());
    for (std::size_t at = extents - 16;;
         at += 8 + number(at + 2, 2)) {  // the preceding message has a header of 8 bytes
      if (number(at, 2) == 3) type = at + 8;
      if (number(at, 2) == 8) layout = at + 8;
      if (layout != 0) break;
    }
  }
  std::uint64_t number(std::size_t at, int count) const {
    std::uint64_t made = 0;
    for (int i = 0; i < count; ++i)
      made |= std::uint64_t{std::to_integer<unsigned char>(bytes.at(at + static_cast<std::size_t>(i)))}
              << (8 * i);
    return made;
  }
  kernel_in_file& set(std::size_t at, std::uint64_t value, int count) {
    std::vector<std::byte> made;
    append(made, value, count);
    std::ranges::copy(made, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return *this;
  }
  /// The message about the file, without its path.
  std::string refusal() const {
    scratch const file("hostile.h5");
    file.write(bytes);
    std::string text = refusal_of(file.path);
    if (auto const at = text.find(file.path); at != std::string::npos)
      text.replace(at, file.path.size(), "FILE");
    return text;
  }
};

std::string hdf5_message(std::string const& what, std::string const& where, std::string const& expected,
                         std::string const& got, std::string const& remedy) {
  return "cannot read the HDF5 file: " + what + " (FILE" + where + "): expected " + expected + ", got " + got
         + "; " + remedy;
}
std::string const save_again = "save the model again with Keras, or as a .keras file",
                  complete =
                      "save the model again, or pass a file of weights that belongs to the configuration",
                  kernel = ", model_weights/conv/conv/kernel:0";

TEST(keras_hdf5, with_unsupported_array_layouts_are_refused) {
  using array = kernel_in_file;
  array const as_saved;
  EXPECT_EQ(as_saved.refusal(), "imported");
  std::size_t const extents = as_saved.extents, type = as_saved.type, layout = as_saved.layout;
  EXPECT_EQ(array().set(extents, 1, 8).set(extents + 8, 9, 8).refusal(),
            hdf5_message("the array's shape differs from the layer's", kernel, "(3, 3, 1, 3)", "(1, 9, 1, 3)",
                         complete));
  std::string const stored = "(3, 3, 1, 3) with 4 bytes for each element inside the file",
                    missing = "the array's data is missing or incomplete";
  EXPECT_EQ(array().set(extents, 1 << 20, 8).refusal(),
            hdf5_message(missing, kernel, "(1048576, 3, 1, 3) with 4 bytes for each element inside the file",
                         "108 bytes", save_again));
  // Layout: version 3, kind 1, address, size.
  EXPECT_EQ(array().set(layout + 2, ~std::uint64_t{}, 8).refusal(),
            hdf5_message(missing, kernel, stored, "108 bytes", save_again));
  EXPECT_EQ(array().set(layout + 2, as_saved.bytes.size() - 107, 8).refusal(),
            hdf5_message(missing, kernel, stored, "108 bytes", save_again));
  EXPECT_EQ(array().set(layout + 10, 104, 8).refusal(),
            hdf5_message(missing, kernel, stored, "104 bytes", save_again));
  EXPECT_EQ(array().set(layout + 10, 112, 8).refusal(),
            hdf5_message(missing, kernel, stored, "112 bytes", save_again));
  std::string const contiguous = "a contiguous or chunked array, as h5py writes it by default",
                    other_layout = "the array has another layout, or is in another file";
  EXPECT_EQ(array().set(layout, 2, 1).refusal(),
            hdf5_message(other_layout, kernel, contiguous, "layout 1 of version 2", save_again));
  // The fill value becomes a list of external files, or of filters.
  for (std::uint64_t const message : {0x7, 0xb}) {
    array made;
    std::size_t const fill = type + made.number(type - 6, 2);
    EXPECT_EQ(made.number(fill, 2), 5U);
    EXPECT_EQ(made.set(fill, message, 2).refusal(),
              hdf5_message(other_layout, kernel, contiguous, "layout 1 of version 3", save_again));
  }
  EXPECT_EQ(array().set(type - 4, 2, 1).refusal(),
            hdf5_message("the array refers to a shared type", kernel, "a type in the object's header",
                         "a reference", save_again));
  std::string const other = "the array has elements of another type",
                    numbers = "little-endian integers, or floating-point numbers of 2, 4 or 8 bytes";
  EXPECT_EQ(array().set(type, 0x13, 1).refusal(),
            hdf5_message(other, kernel, numbers, "another type of 4 bytes", save_again));  // text
  EXPECT_EQ(array().set(type + 1, 0x21, 1).refusal(),
            hdf5_message(other, kernel, numbers, "another type of 4 bytes", save_again));  // big-endian
  EXPECT_EQ(
      array().set(type + 16, 100, 1).refusal(),
      hdf5_message(other, kernel, numbers, "another type of 4 bytes", save_again));  // bias of the exponent
  EXPECT_EQ(array().set(layout - 8, 0, 2).refusal(),
            hdf5_message("this is not an array", kernel, "an object with shape, type and layout",
                         "a group or another object", complete));
}

TEST(keras_hdf5, with_links_are_refused) {
  std::vector<std::byte> const whole = io::read_file(folder + "cnn_keras2.h5");
  std::string const text(reinterpret_cast<char const*>(whole.data()), whole.size());
  // The names of the symbol table with conv/kernel:0 are in the heap; the entry of a soft link has cache
  // type 2.
  for (std::size_t leaf = text.find("SNOD"); leaf != std::string::npos; leaf = text.find("SNOD", leaf + 4)) {
    kernel_in_file made;
    std::uint64_t const count = made.number(leaf + 6, 2);
    for (std::uint64_t entry = 0; entry < count; ++entry)
      made.set(leaf + 8 + 40 * static_cast<std::size_t>(entry) + 16, 2, 4);
    std::string const why = made.refusal();
    EXPECT_NE(why, "imported") << leaf;
  }
}

TEST(keras_hdf5, with_newer_or_cyclic_structures_are_refused) {
  kernel_in_file const as_saved;
  EXPECT_EQ(kernel_in_file().set(8, 2, 1).refusal(),
            hdf5_message("the file has the format of newer HDF5 libraries", "",
                         "a superblock of version 0 or 1, as h5py writes it by default", "2", save_again));
  EXPECT_EQ(kernel_in_file().set(13, 4, 1).refusal(),
            hdf5_message("the file's addresses have an unusual size", ", byte 13", "8 and 8 bytes", "4 and 8",
                         save_again));
  EXPECT_EQ(kernel_in_file().set(24, 512, 8).refusal(),
            hdf5_message("the file has a user block", ", byte 24", "base address 0", "512", save_again));
  EXPECT_EQ(kernel_in_file().set(64, ~std::uint64_t{}, 8).refusal(),
            hdf5_message("the file is truncated or damaged", ", byte 18446744073709551615",
                         "16 bytes at this place",
                         "a file of " + std::to_string(as_saved.bytes.size()) + " bytes", save_again));
  // A node of a tree that is its own child, at the same level.
  std::string const text(reinterpret_cast<char const*>(as_saved.bytes.data()), as_saved.bytes.size());
  std::size_t const tree = text.find("TREE");
  EXPECT_EQ(kernel_in_file().set(tree + 5, 1, 1).set(tree + 32, tree, 8).refusal(),
            hdf5_message("a tree of a group or of chunks is damaged", ", byte " + std::to_string(tree),
                         "a node of kind 0 below level 1", "kind 0, level 1", save_again));
  kernel_in_file short_one;
  short_one.bytes.pop_back();
  EXPECT_EQ(short_one.refusal(),
            hdf5_message("the file is truncated", "", std::to_string(as_saved.bytes.size()) + " bytes",
                         std::to_string(as_saved.bytes.size() - 1), save_again));
  scratch const file("empty.h5");
  file.write({});
  EXPECT_NE(refusal_of(file.path).find("it is not an HDF5 file"), std::string::npos);
}

/// Numbers from 0 to `below` − 1, the same in every run.
struct drawn_numbers {
  std::uint64_t state;
  std::size_t operator()(std::size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33) % below;
  }
};

TEST(keras_hdf5, that_are_mutated_are_refused_or_imported) {
  std::ifstream text(folder + "cnn.json");
  std::string const config((std::istreambuf_iterator<char>(text)), std::istreambuf_iterator<char>());
  drawn_numbers draw{11};
  int models = 0, errors = 0;
  for (char const* const name : {"cnn.h5", "cnn_keras2.h5", "nested.h5", "tagger.h5", "cnn.weights.h5"}) {
    std::vector<std::byte> const whole = io::read_file(folder + name);
    // Most bytes are parameters, whose changes are not errors: three of four mutations are near a signature.
    std::vector<std::size_t> places;
    std::string const bytes(reinterpret_cast<char const*>(whole.data()), whole.size());
    for (char const* const signature : {"TREE", "SNOD", "HEAP", "GCOL"})
      for (std::size_t at = bytes.find(signature); at != std::string::npos;
           at = bytes.find(signature, at + 1))
        places.push_back(at);
    for (int mutation = 0; mutation < 1000; ++mutation) {
      std::vector<std::byte> changed = whole;
      for (std::size_t change = draw(4); change < 4; ++change) {
        std::size_t const near = places[draw(places.size())];
        std::size_t const at =
            draw(4) == 0 ? draw(whole.size())
                         : std::min(near + draw(400) - std::min<std::size_t>(near, 200), whole.size() - 8);
        static constexpr std::uint64_t values[]{0, 1, 2, 255, 0xffff, 0xffffffff, ~std::uint64_t{}, 1U << 31};
        std::vector<std::byte> with;
        append(with,
               draw(3) == 0   ? values[draw(std::size(values))]
               : draw(3) == 0 ? draw(whole.size())
                              : draw(256),
               1 << draw(4));
        for (std::size_t i = 0; i < with.size() && at + i < whole.size(); ++i) changed[at + i] = with[i];
      }
      if (draw(10) == 0) changed.resize(draw(changed.size()));
      try {
        detail::hdf5_file const file("mutated.h5", changed);
        if (std::string_view(name).ends_with(".weights.h5")) {
          detail::hdf5_weights const weights(file);
          detail::import_keras(config, "cnn.json", {}, {}, nullptr, &weights);
        } else {
          detail::import_keras(file, {});
        }
        ++models;
      } catch (error const&) {
        ++errors;
      }
    }
  }
  EXPECT_GT(models, 300);
  EXPECT_GT(errors, 1500);
}

// ---- configurations --------------------------------------------------------------------------------------

std::string refusal_of_config(std::string const& text) {
  try {
    from_keras_config(text);
    return "imported";
  } catch (data_error const& problem) {
    return without_remedy(problem.what());
  }
}

std::string model_of(std::string const& layers, std::string const& rest) {
  return R"({"class_name": "Functional", "module": "keras", "config": {"layers": [)" + layers + "], " + rest
         + "}}";
}

TEST(keras_configurations, that_are_invalid_cyclic_or_too_large_are_refused) {
  std::string const cannot = "cannot import the Keras model: ";
  EXPECT_EQ(
      refusal_of_config("{}"),
      "cannot read JSON (Keras configuration:1:1, $): expected a field \"class_name\", got no such field");
  EXPECT_EQ(refusal_of_config(R"({"class_name": "MyModel", "module": "mine", "config": {}})"),
            cannot + "the model is of a custom class, whose layers are not in the file (Keras configuration): expected a Sequential or functional model, got MyModel");
  auto const dense = [](std::string const& name, std::string const& from) {
    return R"({"class_name": "Dense", "module": "keras.layers", "config": {"name": ")" + name
           + R"(", "units": 2}, "inbound_nodes": [[[")" + from + R"(", 0, 0, {}]]]})";
  };
  std::string const cycle = refusal_of_config(model_of(
      dense("a", "b") + ", " + dense("b", "a"), R"("input_layers": [], "output_layers": [["a", 0, 0]])"));
  EXPECT_NE(cycle.find("expected layers without a cycle, got a cycle through a"), std::string::npos) << cycle;
  std::string const missing =
      refusal_of_config(model_of(dense("a", "b"), R"("input_layers": [], "output_layers": [["a", 0, 0]])"));
  EXPECT_NE(missing.find("expected layers whose inputs exist, got a tensor of b, call 0"), std::string::npos)
      << missing;
  std::string const input =
      R"({"class_name": "InputLayer", "module": "keras.layers", "config": {"name": "x", "batch_shape": [null, 1000000]}})";
  EXPECT_EQ(refusal_of_config(R"({"class_name": "Sequential", "module": "keras", "config": {"layers": [)" + input
                              + R"(, {"class_name": "Dense", "module": "keras.layers", "config": {"name": "d", "units": 1000000}}]}})"),
            cannot + "a parameter is too large (Keras configuration, layer d): expected at most 2^36 elements, got (1000000, 1000000)");
  std::string deep = R"({"class_name": "Sequential", "module": "keras", "config": {"layers": []}})";
  for (int i = 0; i < 100; ++i)
    deep = R"({"class_name": "Sequential", "module": "keras", "config": {"layers": [)" + deep + "]}}";
  EXPECT_NE(refusal_of_config(deep).find("JSON"), std::string::npos);
  EXPECT_EQ(refusal_of_config(R"({"class_name": "Sequential", "module": "keras", "config": {"layers": [)" + input
                              + R"(, {"class_name": "Own", "module": "mine.layers", "config": {"name": "d"}}]}})"),
            cannot + "the layer's class Own is not of Keras (Keras configuration, layer d): expected a class of keras.layers: rebuild a custom class from such layers, got mine.layers");
}

TEST(keras_configurations, that_are_mutated_are_refused_or_imported) {
  drawn_numbers draw{7};
  int networks = 0, errors = 0;
  for (keras_case const& one : read_keras_cases().cases)
    for (int mutation = 0; mutation < 8; ++mutation) {
      std::string text = one.config;
      static constexpr std::string_view replacements[]{"0",  "-1",   "null",  "1000000", "[]",
                                                       "{}", "true", "\"x\"", "9",       ","};
      // Changes a digit or a name.
      std::size_t const at = text.find_first_of("0123456789tfn\"", draw(text.size()));
      if (at == std::string::npos) continue;
      text.replace(at, 1, replacements[draw(std::size(replacements))]);
      try {
        from_keras_config(text, {.training = draw(2) == 0});
        ++networks;
      } catch (error const&) {
        ++errors;
      }
    }
  EXPECT_GT(networks, 100);
  EXPECT_GT(errors, 1000);
}

TEST(keras_configurations, of_images_of_any_size_use_the_extents_of_the_options) {
  std::string const text = R"({"class_name": "Sequential", "module": "keras", "config": {"layers": [
    {"class_name": "InputLayer", "module": "keras.layers", "config": {"name": "x", "batch_shape": [null, null, null, 3]}},
    {"class_name": "GlobalAveragePooling2D", "module": "keras.layers", "config": {"name": "g", "data_format": "channels_last"}},
    {"class_name": "Dense", "module": "keras.layers", "config": {"name": "d", "units": 2}}]}})";
  EXPECT_EQ(from_keras_config(text, {.inputs = {{"x", {3, 8, 6}}}}).network().view()[0].output,
            (shape{3, 8, 6}));
  auto const refusal = [&](keras_options const& how) {
    try {
      from_keras_config(text, how);
    } catch (data_error const& why) {
      return std::string(why.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal({}).find("set keras_options::inputs to {{\"x\""), std::string::npos) << refusal({});
  EXPECT_NE(refusal({.inputs = {{"x", {4, 8, 6}}}})
                .find("contradicts the input x (Keras configuration): expected 3, got 4"),
            std::string::npos)
      << refusal({.inputs = {{"x", {4, 8, 6}}}});
  EXPECT_NE(refusal({.inputs = {{"x", {3, 8, 6}}, {"z", {1}}}})
                .find("names an unknown input (Keras configuration): expected one of x, got z"),
            std::string::npos);
}

TEST(keras_configurations, require_the_length_of_sequences) {
  std::string const text = R"({"class_name": "Sequential", "module": "keras", "config": {"layers": [
    {"class_name": "InputLayer", "module": "keras.layers", "config": {"name": "x", "batch_shape": [null, null, 3]}},
    {"class_name": "LSTM", "module": "keras.layers", "config": {"name": "l", "units": 2}}]}})";
  EXPECT_EQ(refusal_of_config(text),
            "cannot import the Keras model: an extent of the input is unknown (Keras configuration): "
            "expected a number; set keras_options::inputs to {{\"x\", {channels, height, width}}}, or, for "
            "sequences, steps, got null");
  EXPECT_EQ(from_keras_config(text, {.steps = 7}).network().view()[0].output, (shape{7, 3}));
  EXPECT_EQ(from_keras_config(text, {.inputs = {{"x", {5, 3}}}}).network().view()[0].output, (shape{5, 3}));
}

}  // namespace
