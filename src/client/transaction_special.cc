// Requests that are answered here: the manager, TRACE, OPTIONS.
#include <fmt/format.h>

#include "base/text.h"
#include "client/reason.h"
#include "client/transaction.h"

namespace loligo::client {

using http::FieldId;
using log::ResultTag;

void Transaction::answer_manager() {
  tag_ = ResultTag::miss;
  if (!worker_->manager) return error(ErrorId::invalid_url, 404);
  keep();
  step_ = Step::following;
  ManagerRequest request{target_.scheme == "cache_object" ? "cache_object" : "http", target_.path_query,
                         std::string(head.value(FieldId::authorization, bytes_)), std::string(head.value(FieldId::origin, bytes_)),
                         connection_->client().host()};
  token_ = std::make_shared<Transaction*>(this);
  worker_->manager(std::move(request), [token = token_, loop = &worker_->loop](ManagerReply reply) {
    auto shared = std::make_shared<ManagerReply>(std::move(reply));
    loop->post([token, shared] { if (*token) (*token)->manager_answered(*shared); });
  });
}

void Transaction::manager_answered(ManagerReply& reply) {
  extra_fields_ = std::move(reply.fields);
  std::string_view origin = head.value(FieldId::origin, bytes_);
  if (!origin.empty())
    extra_fields_ += fmt::format("Access-Control-Allow-Origin: {}\r\nAccess-Control-Allow-Credentials: true\r\nAccess-Control-Expose-Headers: Server\r\n", origin);
  if (reply.error != ErrorId::none) error(reply.error, reply.status);
  else simple_answer(reply.status, reason_phrase(reply.status), extra_fields_, reply.body, {}, std::move(reply.growing));
  if (done()) connection_->transaction_ended_late();
}

void Transaction::answer_trace() {
  std::string body(bytes_, head.size());
  simple_answer(200, "OK", {}, body, "message/http");
}

void Transaction::answer_options() {
  simple_answer(200, "OK", "Allow: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH\r\n", {});
}

}  // namespace loligo::client
