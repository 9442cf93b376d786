// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/detail/implementation.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cohort {

/// Names of classes by id: "n01443537" → "goldfish, Carassius auratus".
using class_word_map = std::map<std::string, std::string, std::less<>>;

/// Reads the names of classes from a file in the format of ImageNet's and TinyImageNet's words.txt: each line
/// has an id, a tab and the class's words.
///
///     image_folder const train("photographs", {.words = class_words("words.txt")});
///
/// Errors    file_error. data_error naming file and line for a line without exactly one tab, without id or
///           words, with text that is not UTF-8, or with a repeated id. data_error for a file without lines.
class_word_map class_words(std::string const& path);

/// Returns the words of the classes `ids`. If several of these classes have the same words, appends their ids
/// in parentheses: "crane (n02012849)".
///
/// Errors    data_error for an id that `words` does not contain.
std::vector<std::string> named_classes(std::vector<std::string> const& ids, class_word_map const& words);

}  // namespace cohort
