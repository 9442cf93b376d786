// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/records/caffe_on_spark.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../data/refused.hpp"

namespace caffe_on_spark_test {

using cohort::caffe_on_spark_key;

// Written by java.io.ObjectOutputStream of Java 17, with Scala 2.13:
// Tuple2("cat.jpg", "3"); Tuple2(s, s) with the text s = "7"; Pair("dog.png", "12");
// Tuple6("00000012", "5", 3, 32, 32, false); Tuple6("a", "-1", 1, 2, 1, true); Integer(5); ArrayList().
std::string_view const pair_of_texts =
    "aced00057372000c7363616c612e5475706c653201fbddcd22e7347a0200024c00025f317400124c6a6176612f6c616e672f4f62"
    "6a6563743b4c00025f3271007e000178707400076361742e6a706774000133";
std::string_view const same_text_twice =
    "aced00057372000c7363616c612e5475706c653201fbddcd22e7347a0200024c00025f317400124c6a6176612f6c616e672f4f62"
    "6a6563743b4c00025f3271007e0001787074000137"
    "71007e0003";
std::string_view const old_pair =
    "aced00057372001a636f6d2e7961686f6f2e6d6c2e646c2e63616666652e50616972e43277b889f8214a0200024c000566697273"
    "747400124c6a6176612f6c616e672f4f626a6563743b4c00067365636f6e6471007e00017870740007646f672e706e6774000231"
    "32";
std::string const six_begin =
    "aced00057372000c7363616c612e5475706c653689e6cd0b84e7f0300200064c00025f317400124c6a6176612f6c616e672f4f62"
    "6a6563743b4c00025f3271007e00014c00025f3371007e00014c00025f3471007e00014c00025f3571007e00014c00025f367100"
    "7e00017870";
std::string const integer_class =
    "737200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a6176612e6c616e"
    "672e4e756d62657286ac951d0b94e08b0200007870";
std::string const boolean_class =
    "737200116a6176612e6c616e672e426f6f6c65616ecd207280d59cfaee0200015a000576616c7565787000";
std::string const six = six_begin + "740008303030303030313274000135" + integer_class
                        + "000000037371007e00050000002071007e0008" + boolean_class;

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> made;
  for (std::size_t k = 0; k + 1 < hex.size(); k += 2)
    made.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(k, 2)), nullptr, 16)));
  return made;
}
caffe_on_spark_key parse(std::string_view hex) { return caffe_on_spark_key::parse(bytes_of(hex), "keys"); }

TEST(caffe_on_spark_key, reads_id_and_label) {
  caffe_on_spark_key const key = parse(pair_of_texts);
  EXPECT_EQ(key.id, "cat.jpg");
  EXPECT_EQ(key.label, "3");
  EXPECT_TRUE(key.encoded);
  EXPECT_EQ(key.channels, 0);
  EXPECT_EQ(parse(same_text_twice).id, "7");
  EXPECT_EQ(parse(same_text_twice).label, "7");
  EXPECT_EQ(parse(old_pair).id, "dog.png");
  EXPECT_EQ(parse(old_pair).label, "12");
}

TEST(caffe_on_spark_key, reads_extents) {
  caffe_on_spark_key const key = parse(six);
  EXPECT_EQ(key.id, "00000012");
  EXPECT_EQ(key.label, "5");
  EXPECT_EQ(key.channels, 3);
  EXPECT_EQ(key.height, 32);
  EXPECT_EQ(key.width, 32);  // a reference to the object of height
  EXPECT_FALSE(key.encoded);
}

TEST(caffe_on_spark_key, refuses_other_java_objects_and_damaged_bytes) {
  auto const says = [](std::string_view hex) { return refused<cohort::data_error>([&] { parse(hex); }); };
  expect_parts(says("aced0005" + integer_class + "00000005"),
               {"cannot read a CaffeOnSpark key (keys, byte ", "scala.Tuple2", "got java.lang.Integer"});
  expect_parts(
      says("aced0005737200136a6176612e7574696c2e41727261794c6973747881d21d99c7619d03000149000473697a65"
           "78700000000077040000000078"),
      {"a class with default serialisation", "flags 3"});
  expect_parts(says("cafe0005"), {"a Java object"});
  expect_parts(says(six + "00"), {"expected the end"});
  std::string missing = six;
  missing.replace(missing.find("71007e0008"), 10, "71007e0040");
  expect_parts(says(missing), {"a reference to", "handle"});
  for (std::string_view const whole : {pair_of_texts, std::string_view(six)}) {
    for (std::size_t length = 0; length < whole.size(); length += 2) says(whole.substr(0, length));
    std::string damaged(whole);
    for (std::size_t at = 0; at < whole.size(); ++at) {  // no crash; texts may change without notice
      char const before = damaged[at];
      damaged[at] = before == 'f' ? '0' : 'f';
      try {
        parse(damaged);
      } catch (cohort::data_error const&) {
      }
      damaged[at] = before;
    }
  }
}

}  // namespace caffe_on_spark_test
