// SPDX-License-Identifier: Apache-2.0
// The wire format of ONNX files, with valid and with hostile bytes.
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/io/detail/protobuf.hpp>

#include "../checkpoint/refusals.hpp"

namespace onnx_model_test {

using namespace cohort;
using namespace cohort::detail;

std::string field(std::uint32_t number, std::string_view bytes) {
  protobuf_writer out;
  out.bytes(number, bytes);
  return out.text();
}
std::string field(std::uint32_t number, std::int64_t value) {
  protobuf_writer out;
  out.integer(number, value);
  return out.text();
}
/// A model whose graph has these bytes.
std::string model(std::string_view graph) { return field(1, 8) + field(7, graph); }
std::string refused(std::string_view bytes) {
  return refusal_of<data_error>([&] { read_onnx_model(bytes, "a.onnx"); });
}
std::string refused_tensor(std::string_view bytes) {
  return refusal_of<data_error>([&] { read_onnx_tensor(bytes, "a.pb"); });
}

TEST(protobuf, round_trips_integers_reals_and_bytes) {
  protobuf_writer out;
  out.integer(1, 0);
  out.integer(2, -1);
  out.integer(3, std::int64_t{1} << 62);
  out.real(4, 1.5F);
  out.bytes(536870911, "text");
  std::string const file = "a";
  protobuf_reader in(out.text(), file, "cannot read the message");
  EXPECT_TRUE(in.next());
  EXPECT_EQ(in.integer(), 0);
  EXPECT_TRUE(in.next());
  EXPECT_EQ(in.integer(), -1);
  EXPECT_TRUE(in.next());
  EXPECT_EQ(in.integer(), std::int64_t{1} << 62);
  EXPECT_TRUE(in.next());
  EXPECT_EQ(in.real(), 1.5F);
  EXPECT_TRUE(in.next());
  EXPECT_EQ(in.field(), 536870911U);
  EXPECT_EQ(in.bytes(), "text");
  EXPECT_FALSE(in.next());
}

TEST(onnx_model, round_trips_through_bytes) {
  onnx_model made;
  made.opsets = {{"", 17}, {"other", 3}};
  made.producer = "p";
  made.nodes.push_back({"Op", {"a", "", "b"}, {"c"}, {}, "n", "other"});
  made.nodes[0].attributes = {{.name = "f", .type = onnx_attribute::real, .f = -2.5F},
                              {.name = "i", .type = onnx_attribute::integer, .i = -7},
                              {.name = "s", .type = onnx_attribute::text, .s = "word"},
                              {.name = "fs", .type = onnx_attribute::reals, .floats = {1, 2}},
                              {.name = "is", .type = onnx_attribute::integers, .ints = {3, -4}},
                              {.name = "ss", .type = onnx_attribute::texts, .strings = {"x", ""}}};
  made.initializers.push_back(onnx_tensor::of("w", {2, 1}, {1.5F, -2}));
  made.initializers.push_back(onnx_tensor::of("k", {5, -6}));
  made.inputs.push_back({"a", onnx_type::f32, true, {{-1, "N"}, {3, ""}}});
  made.outputs.push_back({"c", onnx_type::i32, true, {}});
  std::string const bytes = write_onnx_model(made);
  onnx_model const read = read_onnx_model(bytes, "a.onnx");
  EXPECT_EQ(write_onnx_model(read), bytes);
  EXPECT_EQ(read.nodes[0].inputs, made.nodes[0].inputs);
  EXPECT_EQ(read.nodes[0].find("f")->f, -2.5F);
  EXPECT_EQ(read.nodes[0].find("is")->ints, (std::vector<std::int64_t>{3, -4}));
  EXPECT_EQ(read.nodes[0].find("ss")->strings, (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(*read.initializers[0].floats(), (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(*read.initializers[1].integers(), (std::vector<std::int64_t>{5, -6}));
  EXPECT_EQ(read.inputs[0].dims[0].name, "N");
  EXPECT_EQ(read.inputs[0].dims[1].value, 3);
}

TEST(onnx_model, skips_unknown_fields) {
  protobuf_writer unknown;
  unknown.real(1000, 1);
  onnx_model const read =
      read_onnx_model(model(field(10, "notes") + field(77, 5)) + unknown.text() + field(20, "x"), "a");
  EXPECT_TRUE(read.nodes.empty());
}

TEST(onnx_model, reads_typed_and_packed_elements) {
  protobuf_writer floats;
  floats.real(4, 1);
  floats.real(4, 2);
  EXPECT_EQ(*read_onnx_tensor(field(1, 2) + field(2, 1) + floats.text(), "a").floats(),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(*read_onnx_tensor(field(1, std::string_view("\2\1", 2)) + field(2, 7) + field(7, "\5\6"), "a")
                 .integers(),
            (std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(read_onnx_tensor(field(2, 9) + field(5, 1), "a").raw, std::string("\1"));
}

TEST(onnx_model, refuses_malformed_messages) {
  EXPECT_EQ(refused(""),
            "cannot read the ONNX file (a.onnx, byte 0): expected an ONNX model: an IR version and a "
            "graph, got a message without them");
  EXPECT_EQ(refused("\x08"),
            "cannot read the ONNX file (a.onnx, byte 0): expected an integer, got the end of the "
            "message");
  EXPECT_EQ(refused(field(1, 8) + "\x3a\x7f"),
            "cannot read the ONNX file (a.onnx, byte 2): expected a field of at most 0 bytes, got 127 bytes");
  EXPECT_EQ(refused("\x0b"),
            "cannot read the ONNX file (a.onnx, byte 0): expected wire type 0, 1, 2 or 5, got wire "
            "type 3");
  EXPECT_EQ(refused(std::string_view("\0\0", 2)),
            "cannot read the ONNX file (a.onnx, byte 0): expected a field number from 1 to 536870911, got 0");
  EXPECT_EQ(refused("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
            "cannot read the ONNX file (a.onnx, byte 0): expected an integer of 64 bits, got more bits");
  EXPECT_EQ(refused("\x0d\1\2"),
            "cannot read the ONNX file (a.onnx, byte 0): expected 4 bytes, got the end of the message");
}

TEST(onnx_model, reports_the_path_of_a_malformed_message) {
  EXPECT_EQ(
      refused(model(field(1, "") + field(1, field(5, field(20, "x"))))),
      "cannot read the ONNX file (a.onnx, byte 10 in graph.node[1].attribute[0]): expected field 20 of wire "
      "type 0, got wire type 2");
  EXPECT_EQ(
      refused(model(field(5, field(1, 3) + field(2, 1) + field(9, "abcd")))),
      "cannot read the ONNX file (a.onnx, byte 10 in graph.initializer[0]): expected 3 elements of 4 bytes, "
      "got 4 bytes");
}

TEST(onnx_model, refuses_tensors_too_large_in_other_files_or_of_unknown_types) {
  EXPECT_EQ(
      refused_tensor(field(1, std::int64_t{1} << 40)),
      "cannot read the ONNX file (a.pb, byte 0): expected a tensor of at most 1073741824 elements, got an "
      "extent of 1099511627776");
  EXPECT_EQ(
      refused_tensor(field(1, -1)),
      "cannot read the ONNX file (a.pb, byte 0): expected a tensor of at most 1073741824 elements, got an "
      "extent of -1");
  EXPECT_EQ(
      refused_tensor(field(1, 1 << 20) + field(1, 1 << 20)),
      "cannot read the ONNX file (a.pb, byte 4): expected a tensor of at most 1073741824 elements, got an "
      "extent of 1048576");
  EXPECT_EQ(refused_tensor(field(2, 1) + field(14, 1)),
            "cannot read the ONNX file (a.pb, byte 2): expected a tensor whose elements are in the file, got "
            "external data in another file; load the model and call onnx.save without external data");
  EXPECT_EQ(refused_tensor(field(2, 14)),
            "cannot read the ONNX file (a.pb, byte 0): expected elements of a known type, got complex64");
  EXPECT_EQ(refused_tensor(field(2, 1) + field(4, "abc")),
            "cannot read the ONNX file (a.pb, byte 2): expected numbers of 4 bytes, got 3 bytes");
}

TEST(onnx_model, refuses_more_than_1048576_messages) {
  std::string nodes;
  for (int i = 0; i <= 1 << 20; ++i) nodes += std::string("\x0a\0", 2);
  EXPECT_NE(refused(model(nodes)).find("expected at most 1048576 messages, got more"), std::string::npos);
}

TEST(onnx_model, refuses_every_truncated_file) {
  onnx_model made;
  made.nodes.push_back({"Relu", {"x"}, {"y"}, {}, "", ""});
  made.initializers.push_back(onnx_tensor::of("w", {2}, {1, 2}));
  std::string const bytes = write_onnx_model(made);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(refused(std::string_view(bytes).substr(0, size)), "") << size;
}

}  // namespace onnx_model_test
