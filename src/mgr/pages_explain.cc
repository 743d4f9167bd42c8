// mgr:explain, a page of our own: what would become of a request, and why.
#include "mgr/explain_query.h"
#include "mgr/pages.h"

namespace loligo::mgr {

namespace {
constexpr std::string_view kUsage =
    "explain?url=URL[&method=METHOD][&header=Name:%20value ...][&client=ADDRESS][&port=PORT]\n"
    "\n"
    "Tells what the rules and the cache would do with this request, and why; asks nobody, and changes nothing. Values are percent-encoded.\n";
}

void page_explain(const PageContext& c, std::string_view query, std::string_view client, Reply& reply) {
  client::ExplainQuestion question;
  question.client = client;
  if (query.empty()) return void(reply.body = kUsage);
  if (std::string error = read_explain_query(query, question); !error.empty() || !c.sources.explain) {
    reply.status = 400;
    reply.body = error + "\n\n";
    reply.body += kUsage;
    return;
  }
  reply.later = [explain = c.sources.explain, question = std::move(question)](std::function<void(int, std::string)> done) {
    explain(question, [done = std::move(done)](client::ExplainAnswer answer) { done(answer.understood ? 200 : 400, std::move(answer.text)); });
  };
}

}  // namespace loligo::mgr
