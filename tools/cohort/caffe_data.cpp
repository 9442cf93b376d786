// SPDX-License-Identifier: Apache-2.0
#include "caffe_data.hpp"
#include <algorithm>
#include <array>
#include <charconv>
#include <cohort/documents/settings.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/random/permutation.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <cohort/records/caffe_on_spark.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cohort/zlib.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include "opencv_resize.hpp"
#if COHORT_WITH_IMAGE
#include <cohort/image.hpp>
#endif
#if __has_include(<cohort/hdf5_rows.hpp>)
#include <cohort/hdf5_rows.hpp>
#define HAS_HDF5 1
#endif

namespace cohort_program {

namespace {

namespace fs = std::filesystem;
using cohort::data_error;
using cohort::prototxt_message;
using kinds = caffe_top::kinds;

/// How the records of a layer are stored. `files`: a list of image files with labels. `arrays`: rows of HDF5
/// files.
enum class storage : std::uint8_t { lmdb, sequence_file, files, arrays };

/// An image before its transformation: bytes or floats, and the memory of decoded pixels.
struct caffe_pixels {
  cohort::shape extents{};
  std::span<std::uint8_t const> bytes{};
  std::span<float const> numbers{};
  std::vector<std::uint8_t> decoded{};
  std::vector<float> converted{};
};

/// A line of a list of image files.
struct listed_image {
  std::string path;
  int label = 0;
};

int extent_of(prototxt_message const& from, std::string_view field) {
  std::int64_t const value = from.integer(field, 0);
  if (value < 0 || value > 1 << 24)
    from.refuse(field, {"a number is out of range"}, {"0 to ", 1 << 24}, {value});
  return static_cast<int>(value);
}

/// The message with the parameters of a data layer, and its name.
std::pair<prototxt_message, std::string> parameters_of(cohort::caffe_data_layer const& layer) {
  for (auto const& [type, field] : {std::pair{"Data", "data_param"},
                                    {"MemoryData", "memory_data_param"},
                                    {"CoSData", "cos_data_param"},
                                    {"HDF5Data", "hdf5_data_param"},
                                    {"ImageData", "image_data_param"}})
    if (layer.type == type) return {layer.layer.message(field), field};
  layer.layer.refuse(
      "type", {"the data of this layer cannot be read"},
      {"Data, MemoryData, HDF5Data, ImageData or CoSData; a network that only predicts may have "
       "Input"},
      {layer.type});
}

/// Returns the path of a source without the prefix of local files.
std::string local_path(prototxt_message const& param, std::string const& layer_type) {
  std::string path = param.text("source");
  if (path.empty())
    param.refuse("source", {"the data layer ", layer_type, " has no source"},
                 {"a path, such as --set caffe.train.source=train_lmdb"}, {"none"});
  path = without_file_scheme(std::move(path));
  if (std::size_t const scheme = path.find("://"); scheme != path.npos)
    param.refuse("source", {"the source is not a local file"},
                 {"a local copy, for example of hdfs dfs -get, by --set caffe.train.source=PATH"}, {path});
  return path;
}

std::string first_bytes(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(8, '\0');
  in.read(bytes.data(), 8);
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

/// Returns the files of a folder that a Hadoop job has written, sorted.
std::vector<std::string> parts_of(std::string const& folder) {
  std::vector<std::string> files;
  std::error_code unknown;
  for (auto const& entry : fs::directory_iterator(folder, unknown)) {
    std::string const name = entry.path().filename().string();
    if (name.starts_with("_") || name.starts_with(".") || !entry.is_regular_file()) continue;
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

[[noreturn]] void refuse_format(prototxt_message const& param, char const* got) {
  param.refuse(
      "source", {"the format of the source cannot be read"},
      {"an LMDB, SequenceFiles, or HDF5 with one array for each top, to which a data frame is written "
       "first"},
      {got, ": ", param.text("source")});
}

/// Returns how a source is stored, by its content, and its files.
std::pair<storage, std::vector<std::string>> content_of(prototxt_message const& param,
                                                        std::string const& path) {
  std::error_code unknown;
  std::vector<std::string> files{path};
  if (fs::is_directory(path, unknown)) {
    if (fs::exists(fs::path(path) / "data.mdb", unknown)) return {storage::lmdb, {cohort::lmdb_file(path)}};
    if (fs::exists(fs::path(path) / "CURRENT", unknown))
      param.refuse("source", {"LevelDB cannot be read"},
                   {"an LMDB: convert_imageset --backend=lmdb writes one"}, {"a LevelDB: ", path});
    files = parts_of(path);
    if (files.empty()) refuse_format(param, "an empty folder");
  } else if (!fs::exists(path, unknown)) {
    param.refuse("source", {"the source does not exist"},
                 {"a path, or another one by --set caffe.train.source=PATH or caffe.test.source=PATH"},
                 {path});
  }
  std::string const magic = first_bytes(files[0]);
  if (magic.starts_with("SEQ")) return {storage::sequence_file, files};
  if (magic == "\x89HDF\r\n\x1a\n") return {storage::arrays, files};
  if (magic.starts_with("PAR1")) refuse_format(param, "Parquet");
  if (files.size() == 1 && path.ends_with(".mdb")) return {storage::lmdb, files};
  refuse_format(param, "another format");
}

/// Reads the lines of a list: paths, or with `labelled` a path and a number.
std::vector<listed_image> lines_of(std::string const& path, std::string const& root, bool labelled) {
  std::vector<listed_image> result;
  std::string const text = cohort::io::read_text(path, std::uint64_t{1} << 32);
  std::size_t number = 0;
  for (std::size_t place = 0; place < text.size(); ++number) {
    std::size_t const end = std::min(text.find('\n', place), text.size());
    std::string_view line(text.data() + place, end - place);
    place = end + 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    listed_image entry;
    if (labelled) {
      std::size_t const blank = line.rfind(' ');
      std::string_view const label = blank == line.npos ? "" : line.substr(blank + 1);
      auto const [stop, error] = std::from_chars(label.data(), label.data() + label.size(), entry.label);
      if (error != std::errc{} || stop != label.data() + label.size())
        throw data_error({.what = "cannot read a line of a list of images",
                          .where = path + ":" + std::to_string(number + 1),
                          .expected = "a path, a blank and a class number",
                          .got = {"'", line.substr(0, 100), "'"}});
      line = line.substr(0, blank);
    }
    entry.path = root + std::string(line);
    result.push_back(std::move(entry));
  }
  if (result.empty())
    throw data_error(
        {.what = "a list of files is empty", .where = path, .expected = "at least 1 line", .got = "none"});
  return result;
}

template <class T>
void append(std::span<std::byte const> bytes, std::vector<float>& to) {
  for (std::size_t place = 0; place + sizeof(T) <= bytes.size(); place += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof(T));
    to.push_back(static_cast<float>(value));
  }
}

/// Converts the elements of a row of an array to f32.
void convert(std::span<std::byte const> bytes, cohort::element_type type, std::vector<float>& to) {
  using cohort::element_type;
  to.clear();
  if (type == element_type::f32) append<float>(bytes, to);
  if (type == element_type::f64) append<double>(bytes, to);
  if (type == element_type::i32) append<std::int32_t>(bytes, to);
  if (type == element_type::i64) append<std::int64_t>(bytes, to);
  if (type == element_type::u8) append<std::uint8_t>(bytes, to);
}

/// Resizes an image to the size that its top has, if any.
void resize(caffe_top const& top, caffe_pixels& image) {
  auto const [channels, height, width] = std::array{image.extents[0], image.extents[1], image.extents[2]};
  if (top.height == 0 || top.width == 0 || (height == top.height && width == top.width)) return;
  image.decoded = resized_as_by_opencv(image.bytes, channels, height, width, top.height, top.width);
  image.bytes = image.decoded;
  image.extents = cohort::shape(channels, top.height, top.width);
}

/// Decodes an image file to planes in Caffe's order blue, green, red, or one grey plane.
void decode(std::span<std::byte const> file, caffe_top const& top, std::string const& where,
            caffe_pixels& to) {
#if COHORT_WITH_IMAGE
  int channels = top.transform.force_color ? 3 : top.transform.force_gray ? 1 : top.channels;
  if (channels == 0) channels = cohort::image_size(file, where)[0];
  if (channels != 1 && channels != 3)
    throw data_error({.what = "an image file cannot be decoded to these channels",
                      .where = where,
                      .expected = "1 or 3",
                      .got = {channels}});
  cohort::image result = cohort::decoded(file, where, {.channels = channels});
  to.extents = result.dims;
  to.decoded = std::move(result.pixels);
  to.bytes = to.decoded;
  resize(top, to);
  if (channels == 3) {
    auto const plane = static_cast<std::ptrdiff_t>(to.decoded.size() / 3);
    std::swap_ranges(to.decoded.begin(), to.decoded.begin() + plane, to.decoded.begin() + 2 * plane);
  }
#else
  (void)file, (void)top, (void)to;
  throw cohort::documents::usage_error(
      where
      + ": expected a program that was built with the component image, which decodes image files, got one "
        "without it");
#endif
}

}  // namespace

std::string without_file_scheme(std::string path) {
  for (std::string_view const prefix : {"file://", "file:"})
    if (path.starts_with(prefix)) return path.substr(prefix.size());
  return path;
}

struct caffe_data::content {
  caffe_reading reading{};
  std::vector<caffe_top> tops{};
  int batch = 0;
  bool shuffles = false;
  std::string where{};
  std::vector<std::string> notices{};
  storage stored = storage::lmdb;
  std::optional<cohort::record_set> records{};
  std::vector<listed_image> images{};

  std::int64_t size() const { return records ? records->size() : std::ssize(images); }

  /// Makes the tops of a layer that reads images and labels.
  void add_image_tops(cohort::caffe_data_layer const& layer, cohort::caffe_transform const& transform) {
    for (std::size_t k = 0; k < layer.tops.size(); ++k)
      tops.push_back({.name = layer.tops[k],
                      .kind = k == 0 ? kinds::image : kinds::label,
                      .extents = k == 0 ? cohort::shape{} : cohort::shape{1}});
    if (tops.empty() || tops.size() > 2)
      layer.layer.refuse("top", {"the layer has another number of tops"}, {"1 or 2"}, {tops.size()});
    tops[0].transform = transform;
  }

  void open_records(prototxt_message const& param, std::string const& layer_type) {
    std::string const path = local_path(param, layer_type);
    auto [kind, files] = content_of(param, path);
    stored = kind;
    where = path;
    if (stored == storage::arrays) return open_arrays(files);
    records.emplace(files,
                    stored == storage::lmdb ? cohort::lmdb() : cohort::sequence_file(cohort::gzip::inflate));
  }

  /// Opens one array for each top.
  void open_arrays(std::vector<std::string> const& files) {
    stored = storage::arrays;
#if HAS_HDF5
    std::vector<std::string> names;
    for (caffe_top& top : tops) {
      cohort::array_row const row = cohort::hdf5_row_of(files[0], top.name);
      top.field = names.size();
      top.type = row.type;
      top.stored = row.extents;
      if (top.kind != kinds::image) top.extents = row.extents.rank == 0 ? cohort::shape{1} : row.extents;
      if (top.kind == kinds::label) top.kind = kinds::numbers;
      names.push_back(top.name);
    }
    records.emplace(files, cohort::hdf5_rows(names, cohort::gzip::inflate));
#else
    throw cohort::documents::usage_error(
        files[0] + ": expected a program that was built with the component keras, which reads HDF5, got one without it");
#endif
  }

  /// Returns the Datum of a record. `id`: the record's key.
  cohort::caffe_datum datum_of(cohort::record_view& record, std::string& id) const {
    if (stored == storage::lmdb) {
      id = record.key();
      return cohort::caffe_datum::parse(record.bytes(records->field("value")), record.where());
    }
    std::span<std::byte const> const key = record.bytes(records->field("key"));
    bool const is_java = key.size() > 1 && key[0] == std::byte{0xAC} && key[1] == std::byte{0xED};
    if (!is_java) {
      id.assign(reinterpret_cast<char const*>(key.data()), key.size());
      return cohort::caffe_datum::parse(record.bytes(records->field("value")), record.where());
    }
    cohort::caffe_on_spark_key parsed = cohort::caffe_on_spark_key::parse(key, record.where());
    cohort::caffe_datum result{.channels = parsed.channels,
                               .height = parsed.height,
                               .width = parsed.width,
                               .encoded = parsed.encoded,
                               .data = record.text(records->field("value"))};
    double label = 0;
    char const* const end = parsed.label.data() + parsed.label.size();
    auto const [stop, error] = std::from_chars(parsed.label.data(), end, label);
    if (error != std::errc{} || stop != end || !(label >= -1e9 && label <= 1e9)
        || static_cast<int>(label) != label)
      throw data_error({.what = "the label of a record is not a class number",
                        .where = record.where(),
                        .expected = "a class number",
                        .got = {"'", parsed.label.substr(0, 40), "'"}});
    result.label = static_cast<int>(label);
    result.require_extents(record.where());
    id = std::move(parsed.id);
    return result;
  }

  /// Reads the image of a top.
  void read_pixels(cohort::caffe_datum const& datum, std::string const& place, caffe_pixels& to) const {
    if (datum.encoded)
      return decode(std::as_bytes(std::span(datum.data.data(), datum.data.size())), tops[0], place, to);
    to.extents = datum.extents();
    to.bytes = {reinterpret_cast<std::uint8_t const*>(datum.data.data()), datum.data.size()};
    to.numbers = datum.numbers;
    if (!datum.numbers.empty())
      to.bytes = {};
    else
      resize(tops[0], to);
  }

  /// Completes the extents of the image tops by the first record.
  void measure() {
    for (caffe_top& top : tops) {
      if (top.kind != kinds::image) continue;
      caffe_pixels first;
      std::string const place = describe_first();
      read_first(top, first);
      top.extents = top.transform.result(first.extents, place);
    }
  }
  std::string describe_first() const { return records ? records->where(0) : images[0].path; }
  void read_first(caffe_top const& top, caffe_pixels& to) const {
    if (stored == storage::files) {
      auto const file = cohort::io::read_file(images[0].path);
      return decode(file, top, images[0].path, to);
    }
    cohort::record_view record(*records, 0);
    if (stored == storage::arrays) {
      to.extents = top.stored;
      return;
    }
    std::string id;
    read_pixels(datum_of(record, id), record.where(), to);
  }
};

caffe_data::caffe_data(cohort::caffe_data_layer const& layer, caffe_reading const& reading) {
  auto result = std::make_shared<content>();
  result->reading = reading;
  auto const [param, field] = parameters_of(layer);
  bool const is_cos = layer.type == "CoSData";
  result->batch = extent_of(param, "batch_size");
  if (result->batch == 0 && layer.type == "ImageData") result->batch = 1;
  if (result->batch == 0)
    param.refuse("batch_size", {"the data layer has no batch"}, {"batch_size"}, {"none"});
  if (param.integer("rand_skip", 0) > 0)
    result->notices.push_back(param.where("rand_skip") + ", rand_skip: not used; no record is skipped");

  auto const image_transform =
      cohort::caffe_transform::from(layer.layer.message("transform_param"), reading.is_training);

  if (layer.type == "HDF5Data") {
    for (std::string const& top : layer.tops) result->tops.push_back({.name = top});
    result->where = local_path(param, layer.type);
    std::vector<std::string> files;
    for (listed_image const& line : lines_of(result->where, "", false)) {
      std::error_code unknown;
      std::string const beside =
          (fs::path(result->where).parent_path() / fs::path(line.path).filename()).string();
      files.push_back(fs::exists(line.path, unknown) ? line.path : beside);
    }
    result->shuffles = param.boolean("shuffle", false);
    result->open_arrays(files);
  } else if (layer.type == "ImageData") {
    result->add_image_tops(layer, image_transform);
    result->tops[0].channels = param.boolean("is_color", true) ? 3 : 1;
    result->tops[0].height = extent_of(param, "new_height");
    result->tops[0].width = extent_of(param, "new_width");
    result->shuffles = param.boolean("shuffle", false);
    result->stored = storage::files;
    result->where = local_path(param, layer.type);
    result->images = lines_of(result->where, param.text("root_folder"), true);
  } else if (is_cos) {
    for (prototxt_message const* top : param.messages("top")) {
      std::string const type = top->text("type", "STRING");
      caffe_top entry{.name = top->text("name"), .channels = extent_of(*top, "channels")};
      bool const is_image =
          type == "RAW_IMAGE" || type == "ENCODED_IMAGE" || type == "ENCODED_IMAGE_WITH_DIM";
      entry.kind = is_image                                       ? kinds::image
                   : type == "INT_ARRAY" || type == "FLOAT_ARRAY" ? kinds::numbers
                                                                  : kinds::label;
      if (is_image)
        entry.transform = cohort::caffe_transform::from(top->message("transform_param"), reading.is_training);
      if (is_image && reading.resizes)
        entry.height = extent_of(*top, "height"), entry.width = extent_of(*top, "width");
      if (!is_image) entry.extents = {std::max(1, entry.channels)};
      result->tops.push_back(std::move(entry));
    }
    if (result->tops.empty()) param.refuse("top", {"the data layer has no tops"}, {"messages top"}, {"none"});
    result->open_records(param, layer.type);
    bool const has_arrays =
        std::ranges::any_of(result->tops, [](auto const& top) { return top.kind == kinds::numbers; });
    std::ptrdiff_t const pictures = std::ranges::count(result->tops, kinds::image, &caffe_top::kind);
    if (result->stored != storage::arrays
        && (has_arrays || pictures != 1 || result->tops[0].kind != kinds::image))
      param.refuse("source", {"the tops do not fit the format of the source"},
                   {"an image and labels; for arrays, HDF5 with one array for each top"},
                   {result->tops.size(), " tops: ", result->where});
  } else {
    bool const is_memory = layer.type == "MemoryData";
    result->add_image_tops(layer, image_transform);
    result->tops[0].channels = is_memory                                     ? extent_of(param, "channels")
                               : param.boolean("force_encoded_color", false) ? 3
                                                                             : 0;
    if (is_memory && reading.resizes) {
      result->tops[0].height = extent_of(param, "height");
      result->tops[0].width = extent_of(param, "width");
    }
    result->open_records(param, layer.type);
  }
  if (result->size() == 0)
    param.refuse("source", {"the source has no records"}, {"at least 1 record"}, {result->where});
  result->measure();
  content_ = std::move(result);
}

std::vector<caffe_top> const& caffe_data::tops() const { return content_->tops; }
std::int64_t caffe_data::size() const { return content_->size(); }
int caffe_data::batch() const { return content_->batch; }
std::string const& caffe_data::where() const { return content_->where; }
std::vector<std::string> const& caffe_data::notices() const { return content_->notices; }

namespace {

/// One part of an example: a top, and its form. `one_hot`: number of classes; 0: the numbers of the top.
struct caffe_part {
  std::size_t top;
  bool is_index = false;
  int classes = 0;
  int one_hot = 0;
  int ignored = 0;
  cohort::shape extents{};
};

/// The examples of a network (indexed_dataset). `Content`: caffe_data::content.
template <class Content>
class caffe_examples {
 public:
  caffe_examples(std::shared_ptr<Content const> from, cohort::caffe_model const& net)
      : from_(std::move(from)) {
    cohort::graph_view const graph = net.model.network();
    std::vector<int> const inputs = graph.with_role(cohort::layer_role::input);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      cohort::shape const extents = graph[inputs[k]].output;
      caffe_part part{.top = top_of(net.model.inputs[k]), .extents = extents};
      require_elements(part);
      what_.inputs.push_back({.name = net.model.inputs[k], .example = extents});
      parts_.push_back(part);
    }
    for (cohort::caffe_target const& target : net.targets) add_target(graph, target);
    for (std::string const& top : net.continuations) continuations_.push_back(top_of(top));
    what_.keyed = from_->reading.keyed && from_->stored != storage::arrays;
  }

  cohort::data_description const& describe() const { return what_; }
  std::int64_t size() const { return from_->size(); }

  void get(std::int64_t i, cohort::example_view& out) const {
    cohort::random_stream const order(from_->reading.seed, "caffe order",
                                      static_cast<std::uint64_t>(out.epoch));
    std::int64_t const row = from_->shuffles ? cohort::random_permutation(order, size())[i] : i;
    cohort::random_stream const chance(from_->reading.seed, "caffe transform",
                                       static_cast<std::uint64_t>(out.epoch),
                                       static_cast<std::uint64_t>(row));
    if (from_->stored == storage::files) return read_file(row, chance, out);
    cohort::record_view record(*from_->records, row);
    if (from_->stored == storage::arrays) return read_arrays(record, chance, out);
    thread_local std::string id;  // of the example until the next one is requested
    cohort::caffe_datum const datum = from_->datum_of(record, id);
    caffe_pixels pixels;
    if (reads_image()) from_->read_pixels(datum, record.where(), pixels);
    write(pixels, datum.label, chance, record.where(), out);
    if (what_.keyed) out.key = id;
  }

 private:
  std::size_t top_of(std::string const& name) const {
    auto const found = std::ranges::find(from_->tops, name, &caffe_top::name);
    if (found != from_->tops.end()) return static_cast<std::size_t>(found - from_->tops.begin());
    throw data_error({.what = "the data layer has no top that the network reads",
                      .where = from_->where,
                      .expected = name,
                      .got = names_of_tops()});
  }
  std::string names_of_tops() const {
    std::string text;
    for (caffe_top const& top : from_->tops) text += (text.empty() ? "" : ", ") + top.name;
    return text;
  }
  void require_elements(caffe_part const& part) const {
    caffe_top const& top = from_->tops[part.top];
    if (top.extents.elements() == part.extents.elements()) return;
    throw data_error({.what = "the data has other extents than the network",
                      .where = from_->where + ", " + top.name,
                      .expected = to_string(part.extents),
                      .got = to_string(top.extents)});
  }
  bool reads_image() const {
    return std::ranges::any_of(parts_,
                               [&](auto const& part) { return from_->tops[part.top].kind == kinds::image; });
  }

  void add_target(cohort::graph_view graph, cohort::caffe_target const& target) {
    cohort::target_spec const wanted = graph.target(graph.find(target.loss));
    caffe_part part{.top = top_of(target.top), .classes = wanted.classes};
    part.is_index = wanted.classes > 0 && !target.one_hot;
    part.ignored = wanted.ignored;
    cohort::tensor_description result{.name = target.top};
    if (part.is_index) {
      if (wanted.steps > 0) part.extents = result.example = {wanted.steps};
      if (wanted.steps == 0) part.extents = {1};
      result.stored = result.type = cohort::element_type::i32;
      result.classes = wanted.classes;
    } else {
      part.extents = result.example = wanted.values;
      if (target.one_hot) part.one_hot = static_cast<int>(wanted.values.elements());
    }
    if (!target.one_hot) require_elements(part);
    what_.targets.push_back(std::move(result));
    parts_.push_back(part);
  }

  std::int32_t class_of(double number, caffe_part const& part, int classes, std::string const& where) const {
    bool const is_small = number >= -1e9 && number <= 1e9;
    auto const result = is_small ? static_cast<std::int32_t>(number) : 0;
    if (!is_small || result != number || ((result < 0 || result >= classes) && result != part.ignored))
      throw data_error({.what = "a label is no class of the network",
                        .where = where + ", " + from_->tops[part.top].name,
                        .expected = {"0 to ", classes - 1},
                        .got = {number}});
    return result;
  }

  /// Writes the labels or numbers of a part.
  void write_numbers(std::size_t p, std::span<float const> numbers, std::string const& where,
                     cohort::example_view& out) const {
    caffe_part const& part = parts_[p];
    if (part.one_hot > 0) {
      float* const to = out.fill<float>(p);
      std::fill_n(to, part.one_hot, 0.0F);
      to[class_of(static_cast<double>(numbers[0]), part, part.one_hot, where)] = 1;
    } else if (part.is_index) {
      auto* to = out.fill<std::int32_t>(p);
      for (float const number : numbers)
        *to++ = class_of(static_cast<double>(number), part, part.classes, where);
    } else {
      std::ranges::copy(numbers, out.fill<float>(p));
    }
  }

  void write_image(std::size_t p, caffe_pixels const& pixels, cohort::random_stream const& chance,
                   std::string const& where, cohort::example_view& out) const {
    caffe_top const& top = from_->tops[parts_[p].top];
    cohort::shape const result = top.transform.result(pixels.extents, where);
    if (result != top.extents)
      throw data_error({.what = "an image has other extents than the first one",
                        .where = where,
                        .expected = to_string(top.extents) + ", or a size: -resize, new_height and new_width",
                        .got = to_string(result)});
    if (pixels.bytes.empty())
      top.transform.write(pixels.numbers, pixels.extents, chance, where, out.fill<float>(p));
    else
      top.transform.write(pixels.bytes, pixels.extents, chance, where, out.fill<float>(p));
  }

  void write(caffe_pixels const& pixels, int label, cohort::random_stream const& chance,
             std::string const& where, cohort::example_view& out) const {
    auto const number = static_cast<float>(label);
    for (std::size_t p = 0; p < parts_.size(); ++p)
      if (from_->tops[parts_[p].top].kind == kinds::image)
        write_image(p, pixels, chance, where, out);
      else
        write_numbers(p, {&number, 1}, where, out);
  }

  void read_file(std::int64_t row, cohort::random_stream const& chance, cohort::example_view& out) const {
    listed_image const& listed = from_->images[static_cast<std::size_t>(row)];
    caffe_pixels pixels;
    decode(cohort::io::read_file(listed.path), from_->tops[0], listed.path, pixels);
    write(pixels, listed.label, chance, listed.path, out);
    if (what_.keyed) out.key = listed.path;
  }

  void read_arrays(cohort::record_view& record, cohort::random_stream const& chance,
                   cohort::example_view& out) const {
    caffe_pixels pixels;
    std::string const where = record.where();
    auto const numbers_of = [&](std::size_t number) -> std::span<float const> {
      caffe_top const& top = from_->tops[number];
      convert(record.bytes(top.field), top.type, pixels.converted);
      return pixels.converted;
    };
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      caffe_top const& top = from_->tops[parts_[p].top];
      std::span<float const> const numbers = numbers_of(parts_[p].top);
      if (top.kind != kinds::image) {
        write_numbers(p, numbers, where, out);
        continue;
      }
      pixels.extents = top.stored;
      pixels.numbers = numbers;
      write_image(p, pixels, chance, where, out);
    }
    if (continuations_.empty()) return;
    caffe_part const& target = parts_.back();
    std::span<float const> const labels = numbers_of(target.top);
    std::vector<float> const kept(labels.begin(), labels.end());
    for (std::size_t const top : continuations_)
      cohort::check_continuation(numbers_of(top), kept, target.ignored, record.index());
  }

  std::shared_ptr<Content const> from_;
  cohort::data_description what_;
  std::vector<caffe_part> parts_;  // inputs, then targets
  std::vector<std::size_t> continuations_;
};

}  // namespace

cohort::dataset caffe_data::examples(cohort::caffe_model const& net) const {
  return caffe_examples<content>(content_, net);
}

}  // namespace cohort_program
