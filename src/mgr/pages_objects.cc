// The pages that list objects: as long as the store is large, so they are made
// some rows at a time.
#include "mgr/pages.h"

namespace loligo::mgr {
namespace {

class ObjectsPage final : public PageStream {
 public:
  explicit ObjectsPage(std::unique_ptr<ObjectRows> rows) : rows_(std::move(rows)) {}
  bool more(std::string& out) override {
    if (!rows_) return false;
    some_.clear();
    bool more = rows_->next(some_);
    for (const ObjectRow& row : some_) print_object(row, out);
    return more;
  }

 private:
  std::unique_ptr<ObjectRows> rows_;
  std::vector<ObjectRow> some_;
};

std::unique_ptr<PageStream> page_of(const PageContext& c, Objects which) {
  return std::make_unique<ObjectsPage>(c.sources.objects ? c.sources.objects(which) : nullptr);
}

}  // namespace

void print_object(const ObjectRow& o, std::string& out) {
  static constexpr std::string_view kOnDisk[] = {"SWAPOUT_NONE", "SWAPOUT_WRITING", "SWAPOUT_DONE"};
  print(out, "KEY {:016X}{:016X}\n", o.key_high, o.key_low);
  print(out, "\t{:<13} {:<13} {:<12} {:<12}\n", o.complete ? "STORE_OK" : "STORE_PENDING", o.in_memory ? "IN_MEMORY" : "NOT_IN_MEMORY",
        kOnDisk[unsigned(o.on_disk)], "PING_NONE");
  print(out, "\t{}{}{}VALIDATED\n", o.described ? "DISPATCHED," : "", o.must_validate ? "REVALIDATE," : "", o.negative ? "NEGCACHED," : "");
  print(out, "\tLV:{:<9} LU:{:<9} LM:{:<9} EX:{:<9}\n", o.validated, o.last_used, o.last_modified, o.expires);
  print(out, "\t{} locks, {} clients, {} refs\n\tSwap Dir {}, File 0X{:06X}\n", o.locks, o.clients, o.uses, o.directory, o.file);
  if (!o.url.empty()) print(out, "\tGET {}\n", one_line(o.url));
  if (o.in_memory || o.on_disk == ObjectRow::OnDisk::writing) print(out, "\tinmem_lo: 0\n\tinmem_hi: {}\n\tswapout: {} bytes queued\n", o.arrived_bytes, o.queued_bytes);
  if (o.body_bytes >= 0) print(out, "\tobject_sz: {}\n", o.body_bytes);
  if (o.disk_bytes) print(out, "\tdisk_sz: {}\n", o.disk_bytes);
  out += '\n';
}

std::unique_ptr<PageStream> page_objects(const PageContext& c) { return page_of(c, Objects::all); }
std::unique_ptr<PageStream> page_vm_objects(const PageContext& c) { return page_of(c, Objects::in_memory); }
std::unique_ptr<PageStream> page_openfd_objects(const PageContext& c) { return page_of(c, Objects::being_written); }

}  // namespace loligo::mgr
