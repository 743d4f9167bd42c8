// The writer: whole lines from several threads through rotations, places that
// fail and come back, a reader that stalls, syslog, UDP and TCP.
#define BOOST_TEST_DYN_LINK
#include "log/writer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <set>

#include "log/test_files.h"

using namespace loligo::log;
using namespace std::chrono_literals;

namespace {

constexpr WriterLimits kQuick{.shortest_back_off = 10ms, .longest_back_off = 40ms};

Target file_target(const std::string& path) {
  std::string why;
  return *parse_target(path, why);
}

void submit_lines(Writer& writer, const DestinationPtr& d, const std::vector<std::string>& lines) {
  Block block;
  for (const std::string& line : lines) block.bytes.append(line), block.bytes.push('\n'), ++block.lines;
  writer.submit(d, block);
}

template <class Condition>
bool wait_for(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

// A socket on 127.0.0.1; `port` gets its number.
int bound_socket(int type, uint16_t& port) {
  int fd = socket(AF_INET, type, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  BOOST_REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  port = ntohs(address.sin_port);
  return fd;
}

std::string receive(int fd) {
  pollfd ready{fd, POLLIN, 0};
  if (poll(&ready, 1, 5000) <= 0) return "nothing came";
  char bytes[4096];
  ssize_t n = recv(fd, bytes, sizeof bytes, 0);
  return n > 0 ? std::string(bytes, size_t(n)) : std::string();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(writers)

// Two threads write numbered lines of changing length while the file is rotated: every line is there once, none is cut.
BOOST_AUTO_TEST_CASE(two_threads_and_a_rotating_file) {
  TemporaryDirectory dir;
  Writer writer;
  writer.start();
  std::string why;
  DestinationPtr d = writer.open(file_target(dir.file("log")), {}, why);
  BOOST_TEST(why == "");
  constexpr int kBlocks = 200, kLines = 50;
  auto produce = [&](char name) {
    for (int b = 0; b < kBlocks; ++b) {
      std::vector<std::string> lines;
      for (int i = 0; i < kLines; ++i) lines.push_back(std::string(1, name) + ' ' + std::to_string(b * kLines + i) + ' ' + std::string(size_t(i), 'x') + " end");
      submit_lines(writer, d, lines);
      if (name == 'a' && b % 50 == 49) writer.rotate(9);
    }
  };
  std::thread a(produce, 'a'), b(produce, 'b');
  a.join();
  b.join();
  BOOST_TEST(writer.drain(20s));
  std::set<std::string> seen;
  size_t total = 0;
  for (const char* name : {"log", "log.0", "log.1", "log.2", "log.3"}) {
    BOOST_TEST(std::filesystem::exists(dir.file(name)), name);
    for (const std::string& line : lines_of(dir.file(name))) {
      BOOST_TEST_REQUIRE(line.ends_with(" end"), line);
      seen.insert(line.substr(0, line.find(' ', 2)));
      ++total;
    }
  }
  BOOST_TEST(total == 2u * kBlocks * kLines);
  BOOST_TEST(seen.size() == total);
  BOOST_TEST(writer.counters().lines_written.load() == total);
  BOOST_TEST(writer.counters().lines_dropped.load() == 0u);
  BOOST_TEST(writer.counters().rotations.load() == 4u);
}

BOOST_AUTO_TEST_CASE(rotation_keeps_so_many) {
  TemporaryDirectory dir;
  Writer writer;
  std::string why;
  DestinationPtr d = writer.open(file_target(dir.file("log")), {}, why);
  DestinationPtr one = writer.open(file_target(dir.file("one")), {.rotate = 1}, why);
  writer.start();
  for (const char* text : {"1", "2", "3", "4"}) {
    submit_lines(writer, d, {text});
    submit_lines(writer, one, {text});
    writer.rotate(2);
  }
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(contents_of(dir.file("log")) == "");
  BOOST_TEST(contents_of(dir.file("log.0")) == "4\n");
  BOOST_TEST(contents_of(dir.file("log.1")) == "3\n");
  BOOST_TEST(!std::filesystem::exists(dir.file("log.2")));
  BOOST_TEST(contents_of(dir.file("one.0")) == "4\n");
  BOOST_TEST(!std::filesystem::exists(dir.file("one.1")));
  // 0: logrotate has moved the file, it is only opened again.
  submit_lines(writer, d, {"5"});
  BOOST_TEST(writer.drain(5s));
  std::filesystem::rename(dir.file("log"), dir.file("moved"));
  writer.rotate(0);
  submit_lines(writer, d, {"6"});
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(contents_of(dir.file("moved")) == "5\n");
  BOOST_TEST(contents_of(dir.file("log")) == "6\n");
}

BOOST_AUTO_TEST_CASE(a_place_that_fails_comes_back) {
  TemporaryDirectory dir;
  Writer writer(kQuick);
  writer.start();
  std::string why;
  DestinationPtr d = writer.open(file_target(dir.file("sub/log")), {}, why);
  BOOST_TEST(why.find("sub/log: No such file or directory") != why.npos);
  submit_lines(writer, d, {"kept"});
  BOOST_TEST(!writer.drain(100ms));
  BOOST_TEST(writer.counters().failures.load() > 0u);
  std::filesystem::create_directory(dir.file("sub"));
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(contents_of(dir.file("sub/log")) == "kept\n");
}

// A file that may grow no further: what was cut off is taken back, so that only whole lines stand there.
BOOST_AUTO_TEST_CASE(a_full_disk_leaves_whole_lines) {
  TemporaryDirectory dir;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  Writer writer(kQuick);
  std::string why;
  DestinationPtr d = writer.open(file_target(dir.file("log")), {}, why);
  rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  writer.start();
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("a line of some length " + std::to_string(i));
  submit_lines(writer, d, lines);
  BOOST_TEST(wait_for([&] { return writer.counters().failures.load() > 1; }));
  std::string cut = contents_of(dir.file("log"));
  BOOST_TEST(cut.size() > 900u);
  BOOST_TEST(cut.ends_with("\n"));
  setrlimit(RLIMIT_FSIZE, &before);
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(lines_of(dir.file("log")) == lines, boost::test_tools::per_element());
}

// A pipe nobody reads neither holds up another log, nor its producers, nor the end; lines without room are dropped whole.
BOOST_AUTO_TEST_CASE(a_stalled_reader_stops_nobody) {
  TemporaryDirectory dir;
  BOOST_REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  Descriptor reader{::open(dir.file("pipe").c_str(), O_RDONLY | O_NONBLOCK)};
  Writer writer({.queue_bytes = 200'000});
  std::string why;
  DestinationPtr pipe = writer.open(file_target(dir.file("pipe")), {}, why);
  DestinationPtr file = writer.open(file_target(dir.file("log")), {}, why);
  BOOST_TEST(why == "");
  writer.start();
  std::string long_line(999, 'x');
  for (int i = 0; i < 1000; ++i) submit_lines(writer, pipe, {long_line});
  submit_lines(writer, file, {"not held up"});
  BOOST_TEST(wait_for([&] { return contents_of(dir.file("log")) == "not held up\n"; }));
  BOOST_TEST(writer.counters().lines_dropped.load() > 500u);
  auto start = std::chrono::steady_clock::now();
  writer.stop(100ms);
  BOOST_TEST((std::chrono::steady_clock::now() - start < 2s));
  BOOST_TEST(writer.counters().lines_written.load() + writer.counters().lines_dropped.load() == 1001u);
}

BOOST_AUTO_TEST_CASE(the_queue_is_bounded) {
  TemporaryDirectory dir;
  Writer writer({.queue_bytes = 1000});
  std::string why;
  DestinationPtr d = writer.open(file_target(dir.file("log")), {}, why);
  for (int i = 0; i < 30; ++i) submit_lines(writer, d, {std::string(99, 'x')});  // not started: nothing leaves the queue
  BOOST_TEST(writer.counters().lines_dropped.load() == 20u);
  writer.append(d, "no room");
  BOOST_TEST(writer.counters().lines_dropped.load() == 21u);
  writer.stop();
  BOOST_TEST(lines_of(dir.file("log")).size() == 10u);
}

// A file that cannot be written, and any line that is lost.
BOOST_AUTO_TEST_CASE(what_is_fatal) {
  TemporaryDirectory dir;
  std::string why;
  for (OnError wish : {OnError::go_on, OnError::end_for_file, OnError::end}) {
    Writer fails(kQuick), full({.queue_bytes = 100});
    DestinationPtr missing = fails.open(file_target(dir.file("none/log")), {.on_error = wish}, why);
    DestinationPtr small = full.open(file_target(dir.file("log")), {.on_error = wish}, why);
    fails.start();
    submit_lines(fails, missing, {"line"});
    BOOST_TEST(wait_for([&] { return fails.counters().failures.load() > 1; }));
    submit_lines(full, small, {"fits"});
    BOOST_TEST(full.fatal() == "");
    submit_lines(full, small, {std::string(200, 'x')});
    BOOST_TEST((fails.fatal().find("No such file") != std::string::npos) == (wish != OnError::go_on));
    BOOST_TEST((full.fatal().find("lines were lost") != std::string::npos) == (wish == OnError::end));
    fails.stop(10ms);
  }
}

BOOST_AUTO_TEST_CASE(standard_output) {
  TemporaryDirectory dir;
  int saved = dup(1);
  int sockets[2];
  BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  dup2(sockets[0], 1);  // a socket cannot be opened by its /dev/stdout name: the descriptor has to do
  std::string why, received;
  {
    Writer writer;
    DestinationPtr d = writer.open(file_target("stdio:/dev/stdout"), {}, why);
    writer.start();
    submit_lines(writer, d, {"to standard output"});
    received = receive(sockets[1]);
  }
  dup2(saved, 1);
  ::close(saved), ::close(sockets[0]), ::close(sockets[1]);
  BOOST_TEST(why == "");
  BOOST_TEST(received == "to standard output\n");
}

BOOST_AUTO_TEST_CASE(udp) {
  uint16_t port = 0;
  Descriptor socket{bound_socket(SOCK_DGRAM, port)};
  std::string why;
  Writer writer;
  writer.start();
  DestinationPtr single = writer.open(*parse_target("udp://127.0.0.1:" + std::to_string(port), why), {}, why);
  submit_lines(writer, single, {"one", "two"});
  BOOST_TEST(receive(socket.fd) == "one\n");
  BOOST_TEST(receive(socket.fd) == "two\n");
  DestinationPtr packed = writer.open(*parse_target("udp:localhost:" + std::to_string(port), why), {.sink = {.pack_datagrams = true}}, why);
  std::string half(900, 'x');
  submit_lines(writer, packed, {"a", "b", half, half});
  BOOST_TEST(receive(socket.fd) == "a\nb\n" + half + "\n");
  BOOST_TEST(receive(socket.fd) == half + "\n");
  BOOST_TEST(why == "");
}

BOOST_AUTO_TEST_CASE(tcp_reconnects) {
  uint16_t port = 0;
  Descriptor listener{bound_socket(SOCK_STREAM, port)};
  BOOST_REQUIRE(listen(listener.fd, 4) == 0);
  std::string why;
  Writer writer(kQuick);
  writer.start();
  DestinationPtr d = writer.open(*parse_target("tcp://127.0.0.1:" + std::to_string(port), why), {}, why);
  submit_lines(writer, d, {"first"});
  {
    Descriptor peer{accept(listener.fd, nullptr, nullptr)};
    BOOST_TEST(receive(peer.fd) == "first\n");
  }
  int peer = -1;
  BOOST_TEST(wait_for([&] {
    submit_lines(writer, d, {"again"});  // the first ones may still go into the old connection
    pollfd ready{listener.fd, POLLIN, 0};
    if (poll(&ready, 1, 20) <= 0) return false;
    peer = accept(listener.fd, nullptr, nullptr);
    return true;
  }));
  BOOST_TEST(receive(peer).starts_with("again\n"));
  ::close(peer);
}

BOOST_AUTO_TEST_CASE(syslog_lines) {
  TemporaryDirectory dir;
  Descriptor log{socket(AF_UNIX, SOCK_DGRAM, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dir.file("dev-log").copy(address.sun_path, sizeof address.sun_path - 1);
  BOOST_REQUIRE(bind(log.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  std::string why;
  Target target = *parse_target("syslog:local4.notice", why);
  target.path = dir.file("dev-log");
  Writer writer;
  writer.start();
  DestinationPtr d = writer.open(target, {}, why);
  submit_lines(writer, d, {"hello", "there"});
  std::string first = receive(log.fd);
  BOOST_TEST(first.starts_with("<165>"));
  BOOST_TEST(first.ends_with(" loligo[" + std::to_string(getpid()) + "]: hello"));
  BOOST_TEST(receive(log.fd).ends_with(": there"));
}

// Destinations are found by their place, and close when nobody uses them any more.
BOOST_AUTO_TEST_CASE(destinations_are_shared_by_place) {
  TemporaryDirectory dir;
  Writer writer;
  writer.start();
  std::string why;
  DestinationPtr a = writer.open(file_target("stdio:" + dir.file("log")), {}, why);
  BOOST_TEST(a == writer.open(file_target("daemon:" + dir.file("log")), {}, why));
  std::weak_ptr<Destination> gone = a;
  submit_lines(writer, a, {"last words"});
  a.reset();
  DestinationPtr other = writer.open(file_target(dir.file("other")), {}, why);
  BOOST_TEST(wait_for([&] {
    submit_lines(writer, other, {"x"});
    return gone.expired();
  }));
  BOOST_TEST(contents_of(dir.file("log")) == "last words\n");
}

BOOST_AUTO_TEST_SUITE_END()
