// Nanoseconds per parse of typical heads: what the http room costs a request on the hit path.
// usage: http_bench [MILLISECONDS_PER_ROW]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/cache_control.h"
#include "http/chunked.h"
#include "http/date.h"
#include "http/framing.h"
#include "http/freshness.h"
#include "http/head.h"
#include "http/uri.h"

using namespace loligo::http;

namespace {

constexpr std::string_view kShort =
    "GET /f/12b HTTP/1.1\r\n"
    "Host: 127.0.0.1:3128\r\n"
    "User-Agent: wrk/4.1.0\r\n"
    "Accept: */*\r\n\r\n";

constexpr std::string_view kBrowser =
    "GET /f/5k HTTP/1.1\r\n"
    "Host: 127.0.0.1:3128\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en-US;q=0.9,en;q=0.8\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "Referer: http://www.example.com/catalogue/section/index.html?sort=price&page=2\r\n"
    "DNT: 1\r\n"
    "Cookie: sid=8f14e45fceea167a5a36dedd4bea2543; theme=dark; consent=1; _ga=GA1.1.1234567890.1700000000; cart=3\r\n\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\n"
    "Server: nginx/1.22.1\r\n"
    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    "Content-Length: 12288\r\n"
    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    "Connection: keep-alive\r\n"
    "ETag: \"36bea2c1-3000\"\r\n"
    "Cache-Control: public, max-age=3600\r\n"
    "Vary: Accept-Encoding\r\n"
    "Accept-Ranges: bytes\r\n\r\n";

std::chrono::milliseconds g_time_per_row(300);

// Keeps the compiler from dropping a result or hoisting the work out of the loop.
template <class T> void keep(T&& value) { asm volatile("" : : "g"(&value) : "memory"); }

template <class F> void measure(const char* name, F&& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e18;
  for (auto end = Clock::now() + g_time_per_row; Clock::now() < end;) {
    constexpr int kRounds = 2000;
    auto start = Clock::now();
    for (int i = 0; i < kRounds; ++i) work();
    double each = std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kRounds;
    if (each < best) best = each;
  }
  std::printf("%-42s %8.1f ns\n", name, best);
}

void heads() {
  auto request = [](const char* name, std::string_view text) {
    measure(name, [text] {
      Head head;
      keep(head.parse_request(text.data(), text.size(), {}));
      keep(head);
    });
  };
  request("head: wrk's request", kShort);
  request("head: browser's request, 12 fields", kBrowser);
  measure("head: response, 10 fields", [] {
    Head head;
    keep(head.parse_response(kResponse.data(), kResponse.size(), {}));
    keep(head);
  });
}

void decisions() {
  static Head browser, response;
  browser.parse_request(kBrowser.data(), kBrowser.size(), {});
  response.parse_response(kResponse.data(), kResponse.size(), {});
  measure("framing: browser's request", [] { keep(request_framing(browser, kBrowser.data())); });
  measure("framing: response", [] { keep(response_framing(response, kResponse.data(), Method::get)); });
  measure("cache control: request", [] { keep(request_cache_control(browser, kBrowser.data())); });
  measure("cache control: response", [] { keep(response_cache_control(response, kResponse.data())); });
  ResponseCacheControl cc = response_cache_control(response, kResponse.data());
  measure("lifetimes", [&] { keep(lifetimes(response, kResponse.data(), cc, {}, 784111777, 784111777)); });
}

void texts() {
  measure("date: parse", [] { keep(parse_date("Sun, 06 Nov 1994 08:49:37 GMT", 784111777)); });
  measure("date: format", [] {
    char out[kDateLength];
    format_date(784111777, out);
    keep(out);
  });
  measure("uri: absolute and canonical", [] {
    static std::string out;
    std::optional<Uri> u = parse_absolute("http://www.example.com/catalogue/section/index.html?sort=price&page=2");
    canonical(u->scheme, u->authority.host, false, u->authority.port, u->path_query, out);
    keep(out);
  });
  static const std::string body = "400\r\n" + std::string(1024, 'x') + "\r\n0\r\n\r\n";
  measure("chunked: one chunk of 1024", [] {
    ChunkedDecoder decoder;
    std::string_view rest = body;
    for (auto state = ChunkedDecoder::State::data; state == ChunkedDecoder::State::data;) {
      ChunkedDecoder::Result r = decoder.feed(rest);
      rest.remove_prefix(r.consumed);
      state = r.state;
    }
    keep(rest);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_time_per_row = std::chrono::milliseconds(std::atoi(argv[1]));
  heads();
  decisions();
  texts();
}
