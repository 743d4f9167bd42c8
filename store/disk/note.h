// What the rooms above keep with a directory beside its objects: few bytes,
// replaced as a whole, and durable when write_note() returns.
//
// Waits for the disk. One writer a directory at a time.
#pragma once
#include <string>
#include <string_view>

#include "store/disk/files.h"

namespace loligo::store {

struct Note {
  bool damaged = false;   // there was one, and it cannot be read
  std::string bytes;      // empty: none
};

namespace disk {

inline constexpr size_t kMostNoteBytes = 16 << 20;

Note read_note(Files&, const std::string& directory);
// 0, or a negative errno; then the old one stays, or the new one is there.
int write_note(Files&, const std::string& directory, std::string_view bytes);

}  // namespace disk
}  // namespace loligo::store
