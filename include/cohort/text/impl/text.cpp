// SPDX-License-Identifier: Apache-2.0
#include <cohort/text/impl/sampling.ipp>
#include <cohort/text/impl/token_crops.ipp>
#include <cohort/text/impl/token_stream.ipp>
#include <cohort/text/impl/tokenizer.ipp>
#include <cohort/text/impl/unicode.ipp>
#include <cohort/text/impl/vocabulary.ipp>
#include <cohort/text/impl/word_vectors.ipp>
#include <cohort/text/impl/word_vocabulary.ipp>
