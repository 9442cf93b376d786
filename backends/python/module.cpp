// SPDX-License-Identifier: Apache-2.0
// The Python module cohort_predict: cohort/cohort.h for NumPy arrays and DLPack objects.
#include <cohort/cohort.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

using any_array = nb::ndarray<nb::ro>;
using numpy_array = nb::ndarray<nb::numpy, float>;

nb::handle error_type;  // valid as long as the module, which is never unloaded

/// Throws cohort_predict.Error with the attribute `code`.
[[noreturn]] void raise(std::int32_t code, std::string const& text) {
  // Paths in texts need not be UTF-8.
  auto const shown = nb::steal<nb::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!shown.is_valid()) throw nb::python_error();
  nb::object const problem = error_type(shown);
  nb::setattr(problem, "code", nb::str(cohort_code_name(code)));
  PyErr_SetObject(error_type.ptr(), problem.ptr());
  throw nb::python_error();
}

void check(std::int32_t code) {
  if (code != cohort_ok) raise(code, cohort_last_error());
}

std::string text_of(std::vector<std::int64_t> const& extents) {
  std::string text;
  for (std::int64_t const extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

std::string name_of(nb::dlpack::dtype const& type) {
  constexpr char const* kinds[]{"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  std::string const bits =
      type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool) ? "" : std::to_string(type.bits);
  return (type.code < std::size(kinds) ? kinds[type.code] : "type") + bits;
}

/// Arrays that a call reads in place, and views of these arrays.
struct arguments {
  std::vector<any_array> arrays{};
  std::vector<cohort_input> views{};
  std::int64_t examples = -1;  ///< first extent of all arrays
  std::int64_t steps = -1;     ///< second extent of sequences, for a stream
};

enum class wanted { numbers, indices, flags };

char const* name_of(wanted what) {
  return what == wanted::flags ? "bool or uint8" : what == wanted::indices ? "int32" : "float32";
}

/// Returns str(object).
std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Throws the reason why an object cannot be read as an array: it is not an array, or its export fails.
[[noreturn]] void refuse_object(nb::handle object, wanted what, std::string const& where) {
  if (!nb::hasattr(object, "__dlpack__") && PyObject_CheckBuffer(object.ptr()) == 0)
    raise(cohort_argument_error,
          "the argument is no array (" + where
              + "): expected a NumPy array or an object with __dlpack__, got "
              + text_of(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())))));
  std::string reason = "its memory is not accessible";
  try {
    if (nb::hasattr(object, "__dlpack__")) object.attr("__dlpack__")();
  } catch (nb::python_error& problem) {
    reason = text_of(problem.value());
  }
  std::string const type = text_of(nb::getattr(object, "dtype", nb::str("unknown")));
  raise(cohort_shape_error, "the array cannot be read in place (" + where + "): expected " + name_of(what)
                                + " in the processor's byte order, got dtype " + type + ": " + reason);
}

/// Adds an array, which must have these extents (−1: any extent).
void add(arguments& to, nb::handle object, wanted what, std::vector<std::int64_t> const& extents,
         std::string const& where) {
  auto const refuse = [&](std::int32_t code, std::string const& problem, std::string const& expected,
                          std::string const& got) {
    raise(code, problem + " (" + where + "): expected " + expected + ", got " + got);
  };
  any_array array;
  if (!nb::try_cast(object, array, false)) refuse_object(object, what, where);
  if (array.device_type() != nb::device::cpu::value)
    refuse(cohort_argument_error, "the array is not in the memory of the CPU", "a CPU array",
           "device type " + std::to_string(array.device_type()));
  nb::dlpack::dtype const type = array.dtype();
  bool const fits = what == wanted::flags
                        ? type.bits == 8
                              && (type == nb::dtype<std::uint8_t>()
                                  || type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool))
                    : what == wanted::indices ? type == nb::dtype<std::int32_t>()
                                              : type == nb::dtype<float>();
  if (!fits)
    refuse(cohort_shape_error, "the array has another type",
           std::string(name_of(what)) + ", which is read without a copy", name_of(type));
  std::vector<std::int64_t> got(array.ndim());
  bool matches = array.ndim() == extents.size(), contiguous = true;
  std::int64_t stride = 1, bytes = type.bits / 8;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    got[axis] = static_cast<std::int64_t>(array.shape(axis));
    contiguous = contiguous && (array.stride(axis) == stride || got[axis] <= 1);
    stride *= got[axis];
    bytes *= got[axis];
  }
  std::string expected;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    matches = matches && (extents[axis] < 0 || extents[axis] == got[axis]);
    expected += (axis > 0 ? "x" : "")
                + (extents[axis] < 0 ? std::string(axis == 0 ? "n" : "k") : std::to_string(extents[axis]));
  }
  if (!matches) refuse(cohort_shape_error, "the array has another shape", expected, text_of(got));
  if (!contiguous && bytes > 0)
    refuse(cohort_shape_error, "the array is not contiguous",
           "numpy.ascontiguousarray(…), because it is read without a copy", "strides");
  auto const past = reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::size_t>(type.bits / 8);
  if (past != 0 && bytes > 0)
    refuse(cohort_argument_error, "the array is not aligned",
           "array.copy(), because it is read without a copy",
           "an address with a remainder of " + std::to_string(past));
  to.views.push_back({array.data(), static_cast<std::size_t>(bytes)});
  to.arrays.push_back(std::move(array));
}

std::string joined(std::vector<std::string> const& names) {
  std::string text;
  for (std::string const& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// Returns the arrays of an argument: a list or tuple of arrays, one array, or a dict with an array for each
/// of `names`. `what`: description of the names in errors.
std::vector<nb::object> listed(nb::handle object, std::vector<std::string> const& names, char const* what) {
  std::vector<nb::object> all;
  if (object.is_none()) return all;
  if (nb::isinstance<nb::dict>(object)) {
    auto const given = nb::borrow<nb::dict>(object);
    for (auto const [key, value] : given)
      if (std::find(names.begin(), names.end(), text_of(key)) == names.end())
        raise(cohort_argument_error, std::string("there is no ") + what + " of this name: expected "
                                         + joined(names) + ", got " + text_of(key));
    for (std::string const& name : names) {
      nb::str const key(name.c_str(), name.size());
      if (!given.contains(key))
        raise(cohort_argument_error,
              std::string("an ") + what + " is missing: expected " + joined(names) + ", got no " + name);
      all.push_back(nb::object(given[key]));
    }
    return all;
  }
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))
    for (nb::handle const one : object) all.push_back(nb::borrow(one));
  else
    all.push_back(nb::borrow(object));
  return all;
}

/// Returns a NumPy array that takes ownership of the memory.
nb::object owned(std::unique_ptr<float[]> memory, std::vector<std::size_t> const& extents) {
  float* const data = memory.get();
  nb::capsule const owner(data, [](void* pointer) noexcept { delete[] static_cast<float*>(pointer); });
  memory.release();
  return nb::cast(numpy_array(data, extents.size(), extents.data(), owner));
}

/// Description of an input or output, exposed to Python as TensorInfo.
struct tensor_info {
  std::string name;
  std::vector<std::int64_t> extents;
  bool is_indices, is_masked, has_steps;
  std::vector<std::string> classes{};  ///< of an output
};

struct closes {
  void operator()(cohort_model* handle) const noexcept { cohort_close(handle); }
  void operator()(cohort_stream* handle) const noexcept { cohort_close_stream(handle); }
};

/// Calls `body`, which returns a code, without the interpreter's lock (GIL). Throws if the code is an error.
template <class Body>
void call(Body const& body) {
  std::int32_t code = 0;
  std::string problem;
  {
    nb::gil_scoped_release const without_lock;
    code = body();
    if (code != cohort_ok) problem = cohort_last_error();
  }
  if (code != cohort_ok) raise(code, problem);
}

struct model {
  std::unique_ptr<cohort_model, closes> handle{};  // closed, but not null, after close()
  std::vector<tensor_info> inputs{}, outputs{};
  bool is_open = true;

  model(std::string const& path, std::string const& backend, int threads) {
    call([&] {
      cohort_model* made = nullptr;
      std::int32_t const code = cohort_open(path.c_str(), backend.c_str(), threads, &made);
      handle.reset(made);
      return code;
    });
    std::int32_t counts[2];
    check(cohort_count(handle.get(), &counts[0], &counts[1]));
    for (std::int32_t i = 0; i < counts[0]; ++i) inputs.push_back(described(cohort_describe_input, i));
    for (std::int32_t i = 0; i < counts[1]; ++i) {
      outputs.push_back(described(cohort_describe_output, i));
      std::int32_t classes = 0;
      check(cohort_class_count(handle.get(), i, &classes));
      for (std::int32_t k = 0; k < classes; ++k) {
        char const* name = "";
        check(cohort_class_name(handle.get(), i, k, &name));
        outputs.back().classes.push_back(name);
      }
    }
  }
  model(model const&) = delete;
  model& operator=(model const&) = delete;

  void close() {
    if (std::exchange(is_open, false)) check(cohort_close(handle.get()));
  }

  template <class Describe>
  tensor_info described(Describe describe, std::int32_t index) const {
    cohort_tensor_info info;
    check(describe(handle.get(), index, &info));
    return {info.name,
            {info.extents, info.extents + info.rank},
            info.type == cohort_i32,
            info.masked != 0,
            info.has_steps != 0,
            {}};
  }

  /// Returns the indices of the outputs with these names: all outputs for None, one name, or a list of names.
  std::vector<std::int32_t> selected(nb::handle names) const {
    std::vector<std::int32_t> indices;
    std::vector<std::string> known;
    for (tensor_info const& one : outputs) known.push_back(one.name);
    auto const add_name = [&](nb::handle name) {
      auto const found = std::find(known.begin(), known.end(), text_of(name));
      if (found == known.end())
        raise(cohort_argument_error,
              "there is no output of this name: expected " + joined(known) + ", got " + text_of(name));
      indices.push_back(static_cast<std::int32_t>(found - known.begin()));
    };
    if (names.is_none())
      for (std::size_t i = 0; i < known.size(); ++i) indices.push_back(static_cast<std::int32_t>(i));
    else if (nb::isinstance<nb::str>(names))
      add_name(names);
    else
      for (nb::handle const name : names) add_name(name);
    return indices;
  }

  /// Returns the `count` most probable classes of each example as pairs of name and probability. Of equal
  /// probabilities, the first is more probable; NaN is less probable than any number.
  nb::object top_classes(nb::handle probabilities, std::int64_t count, nb::handle output) const {
    std::vector<std::int32_t> const indices =
        output.is_none() ? std::vector<std::int32_t>{0} : selected(output);
    if (indices.size() != 1)
      raise(cohort_argument_error,
            "an argument is out of range (output): expected the name of one output, got "
                + std::to_string(indices.size()) + " names");
    tensor_info const& of = outputs[static_cast<std::size_t>(indices[0])];
    auto const classes = static_cast<std::int64_t>(of.classes.size());
    if (classes == 0)
      raise(cohort_data_error,
            "the model has no names of classes (output " + of.name
                + "): expected a model that was trained on data with class names, got none");
    if (count < 1 || count > classes)
      raise(cohort_argument_error, "an argument is out of range (count): expected 1 to "
                                       + std::to_string(classes) + ", got " + std::to_string(count));
    arguments given;
    std::vector<std::int64_t> extents{-1};
    extents.insert(extents.end(), of.extents.begin(), of.extents.end());
    if (of.extents.size() != 1)
      raise(cohort_shape_error, "the output has no classes of examples (output " + of.name
                                    + "): expected an output with one probability per class, got "
                                    + text_of(of.extents));
    add(given, probabilities, wanted::numbers, extents, "probabilities");
    auto const* row = static_cast<float const*>(given.views[0].data);
    auto const examples = static_cast<std::int64_t>(given.arrays[0].shape(0));
    nb::list all;
    std::vector<std::size_t> order(of.classes.size());
    for (std::int64_t i = 0; i < examples; ++i, row += classes) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return row[a] > row[b] || (!std::isnan(row[a]) && std::isnan(row[b]));
      });
      nb::list best;
      for (std::int64_t k = 0; k < count; ++k) {
        std::size_t const which = order[static_cast<std::size_t>(k)];
        best.append(nb::make_tuple(of.classes[which], static_cast<double>(row[which])));
      }
      all.append(best);
    }
    return all;
  }

  nb::object predict(nb::handle given, nb::handle given_masks, nb::handle names) const {
    std::vector<std::int32_t> const indices = selected(names);
    arguments arrays, masks;
    read(arrays, masks, given, given_masks, -1);
    auto const count = static_cast<std::size_t>(arrays.views.empty() ? 0 : arrays.arrays[0].shape(0));
    std::vector<std::unique_ptr<float[]>> memory;
    std::vector<std::vector<std::size_t>> extents;
    std::vector<cohort_output> to;
    for (std::int32_t const index : indices) {
      std::size_t elements = count;
      extents.push_back({count});
      for (std::int64_t const extent : outputs[static_cast<std::size_t>(index)].extents) {
        extents.back().push_back(static_cast<std::size_t>(extent));
        elements *= static_cast<std::size_t>(extent);
      }
      memory.push_back(std::unique_ptr<float[]>(new float[elements]));
      to.push_back({memory.back().get(), elements * sizeof(float)});
    }
    call([&] {
      return cohort_predict_outputs(handle.get(),
                                    static_cast<std::int32_t>(std::min<std::size_t>(count, INT32_MAX)),
                                    arrays.views.data(), arrays.views.size(), masks.views.data(),
                                    masks.views.size(), indices.data(), to.data(), to.size());
    });
    bool const is_one = names.is_none() ? outputs.size() == 1 : nb::isinstance<nb::str>(names);
    if (is_one) return owned(std::move(memory[0]), extents[0]);
    nb::list all;
    for (std::size_t i = 0; i < to.size(); ++i) all.append(owned(std::move(memory[i]), extents[i]));
    return nb::tuple(all);
  }

  /// Reads the arrays of all inputs, and the arrays of the masks if masks are given. `sequences`: number of
  /// sequences of a stream, which may have any number of steps; −1: predict.
  void read(arguments& arrays, arguments& masks, nb::handle given, nb::handle given_masks,
            std::int64_t sequences) const {
    std::vector<std::string> names, masked_names;
    for (tensor_info const& one : inputs) {
      names.push_back(one.name);
      if (one.is_masked) masked_names.push_back(one.name);
    }
    std::vector<nb::object> const objects = listed(given, names, "input"),
                                  mask_objects = listed(given_masks, masked_names, "input with a mask");
    if (objects.size() != inputs.size())
      raise(cohort_shape_error, "a call has the wrong number of inputs: expected "
                                    + std::to_string(inputs.size()) + ", got "
                                    + std::to_string(objects.size()));
    std::int64_t count = sequences, steps = -1;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      tensor_info const& one = inputs[i];
      std::vector<std::int64_t> extents{count};
      extents.insert(extents.end(), one.extents.begin(), one.extents.end());
      bool const has_steps = sequences >= 0 && one.has_steps;
      if (has_steps) extents[1] = steps;
      add(arrays, objects[i], one.is_indices ? wanted::indices : wanted::numbers, extents,
          "input " + one.name);
      count = static_cast<std::int64_t>(arrays.arrays.back().shape(0));
      if (has_steps) steps = static_cast<std::int64_t>(arrays.arrays.back().shape(1));
    }
    arrays.examples = count;
    arrays.steps = steps;
    std::vector<tensor_info const*> masked;
    for (tensor_info const& one : inputs)
      if (one.is_masked) masked.push_back(&one);
    if (mask_objects.empty()) return;
    if (mask_objects.size() != masked.size())
      raise(cohort_shape_error,
            "a call has the wrong number of masks: expected " + std::to_string(masked.size())
                + ", one for each masked input, or none, got " + std::to_string(mask_objects.size()));
    for (std::size_t i = 0; i < masked.size(); ++i)
      add(masks, mask_objects[i], wanted::flags,
          {count, sequences >= 0 && masked[i]->has_steps ? steps : masked[i]->extents[0]},
          "mask of " + masked[i]->name);
  }
};

struct stream {
  nb::object owner;  // the Python object of `of`, which the stream keeps alive
  model const& of;
  std::int64_t sequences;
  std::unique_ptr<cohort_stream, closes> handle{};  // closed, but not null, after close()
  std::mutex busy{};                                // held during a call and the copy of its output
  bool is_open = true;

  stream(nb::object from, int count)
      : owner(std::move(from)), of(nb::cast<model const&>(owner)), sequences(count) {
    call([&] {
      cohort_stream* made = nullptr;
      std::int32_t const code = cohort_open_stream(of.handle.get(), count, &made);
      handle.reset(made);
      return code;
    });
  }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;

  void close() {
    std::unique_lock const one_call(busy, std::try_to_lock);
    if (!one_call)
      raise(cohort_busy_error,
            "another thread advances this stream: expected one call at a time, got a second one; open a "
            "stream for each thread");
    if (std::exchange(is_open, false)) check(cohort_close_stream(handle.get()));
  }

  nb::object advance(nb::handle given, nb::handle given_masks) {
    arguments arrays, masks;
    of.read(arrays, masks, given, given_masks, sequences);
    std::int64_t const steps = arrays.steps < 0 ? 1 : arrays.steps;
    std::unique_lock const one_call(busy, std::try_to_lock);
    if (!one_call)
      raise(cohort_busy_error,
            "another thread advances this stream: expected one call at a time, got a second one; open a "
            "stream for each thread");
    float const* output = nullptr;
    std::size_t bytes = 0;
    std::unique_ptr<float[]> memory;
    call([&] {
      std::int32_t const code = cohort_advance(
          handle.get(), static_cast<std::int32_t>(std::min<std::int64_t>(steps, INT32_MAX)),
          arrays.views.data(), arrays.views.size(), masks.views.data(), masks.views.size(), &output, &bytes);
      if (code == cohort_ok) {
        memory.reset(new float[bytes / sizeof(float)]);
        std::memcpy(memory.get(), output, bytes);
      }
      return code;
    });
    std::vector<std::size_t> extents{static_cast<std::size_t>(sequences)};
    for (std::int64_t const extent : of.outputs[0].extents)
      extents.push_back(static_cast<std::size_t>(extent));
    if (of.outputs[0].has_steps) extents[1] = static_cast<std::size_t>(steps);
    return owned(std::move(memory), extents);
  }

  void reset(int sequence) { check(cohort_reset(handle.get(), sequence)); }
};

/// Returns the bytes of a path or other text. Throws if they contain a zero byte, which would end a C string.
std::string path_of(nb::handle path) {
  auto const bytes = nb::cast<nb::bytes>(nb::module_::import_("os").attr("fsencode")(path));
  std::string made(bytes.c_str(), bytes.size());
  if (std::size_t const end = made.find('\0'); end != std::string::npos)
    raise(cohort_argument_error, "a text contains the character 0: expected one without, got it behind "
                                     + (end == 0 ? std::string("nothing") : made.substr(0, end)));
  return made;
}

nb::tuple tuple_of(std::vector<std::int64_t> const& extents) {
  nb::list all;
  for (std::int64_t const extent : extents) all.append(extent);
  return nb::tuple(all);
}

nb::list list_of(std::vector<std::string> const& texts) {
  nb::list list;
  for (std::string const& text : texts) list.append(text);
  return list;
}

nb::list list_of(std::vector<tensor_info> const& all) {
  nb::list made;
  for (tensor_info const& one : all) made.append(nb::cast(one));
  return made;
}

std::string shown(tensor_info const& one) {
  return "TensorInfo(name='" + one.name + "', shape=" + nb::cast<std::string>(nb::str(tuple_of(one.extents)))
         + ", dtype='" + (one.is_indices ? "int32" : "float32") + "'"
         + (one.is_masked ? ", masked=True)" : ")");
}

}  // namespace

NB_MODULE(cohort_predict, module) {
  module.doc() =
      "Prediction with model files of Cohort, a C++ library for distributed training.\n\n"
      "    model = cohort_predict.Model('lenet.safetensors')\n"
      "    probabilities = model.predict(images)   # float32, n x 1 x 28 x 28\n";
  module.attr("__version__") = cohort_version();
  error_type = nb::handle(
      PyErr_NewExceptionWithDoc("cohort_predict.Error",
                                "An error of the library: problem, place, expected and actual value.\n\n"
                                "`code`: 'argument_error', 'file_error', 'data_error', "
                                "'shape_error', 'backend_error', 'memory_error',\n"
                                "'busy_error' or 'other_error'.",
                                PyExc_RuntimeError, nullptr));
  module.attr("Error") = error_type;

  nb::class_<tensor_info>(module, "TensorInfo", "One input or output of a model, without the batch.")
      .def_ro("name", &tensor_info::name, "Name of the layer.")
      .def_prop_ro(
          "shape", [](tensor_info const& one) { return tuple_of(one.extents); }, "Extents of one example.")
      .def_prop_ro(
          "dtype", [](tensor_info const& one) { return one.is_indices ? "int32" : "float32"; },
          "'float32', or 'int32' for indices.")
      .def_ro("masked", &tensor_info::is_masked, "Whether the input may have a mask.")
      .def_ro("has_steps", &tensor_info::has_steps,
              "Whether a stream replaces the first extent by its number of steps.")
      .def_prop_ro(
          "classes", [](tensor_info const& output) { return list_of(output.classes); },
          "Names of the classes of an output, in the order of its elements; empty if the model has no names.")
      .def("__repr__", &shown);

  nb::class_<model>(module, "Model",
                    "A model file that is opened for prediction. Thread-safe: calls run concurrently.")
      .def(
          "__init__",
          [](model* made, nb::object path, nb::str backend, int threads) {
            new (made) model(path_of(path), path_of(backend), threads);
          },
          nb::arg("path"), nb::arg("backend") = "auto", nb::arg("threads") = 1,
          "Opens a model file on 'auto', 'onednn', 'onednn_bf16' or 'reference', with this number of threads "
          "per call.")
      .def_prop_ro(
          "backend",
          [](model const& of) {
            char const* name = "";
            check(cohort_backend(of.handle.get(), &name));
            return std::string(name);
          },
          "Name of the backend.")
      .def_prop_ro(
          "inputs", [](model const& of) { return list_of(of.inputs); }, "Descriptions of the inputs.")
      .def_prop_ro(
          "outputs", [](model const& of) { return list_of(of.outputs); }, "Descriptions of the outputs.")
      .def_prop_ro(
          "classes", [](model const& of) { return list_of(of.outputs[0].classes); },
          "Names of the classes of the first output, in the order of its elements; empty if the model has no "
          "names.")
      .def(
          "predict",
          [](model const& of, nb::object inputs, nb::object masks, nb::object outputs) {
            return of.predict(inputs, masks, outputs);
          },
          nb::arg("inputs"), nb::arg("masks") = nb::none(), nb::arg("outputs") = nb::none(),
          "Computes the outputs of n examples: a NumPy array, or a tuple of arrays if the model has several "
          "outputs.\n\n"
          "inputs: an array, a list with one array per input, or a dict of names and arrays: NumPy arrays or "
          "objects\n"
          "with __dlpack__, such as torch tensors on the CPU; n x shape, contiguous, aligned, of the input's "
          "dtype.\n"
          "They are read without a copy.\n"
          "masks: None, an array, a list or a dict: n x steps, bool or uint8, 0 for padding.\n"
          "outputs: None for all outputs, one name, or a list of names. A list gives a tuple.")
      .def(
          "top_classes",
          [](model const& of, nb::object probabilities, std::int64_t count, nb::object output) {
            return of.top_classes(probabilities, count, output);
          },
          nb::arg("probabilities"), nb::arg("count") = 1, nb::arg("output") = nb::none(),
          "Returns, for each row of an output of predict, the `count` most probable classes: a list of pairs "
          "of name\n"
          "and probability, the most probable class first. output: the output's name; None: the first "
          "output.")
      .def(
          "stream", [](nb::object of, int sequences) { return std::make_unique<stream>(of, sequences); },
          nb::arg("sequences") = 1, "Opens sequences that are continued step by step.")
      .def("close", &model::close,
           "Frees the memory when no call is running any more. Streams stay usable; later calls are errors.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](model& of, nb::args) { of.close(); });

  nb::class_<stream>(module, "Stream",
                     "Sequences that are continued step by step, with the states of recurrent layers. Keeps "
                     "the memory\n"
                     "of the plans for the last 8 different numbers of steps.")
      .def_ro("sequences", &stream::sequences, "Number of sequences.")
      .def(
          "advance",
          [](stream& of, nb::object inputs, nb::object masks) { return of.advance(inputs, masks); },
          nb::arg("inputs"), nb::arg("masks") = nb::none(),
          "Continues all sequences by k steps: inputs are sequences x k x features, or sequences x k "
          "indices.")
      .def("reset", &stream::reset, nb::arg("sequence") = -1,
           "Begins a new sequence in place of one, or of all (-1).")
      .def("close", &stream::close, "Frees the memory. Later calls are errors.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](stream& of, nb::args) { of.close(); });
}
