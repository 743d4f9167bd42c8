#include "helpers/client_exchange.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "helpers/client_request.h"
#include "helpers/client_stream.h"
#include "helpers/reply_watch.h"

namespace loligo::helpers {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;

// The request's body: a regular file, so that its length is known before it is sent.
class Payload {
 public:
  explicit Payload(const std::string& path) {
    if (path.empty()) return;
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (fd_ < 0 || fstat(fd_, &s) != 0) error_ = "Cannot open " + path + ": " + std::strerror(errno);
    else if (!S_ISREG(s.st_mode)) error_ = path + " is not a regular file";
    else bytes_ = uint64_t(s.st_size);
  }
  ~Payload() { if (fd_ >= 0) ::close(fd_); }
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  const std::optional<uint64_t>& bytes() const { return bytes_; }
  const std::string& error() const { return error_; }

  // False when the stream failed or the file is shorter than announced.
  bool send(ClientStream& stream) {
    std::vector<char> piece(kPieceBytes);
    for (uint64_t left = bytes_.value_or(0); left > 0;) {
      ssize_t n = ::read(fd_, piece.data(), std::min<uint64_t>(left, piece.size()));
      if (n <= 0 || !stream.write_all({piece.data(), size_t(n)})) return false;
      left -= uint64_t(n);
    }
    return true;
  }

 private:
  int fd_ = -1;
  std::optional<uint64_t> bytes_;
  std::string error_;
};

void read_reply(ClientStream& stream, ReplyWatch& watch, std::FILE* output, Exchange& result) {
  std::vector<char> piece(kPieceBytes);
  while (!watch.finished()) {
    long n = stream.read(piece.data(), piece.size());
    if (n < 0) { result.error = stream.error(); break; }
    if (n == 0) { watch.end_of_connection(); break; }
    size_t used = watch.feed({piece.data(), size_t(n)});
    result.reply_bytes += used;
    if (output && std::fwrite(piece.data(), 1, used, output) != used) {
      result.error = "Cannot write the reply";
      break;
    }
  }
  if (output && std::fflush(output) != 0 && result.error.empty()) result.error = "Cannot write the reply";
  result.status = watch.status();
  if (result.error.empty()) result.error = watch.problem();
}

}  // namespace

Exchange exchange(const ClientOptions& options, std::FILE* output) {
  Exchange result;
  Payload payload(options.payload_path);
  if (!payload.error().empty()) { result.error = payload.error(); return result; }
  std::string head = request_head(options, payload.bytes());
  if (options.verbosity >= 1) std::fprintf(stderr, "Request:\n%s\n.\n", head.c_str());
  auto trace = [&options](const std::string& line) {
    if (options.verbosity >= 2) std::fprintf(stderr, "%s\n", line.c_str());
  };
  ClientStream stream(options, trace);
  if (!stream.connect()) { result.error = stream.error(); return result; }
  trace("Sending HTTP request ... ");
  // A server may answer, and close, before it has read a whole body: then the answer counts.
  bool sent = stream.write_all(head) && payload.send(stream);
  std::string send_error = sent ? "" : stream.error().empty() ? "The file has become shorter" : stream.error();
  if (sent) trace("done.");
  ReplyWatch watch(options.method);
  read_reply(stream, watch, output, result);
  if (!sent && result.status == 0) result.error = send_error;
  return result;
}

int exit_code(const Exchange& e) {
  if (!e.error.empty()) return 1;
  switch (e.status / 100) {
    case 0: case 2: case 3: return 0;
    case 4: return 2;
    case 5: return 3;
    default: return e.status == 101 ? 0 : 1;
  }
}

}  // namespace loligo::helpers
