// What an observer of the disk hears: each object that was stored, and each that
// has gone, once, with its head.
#include <algorithm>
#include <map>
#include <mutex>

#include "store/disk/test_support.h"
#include "store/observer.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;
using namespace loligo::store::disk_test;

BOOST_AUTO_TEST_SUITE(reporter)

namespace {

struct Ear final : DiskObserver {
  struct Heard { std::string what, head; int directory; uint32_t segment; uint64_t length, id; };
  std::atomic<bool> on{true};
  mutable std::mutex mutex;
  std::vector<Heard> heard;
  uint64_t lost_events = 0;

  bool wants() const override { return on; }
  void note(const char* what, const Event& e) {
    std::lock_guard lock(mutex);
    heard.push_back({what, std::string(e.head), e.directory, e.segment, e.length, e.id});
  }
  void stored(const Event& e) override { note("stored", e); }
  void given_up(const Event& e) override { note("given up", e); }
  void withdrawn(const Event& e) override { note("withdrawn", e); }
  void removed(const Event& e) override { note("removed", e); }
  void lost(uint64_t events) override { lost_events += events; }
  size_t count(const std::string& what) const {
    std::lock_guard lock(mutex);
    return size_t(std::count_if(heard.begin(), heard.end(), [&](auto& h) { return h.what == what; }));
  }
  bool comes(const std::string& what, size_t n) const {
    eventually([&] { return count(what) >= n; });
    return count(what) == n;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(stored_replaced_and_erased) {
  Ear ear;
  Place place;
  DiskOptions options = options_for(place.path);
  options.observer = &ear;
  auto disk = open_disk(options);
  uint64_t first = disk->store(key_of(1), {}, "one", body_of(bytes_of(1, 1000)), 1000);
  disk->store(key_of(2), {}, "two", body_of(bytes_of(2, 300'000)), 300'000);
  BOOST_TEST(ear.comes("stored", 2));
  BOOST_TEST(ear.heard[0].head == "one");
  BOOST_TEST(ear.heard[0].id == first);
  BOOST_TEST(ear.heard[0].directory == 0);
  BOOST_TEST(ear.heard[0].segment == 1u);
  BOOST_TEST(ear.heard[1].length == 300'000u);
  disk->store(key_of(1), {}, "one again", body_of(bytes_of(3, 2000)), 2000);
  BOOST_TEST(ear.comes("removed", 1));
  BOOST_TEST(ear.comes("stored", 3));
  BOOST_TEST(erase(*disk, key_of(1)) == 1u);
  auto two = find(*disk, key_of(2));
  disk->erase(key_of(2), two.id);
  BOOST_TEST(ear.comes("removed", 3));
  std::vector<std::string> gone;
  for (auto& h : ear.heard)
    if (h.what == "removed") gone.push_back(h.head + " " + std::to_string(h.length));
  BOOST_TEST(gone == (std::vector<std::string>{"one 1000", "one again 2000", "two 300000"}), boost::test_tools::per_element());
  ear.on = false;
  disk->store(key_of(3), {}, "unheard", body_of("x"), 1);
  settled(*disk, 4);
  disk.reset();
  BOOST_TEST(ear.heard.size() == 6u);
}

BOOST_AUTO_TEST_CASE(what_never_gets_there) {
  Ear ear;
  Place place;
  DiskOptions options = options_for(place.path);
  options.directories[0].max_object = 5000;
  options.observer = &ear;
  auto disk = open_disk(options);
  auto failing = loligo::base::make_ref<Body>(1000, true, 0), growing = loligo::base::make_ref<Body>(kUnknownLength, true, 0),
       erased = loligo::base::make_ref<Body>(1000, true, 0);
  disk->store(key_of(1), {}, "fails", failing, 1000);
  disk->store(key_of(2), {}, "outgrows", growing, kUnknownLength);
  disk->store(key_of(3), {}, "erased", erased, 1000);
  failing->append("half");
  failing->fail();
  growing->append(bytes_of(1, 6000));
  growing->complete();
  disk->erase(key_of(3));
  BOOST_TEST(ear.comes("withdrawn", 2));
  BOOST_TEST(ear.comes("given up", 1));
  for (auto& h : ear.heard) {
    BOOST_TEST(h.directory == -1);
    BOOST_TEST((h.what == "given up") == (h.head == "outgrows"));
  }
  disk.reset();
  BOOST_TEST(ear.heard.size() == 3u);
}

// Every object that does not stand at the end has been told to have gone, by its name, though its segment was removed.
BOOST_AUTO_TEST_CASE(evicted_objects_have_names) {
  Ear ear;
  Place place;
  DiskOptions options = options_for(place.path, 8 << 20);
  options.observer = &ear;
  auto disk = open_disk(options);
  constexpr unsigned kObjects = 2000;
  for (unsigned i = 0; i < kObjects; ++i) {
    disk->store(key_of(i), {}, "object " + std::to_string(i), body_of(bytes_of(i, 10'000)), 10'000);
    if (i % 50 == 49) settled(*disk, i + 1);
  }
  settled(*disk, kObjects);
  auto told = [&] { return ear.count("stored") - ear.count("removed"); };
  BOOST_TEST(eventually([&] { return told() == disk->objects(); }));
  BOOST_TEST(ear.count("removed") > kObjects / 3);
  BOOST_TEST(ear.count("removed") == disk->counters().evicted);
  disk.reset();
  std::map<std::string, int> standing;
  for (auto& h : ear.heard) {
    BOOST_TEST(!h.head.empty());
    standing[h.head] += h.what == "stored" ? 1 : -1;
  }
  for (auto& [head, n] : standing) BOOST_TEST((n == 0 || n == 1), head << ": " << n);
  BOOST_TEST(ear.lost_events == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
