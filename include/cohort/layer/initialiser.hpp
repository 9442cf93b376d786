// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Initial values of a parameter. fi and fo are its fan-in and fan-out. N(variance) is normal and U(±bound)
/// uniform, both with mean 0.
namespace init {

/// 0 for each element.
struct zeros {};
/// 1 for each element.
struct ones {};
/// `value` for each element.
struct constant {
  double value = 0;
};
/// N(deviation²)
struct normal {
  double deviation = 0.01;
};
/// U(±bound)
struct uniform {
  double bound = 0.01;
};
/// N(2 / (fi + fo))
///
/// Source    Glorot and Bengio, AISTATS 2010.
struct xavier {};
/// U(±√(6 / (fi + fo)))
struct xavier_uniform {};
/// N(2 / fi)
///
/// Source    He, Zhang, Ren and Sun, ICCV 2015.
struct relu {};
/// U(±√(6 / fi))
struct relu_uniform {};
/// N(1 / fi)
///
/// Source    LeCun, Bottou, Orr and Müller, Efficient BackProp, 1998.
struct lecun_normal {};
/// U(±√(3 / fi))
struct lecun_uniform {};
/// U(±4·√(6 / (fi + fo)))
struct sigmoid_uniform {};
/// A random matrix (first extent × all others) with orthonormal rows, or orthonormal columns if there are
/// fewer columns than rows.
///
/// Source    Saxe, McClelland and Ganguli, ICLR 2014.
struct orthogonal {};
/// 1 on the diagonal, else 0. For convolutions K×C×R×S: 1 at the centre of the window of filter k and channel
/// c if k = c, else 0.
struct identity {};

}  // namespace init

/// Any of the initialisers init::…, as a single type.
///
/// Errors    check: setting_error if the parameter is not finite, or if a deviation or bound is below 0.
///           from: setting_error for an unknown name.
struct initialiser {
  enum class kind : std::uint8_t {
    zeros,
    ones,
    constant,
    normal,
    uniform,
    xavier,
    xavier_uniform,
    relu,
    relu_uniform,
    lecun_normal,
    lecun_uniform,
    sigmoid_uniform,
    orthogonal,
    identity
  };
  static constexpr std::array<std::string_view, 14> names{
      "zeros",          "ones",    "constant",     "normal",       "uniform",       "xavier",
      "xavier_uniform", "relu",    "relu_uniform", "lecun_normal", "lecun_uniform", "sigmoid_uniform",
      "orthogonal",     "identity"};

  kind which = kind::zeros;
  double parameter = 0;  ///< value, deviation or bound; used by constant, normal and uniform only

  constexpr initialiser() = default;
  constexpr initialiser(init::zeros) {}
  constexpr initialiser(init::ones) : which(kind::ones) {}
  constexpr initialiser(init::constant c) : which(kind::constant), parameter(c.value) {}
  constexpr initialiser(init::normal n) : which(kind::normal), parameter(n.deviation) {}
  constexpr initialiser(init::uniform u) : which(kind::uniform), parameter(u.bound) {}
  constexpr initialiser(init::xavier) : which(kind::xavier) {}
  constexpr initialiser(init::xavier_uniform) : which(kind::xavier_uniform) {}
  constexpr initialiser(init::relu) : which(kind::relu) {}
  constexpr initialiser(init::relu_uniform) : which(kind::relu_uniform) {}
  constexpr initialiser(init::lecun_normal) : which(kind::lecun_normal) {}
  constexpr initialiser(init::lecun_uniform) : which(kind::lecun_uniform) {}
  constexpr initialiser(init::sigmoid_uniform) : which(kind::sigmoid_uniform) {}
  constexpr initialiser(init::orthogonal) : which(kind::orthogonal) {}
  constexpr initialiser(init::identity) : which(kind::identity) {}

  constexpr bool operator==(initialiser const&) const = default;

  /// The name in files: "xavier_uniform".
  constexpr std::string_view name() const { return names[static_cast<std::size_t>(which)]; }
  /// Returns whether the initialiser uses `parameter`.
  constexpr bool has_parameter() const {
    return which == kind::constant || which == kind::normal || which == kind::uniform;
  }

  /// The initialiser with this name; initialisers without a parameter ignore `parameter`.
  static initialiser from(std::string_view name, double parameter = 0);

  /// Throws if the parameter is out of range.
  void check() const;
};

namespace detail {

/// Returns the standard deviation of a normal or the bound of a uniform initialiser.
double deviation_or_bound(initialiser const& how, double fan_in, double fan_out);

/// Returns orthonormal rows: Gram–Schmidt on a matrix of normal numbers, two passes per row for full
/// precision. The diagonal of R is positive, so Q is uniformly distributed over the orthonormal matrices.
///
/// Before    rows ≤ columns.
std::vector<double> orthonormal_rows(std::size_t rows, std::size_t columns, random_stream const& stream);

}  // namespace detail

/// Fills a parameter with its initial values.
///
/// Shapes    values (dims.elements()), row-major.
/// Units     fan_in = in·kh·kw, fan_out = out·kh·kw: connections of one unit.
/// Errors    shape_error if the sizes of values and dims differ, or if fan_in or fan_out is below 1 and the
///           kind needs one of them. shape_error if the rank is not 2 or 4 for identity, or below 2 for
///           orthogonal.
/// Exact     element i of a random kind depends only on (stream, i), so the values are independent of ranks
///           and threads; orthogonal depends on the stream and the shape. A float is the rounded double.
template <class T>
void fill(initialiser const& how, std::span<T> values, std::int64_t fan_in, std::int64_t fan_out,
          shape const& dims, random_stream const& stream) {
  using kind = initialiser::kind;
  auto const refuse = [&](char const* expected, std::string got) {
    throw shape_error({.what = {"cannot fill a parameter with init::", how.name()},
                       .where = {"shape ", to_string(dims)},
                       .expected = expected,
                       .got = std::move(got)});
  };
  how.check();
  if (values.size() != static_cast<std::size_t>(dims.elements()))
    refuse("one value per element of the shape", std::to_string(values.size()));
  auto const set = [&](auto element) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(element(i));
  };
  switch (how.which) {
    case kind::zeros:
      return set([](std::size_t) { return 0.0; });
    case kind::ones:
      return set([](std::size_t) { return 1.0; });
    case kind::constant:
      return set([&](std::size_t) { return how.parameter; });
    case kind::xavier:
    case kind::relu:
    case kind::lecun_normal:
    case kind::xavier_uniform:
    case kind::relu_uniform:
    case kind::lecun_uniform:
    case kind::sigmoid_uniform:
      if (fan_in < 1 || fan_out < 1)
        refuse("a fan-in and a fan-out of at least 1",
               std::to_string(fan_in) + " and " + std::to_string(fan_out));
      break;
    case kind::normal:
    case kind::uniform:
      break;
    case kind::orthogonal: {
      if (dims.rank < 2) refuse("at least 2 extents", std::to_string(dims.rank));
      auto const rows = static_cast<std::size_t>(dims[0]);
      auto const columns = rows == 0 ? 0 : values.size() / rows;
      if (rows <= columns) {
        std::vector<double> const q = detail::orthonormal_rows(rows, columns, stream);
        return set([&](std::size_t i) { return q[i]; });
      }
      std::vector<double> const q = detail::orthonormal_rows(columns, rows, stream);
      return set([&](std::size_t i) { return q[i % columns * rows + i / columns]; });
    }
    case kind::identity: {
      if (dims.rank != 2 && dims.rank != 4) refuse("2 or 4 extents", std::to_string(dims.rank));
      std::size_t const window =
          dims.rank == 4 ? static_cast<std::size_t>(dims[2]) * static_cast<std::size_t>(dims[3]) : 1;
      std::size_t const middle =
          dims.rank == 4 ? static_cast<std::size_t>((dims[2] - 1) / 2 * dims[3] + (dims[3] - 1) / 2) : 0;
      auto const columns = static_cast<std::size_t>(dims[1]);
      return set([&](std::size_t i) {
        std::size_t const pair = i / window;
        return i % window == middle && pair / columns == pair % columns ? 1.0 : 0.0;
      });
    }
  }
  double const scale =
      detail::deviation_or_bound(how, static_cast<double>(fan_in), static_cast<double>(fan_out));
  bool const is_normal = how.which == kind::normal || how.which == kind::xavier || how.which == kind::relu
                         || how.which == kind::lecun_normal;
  if (is_normal) return set([&](std::size_t i) { return scale * stream.normal<double>(i); });
  set([&](std::size_t i) { return scale * (2 * stream.uniform01<double>(i) - 1); });
}

}  // namespace cohort
