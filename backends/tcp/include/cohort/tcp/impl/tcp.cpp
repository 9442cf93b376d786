// SPDX-License-Identifier: Apache-2.0
#include <cohort/tcp/detail/implementation.hpp>
#include <cohort/tcp/impl/acceptor.ipp>
#include <cohort/tcp/impl/elastic_tcp.ipp>
#include <cohort/tcp/impl/endpoint.ipp>
#include <cohort/tcp/impl/frame.ipp>
#include <cohort/tcp/impl/membership.ipp>
#include <cohort/tcp/impl/membership_client.ipp>
#include <cohort/tcp/impl/membership_service.ipp>
#include <cohort/tcp/impl/rendezvous.ipp>
#include <cohort/tcp/impl/secure_stream.ipp>
#include <cohort/tcp/impl/socket.ipp>
#include <cohort/tcp/impl/socket_api.ipp>
#include <cohort/tcp/impl/tcp.ipp>
#include <cohort/tcp/impl/tcp_question.ipp>
#include <cohort/tcp/impl/tcp_receiver.ipp>
#include <cohort/tcp/impl/tcp_sender.ipp>
#include <cohort/tcp/impl/tcp_start.ipp>
#include <cohort/tcp/impl/tcp_transport.ipp>

COHORT_IS_IMPLEMENTATION(cohort_tcp_src_hpp)
