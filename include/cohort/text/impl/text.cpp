// SPDX-License-Identifier: Apache-2.0
#include <cohort/text/detail/implementation.hpp>
#include <cohort/text/impl/doc2vec.ipp>
#include <cohort/text/impl/doc2vec_state.ipp>
#include <cohort/text/impl/generate_tokens.ipp>
#include <cohort/text/impl/sampling.ipp>
#include <cohort/text/impl/token_crops.ipp>
#include <cohort/text/impl/token_stream.ipp>
#include <cohort/text/impl/tokenizer.ipp>
#include <cohort/text/impl/unicode.ipp>
#include <cohort/text/impl/vocabulary.ipp>
#include <cohort/text/impl/word2vec.ipp>
#include <cohort/text/impl/word2vec_state.ipp>
#include <cohort/text/impl/word_vectors.ipp>
#include <cohort/text/impl/word_vocabulary.ipp>

COHORT_IS_IMPLEMENTATION(cohort_text_src_hpp)
