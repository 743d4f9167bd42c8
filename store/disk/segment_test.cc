#include "store/disk/segment.h"

#include <unistd.h>

#include "store/disk/test_support.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;
using namespace loligo::store::disk;
using disk_test::bytes_of;

namespace {

struct Written {
  disk_test::Place directory;
  Segments segments{system_files(), directory.path, 4 << 20};
  loligo::base::Ref<Segment> segment;
  std::vector<uint64_t> offsets;

  Written() {
    unsigned other = 0;
    segments.open(other);
    int error = 0;
    segment = segments.create(error);
  }
  void add(const std::string& head, const std::string& data) {
    RecordHeader h;
    h.type = RecordType::object;
    h.key = {offsets.size(), 1};
    h.head_bytes = uint32_t(head.size());
    h.data_bytes = uint32_t(data.size());
    h.length = data.size();
    Place place{segment->number, uint32_t(segment->end() / kAlign)};
    std::string bytes(h.bytes(), '\0');
    encode(h, segment->seed(place), bytes.data());
    bytes.replace(kRecordHeaderBytes, head.size(), head);
    bytes.replace(h.data_offset(), data.size(), data);
    put(segment->end(), bytes);
    offsets.push_back(segment->end());
    segment->set_end(segment->end() + bytes.size());
  }
  void put(uint64_t offset, const std::string& bytes) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    segment->file->write(&part, 1, offset);
  }
  std::vector<uint64_t> scan(bool* whole = nullptr, uint64_t from = 0) {
    std::vector<uint64_t> keys;
    SegmentScan scan(segment, from, segment->end());
    for (SegmentScan::Item item; scan.next(item);) keys.push_back(item.header.key.high);
    if (whole) *whole = scan.whole();
    return keys;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(segment)

BOOST_AUTO_TEST_CASE(headers_are_read_back_and_every_flipped_bit_is_noticed) {
  RecordHeader h;
  h.type = RecordType::extent;
  h.variant = {3, 4};
  h.key = {5, 6};
  h.id = 7;
  h.length = 1 << 20;
  h.head_bytes = 9;
  h.data_bytes = 10;
  h.head_hash = 11;
  h.data_hash = 12;
  char bytes[kRecordHeaderBytes];
  encode(h, 99, bytes);
  RecordHeader back;
  BOOST_REQUIRE(decode(bytes, 99, back));
  BOOST_TEST((back.type == h.type && back.key == h.key && back.id == 7u && back.length == h.length && back.head_bytes == 9u && back.data_bytes == 10u));
  BOOST_TEST(!decode(bytes, 98, back));
  for (unsigned bit = 0; bit < kRecordHeaderBytes * 8; ++bit) {
    bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
    BOOST_REQUIRE(!decode(bytes, 99, back));
    bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

BOOST_AUTO_TEST_CASE(a_scan_sees_all_records_and_goes_on_behind_damage) {
  Written w;
  for (int i = 0; i < 100; ++i) w.add("head", bytes_of(i, size_t(i) * 997 % 5000));
  w.add("", bytes_of(1, 600'000));
  w.add("last", "x");
  bool whole = false;
  BOOST_TEST(w.scan(&whole).size() == 102u);
  BOOST_TEST(whole);
  BOOST_TEST(w.scan(nullptr, w.offsets[50]).front() == 50u);
  w.put(w.offsets[10] + 20, "damage");
  w.put(w.offsets[100] + 3, "damage");
  auto keys = w.scan(&whole);
  BOOST_TEST(keys.size() == 100u);
  BOOST_TEST(!whole);
  BOOST_TEST(std::count(keys.begin(), keys.end(), 10) == 0);
  // A cut end loses the last record only.
  w.segment->set_end(w.segment->end() - 16);
  BOOST_TEST(w.scan(&whole).size() == 99u);
  BOOST_TEST(!whole);
}

// A body may contain anything, also what was once a record: of this place, of another, or made up.
BOOST_AUTO_TEST_CASE(a_record_within_a_body_is_never_taken_for_one) {
  Written w;
  RecordHeader h;
  h.type = RecordType::object;
  h.key = {666, 666};
  std::string evil;
  for (int i = 0; i < 1000; ++i) {
    char bytes[kRecordHeaderBytes];
    encode(h, uint64_t(i), bytes);
    evil.append(bytes, sizeof bytes);
  }
  w.add("", evil);
  w.put(w.offsets[0], "????");   // so that the scan looks into the body
  w.add("", "good");
  auto keys = w.scan();
  BOOST_REQUIRE(keys.size() == 1u);
  BOOST_TEST(keys[0] == 1u);
}

BOOST_AUTO_TEST_CASE(a_damaged_segment_header_costs_nothing_where_another_knows_the_salt) {
  Written w;
  w.add("", "in the first");
  int error = 0;
  auto first = w.segment;
  w.segment = w.segments.create(error);
  w.add("", "in the second");
  first->file->truncate(first->end());
  iovec part{const_cast<char*>("damage"), 6};
  first->file->write(&part, 1, 10);
  Segments again(system_files(), w.directory.path, 4 << 20);
  unsigned other = 0;
  BOOST_TEST(again.open(other) == 0);
  BOOST_TEST(other == 0u);
  SegmentScan scan(again.oldest(), 0, again.oldest()->end());
  SegmentScan::Item item;
  BOOST_TEST(scan.next(item));
}

BOOST_AUTO_TEST_CASE(marks_belong_to_one_large_record_each) {
  Written w;
  BOOST_TEST(!w.segment->checked(64, 200'000));
  w.segment->set_checked(64, 200'000);
  BOOST_TEST(w.segment->checked(64, 200'000));
  BOOST_TEST(!w.segment->checked(200'064, 100'000));
  w.segment->set_checked(70'000, 1000);   // holds no boundary: not kept
  BOOST_TEST(!w.segment->checked(70'000, 1000));
}

BOOST_AUTO_TEST_CASE(extent_lists_that_do_not_add_up_are_refused) {
  std::vector<Extent> extents{{{1, 4}, 80, 1 << 20}, {{2, 4}, 80, 5}};
  auto list = encode_extents(extents);
  BOOST_TEST(decode_extents(list, (1 << 20) + 5).has_value());
  BOOST_TEST(!decode_extents(list, 1 << 20).has_value());
  BOOST_TEST(!decode_extents(list.substr(1), (1 << 20) + 5).has_value());
  list[8] = 3;   // skip
  BOOST_TEST(!decode_extents(list, (1 << 20) + 5).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
