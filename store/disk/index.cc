#include "store/disk/index.h"

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <cstring>

#include "store/disk/index_env.h"

namespace loligo::store::disk {

namespace {

// Small: the table answers, and these are read while loading only.
constexpr size_t kWriteBuffer = 1 << 20, kBlockCache = 256 << 10, kFileBytes = 4 << 20;
constexpr int kOpenFiles = 200;

constexpr size_t kNameBytes = 20, kValueBytes = 28;
constexpr std::string_view kMetaName = "meta";   // no entry's name has this length
constexpr size_t kMetaBytes = 12;                // format version, place

template <class T> void put(char*& out, T value) {
  std::memcpy(out, &value, sizeof value);
  out += sizeof value;
}
template <class T> T get(const char*& in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  in += sizeof value;
  return value;
}

// Big-endian keys would sort alike; their order has no meaning, only that those of a key stand together.
void encode_name(const Index::Name& n, char* out) {
  put(out, n.key.high);
  put(out, n.key.low);
  put(out, n.variant.family);
  put(out, n.variant.variant);
}

void encode_value(const Entry& e, char* out) {
  put(out, e.place.segment);
  put(out, e.place.unit);
  put(out, e.units);
  put(out, e.id_high);
  put(out, e.id_low);
  put(out, uint32_t(e.is_head));
  put(out, uint32_t(e.head_units));
}

bool decode_entry(const leveldb::Slice& name, const leveldb::Slice& value, Entry& e) {
  if (name.size() != kNameBytes || value.size() != kValueBytes) return false;
  const char* in = name.data();
  e.key_high = get<uint64_t>(in);
  e.key_low = get<uint64_t>(in);
  e.variant.family = get<uint16_t>(in);
  e.variant.variant = get<uint16_t>(in);
  in = value.data();
  e.place.segment = get<uint32_t>(in);
  e.place.unit = get<uint32_t>(in);
  e.units = get<uint32_t>(in);
  e.id_high = get<uint32_t>(in);
  e.id_low = get<uint32_t>(in);
  e.is_head = get<uint32_t>(in) & 1;
  e.head_units = get<uint32_t>(in) & 4095;
  e.uses = 0;
  e.tick = 0;
  return true;
}

leveldb::ReadOptions reading(bool fill_cache) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = fill_cache;
  return options;
}

}  // namespace

struct Index::Parts {
  std::unique_ptr<leveldb::Env> env;
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<leveldb::DB> db;
};

struct Index::Batch::Parts { leveldb::WriteBatch batch; };
Index::Batch::Batch() : parts_(std::make_unique<Parts>()) {}
Index::Batch::~Batch() = default;

void Index::Batch::put(const Entry& e) {
  char name[kNameBytes], value[kValueBytes];
  encode_name({e.key(), e.variant}, name);
  encode_value(e, value);
  parts_->batch.Put({name, sizeof name}, {value, sizeof value});
}

void Index::Batch::erase(const Name& n) {
  char name[kNameBytes];
  encode_name(n, name);
  parts_->batch.Delete({name, sizeof name});
}

Index::Index(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Index::~Index() = default;

std::unique_ptr<Index> Index::open(Files& files, const std::string& path, uint64_t capacity, std::string& error) {
  auto parts = std::make_unique<Parts>();
  parts->env = make_index_env(files);
  if (!manifest_is_whole(files, path)) discard(files, path);   // LevelDB would take what is left for the whole
  parts->cache.reset(leveldb::NewLRUCache(kBlockCache));
  leveldb::Options options;
  options.create_if_missing = true;
  // A damaged log must not lose some writes and keep later ones: the segments know better.
  options.paranoid_checks = true;
  options.env = parts->env.get();
  options.block_cache = parts->cache.get();
  options.write_buffer_size = std::clamp<uint64_t>(capacity / 512, 64 << 10, kWriteBuffer);
  options.max_file_size = kFileBytes;
  options.max_open_files = kOpenFiles;
  options.compression = leveldb::kNoCompression;   // hashes
  leveldb::DB* db = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, path, &db);
  parts->db.reset(db);
  if (!status.ok()) {
    error = status.ToString();
    return nullptr;
  }
  std::string meta;
  status = db->Get(reading(true), {kMetaName.data(), kMetaName.size()}, &meta);
  if (!status.ok() && !status.IsNotFound()) {
    error = status.ToString();
    return nullptr;
  }
  std::unique_ptr<Index> index(new Index(std::move(parts)));
  if (status.ok() && meta.size() == kMetaBytes) {
    const char* in = meta.data();
    uint32_t version = get<uint32_t>(in);
    Place to;
    to.segment = get<uint32_t>(in);
    to.unit = get<uint32_t>(in);
    if (version == kFormatVersion) index->indexed_to_ = to;
  }
  return index;
}

void Index::discard(Files& files, const std::string& path) {
  std::vector<std::string> names;
  if (files.list(path, names) != 0) return;
  for (const std::string& name : names) files.remove(path + "/" + name);
}

bool Index::write(Batch& batch, std::optional<Place> to, bool sync, std::string& error) {
  if (to) {
    char meta[kMetaBytes], *out = meta;
    put(out, kFormatVersion);
    put(out, to->segment);
    put(out, to->unit);
    batch.parts_->batch.Put({kMetaName.data(), kMetaName.size()}, {meta, sizeof meta});
  }
  leveldb::WriteOptions options;
  options.sync = sync;
  leveldb::Status status = parts_->db->Write(options, &batch.parts_->batch);
  if (!status.ok()) error = status.ToString();
  return status.ok();
}

bool Index::find(const Key& key, std::vector<Entry>& out) const {
  char name[kNameBytes];
  encode_name({key, {0, 0}}, name);
  std::unique_ptr<leveldb::Iterator> it(parts_->db->NewIterator(reading(true)));
  for (it->Seek({name, sizeof name}); it->Valid(); it->Next()) {
    Entry e;
    if (it->key().size() < 16 || std::memcmp(it->key().data(), name, 16) != 0) break;
    if (decode_entry(it->key(), it->value(), e) && out.size() < Table::kMaxVariants) out.push_back(e);
  }
  return it->status().ok();
}

bool Index::for_each_key(const std::function<bool(const Entry*, size_t)>& f, std::string& error) const {
  std::unique_ptr<leveldb::Iterator> it(parts_->db->NewIterator(reading(false)));
  std::vector<Entry> some;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    Entry e;
    // A damaged block is skipped, and with it removals: what the older tables say of those keys must not be seen.
    if (!it->status().ok()) break;
    if (!decode_entry(it->key(), it->value(), e)) continue;
    if (!some.empty() && !(some.front().key() == e.key())) {
      if (!f(some.data(), some.size())) return true;
      some.clear();
    }
    some.push_back(e);
  }
  if (!some.empty() && it->status().ok()) f(some.data(), some.size());
  if (!it->status().ok()) error = it->status().ToString();
  return it->status().ok();
}

}  // namespace loligo::store::disk
