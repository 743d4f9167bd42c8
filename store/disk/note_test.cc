#include "store/disk/note.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "store/disk/simulated_files.h"

using namespace loligo;
using namespace loligo::store;

namespace {

struct Folder {
  std::string path = std::filesystem::temp_directory_path() / ("note-test-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(disk_note)

BOOST_AUTO_TEST_CASE(is_there_after_power_loss_whole_or_as_before) {
  Folder folder;
  SimulatedFiles files;
  BOOST_TEST(disk::read_note(files, folder.path).bytes == "");
  BOOST_TEST(disk::write_note(files, folder.path, "first") == 0);
  files.lose_power();
  BOOST_TEST(disk::read_note(files, folder.path).bytes == "first");
  for (int writes = 0; writes < 6; ++writes) {   // the machine stops after each step of the second
    files.power_fails_after = writes;
    disk::write_note(files, folder.path, "second");
    files.lose_power(50);
    Note note = disk::read_note(files, folder.path);
    BOOST_TEST(!note.damaged);
    BOOST_TEST((note.bytes == "first" || note.bytes == "second"), note.bytes);
  }
}

BOOST_AUTO_TEST_CASE(any_flipped_bit_and_any_cut_is_noticed) {
  Folder folder;
  Files& files = system_files();
  BOOST_TEST(disk::write_note(files, folder.path, "what was purged") == 0);
  const std::string name = folder.path + "/note";
  int error = 0;
  base::Ref<File> file = files.open(name, OpenMode::write, error);
  std::string all(size_t(file->size()), '\0');
  file->read(all.data(), all.size(), 0, false);
  auto put = [&](std::string bytes) {
    file->truncate(0);
    iovec part{bytes.data(), bytes.size()};
    file->write(&part, 1, 0);
    return disk::read_note(files, folder.path);
  };
  for (size_t n = 0; n < all.size(); ++n) {
    std::string other = all;
    other[n] ^= char(1 << n % 8);
    BOOST_TEST(put(other).damaged);
    BOOST_TEST(put(all.substr(0, n)).damaged);
  }
  BOOST_TEST(put(all).bytes == "what was purged");
  BOOST_TEST(disk::write_note(files, folder.path, std::string(disk::kMostNoteBytes + 1, 'x')) == -EFBIG);
  BOOST_TEST(disk::read_note(files, folder.path).bytes == "what was purged");
}

BOOST_AUTO_TEST_SUITE_END()
