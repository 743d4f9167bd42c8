#include "store/disk/note.h"

#include <xxhash.h>

#include <cerrno>
#include <cstring>

namespace loligo::store::disk {
namespace {

constexpr char kMagic[8] = {'L', 'O', 'L', 'I', 'G', 'O', 'N', '1'};
constexpr size_t kHeaderBytes = 16;   // the magic, XXH3-64 of the bytes

std::string path_of(const std::string& directory) { return directory + "/note"; }

}  // namespace

Note read_note(Files& files, const std::string& directory) {
  int error = 0;
  base::Ref<File> file = files.open(path_of(directory), OpenMode::read, error);
  if (!file) return {error != -ENOENT, {}};
  const int64_t size = file->size();
  if (size < int64_t(kHeaderBytes) || size > int64_t(kMostNoteBytes + kHeaderBytes)) return {true, {}};
  std::string all(size_t(size), '\0');
  if (file->read(all.data(), all.size(), 0, false) != size) return {true, {}};
  uint64_t sum = 0;
  std::memcpy(&sum, all.data() + sizeof kMagic, sizeof sum);
  Note note{false, all.substr(kHeaderBytes)};
  if (std::memcmp(all.data(), kMagic, sizeof kMagic) != 0 || sum != XXH3_64bits(note.bytes.data(), note.bytes.size())) return {true, {}};
  return note;
}

// Beside the old one, then in its place: at any moment one of them is whole.
int write_note(Files& files, const std::string& directory, std::string_view bytes) {
  if (bytes.size() > kMostNoteBytes) return -EFBIG;
  const std::string path = path_of(directory), fresh = path + ".new";
  std::string all(kMagic, sizeof kMagic);
  const uint64_t sum = XXH3_64bits(bytes.data(), bytes.size());
  all.append(reinterpret_cast<const char*>(&sum), sizeof sum).append(bytes);
  int error = 0;
  {
    base::Ref<File> file = files.open(fresh, OpenMode::create, error);
    if (!file) return error;
    iovec part{all.data(), all.size()};
    if (int64_t n = file->write(&part, 1, 0); n < 0) return int(n);
    if ((error = file->sync())) return error;
  }
  if ((error = files.rename(fresh, path))) return error;
  return files.sync_directory(directory);
}

}  // namespace loligo::store::disk
