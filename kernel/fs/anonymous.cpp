// See anonymous.h.
#include "fs/anonymous.h"

#include <iterator>

#include "core/core.h"
#include "fs/ram/ram_file.h"
#include "lib/format.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/executive.h"
#include "task/thread.h"

namespace corral::fs {

namespace {
constinit RamFileSystem* files = nullptr;  // lives for ever
constinit Atomic<u64> next_number{1};

constexpr const char* labels[] = {"anon_inode:[eventfd]", "anon_inode:[eventpoll]", "anon_inode:[timerfd]",
                                  "anon_inode:inotify",   "anon_inode:[pidfd]",     "anon_inode:[signalfd]"};
constinit Inode* inodes[std::size(labels)] = {};  // live for ever

class AnonymousInode final : public Inode {
 public:
  explicit AnonymousInode(const char* label)
      : Inode{anonymous_files(), FileType::unknown},
        label_{label},
        number_{next_anonymous_number()},
        born_ns_{wall_time_ns()} {}
  [[nodiscard]] Attributes attributes() override {
    Attributes a;
    a.device = file_system().device();
    a.inode = number_;
    a.permissions = 0600;
    a.accessed_ns = a.modified_ns = a.changed_ns = a.born_ns = born_ns_;
    return a;
  }
  std::string_view label(std::span<char> to) override { return format_to(to, "{}", label_); }

 private:
  const char* const label_;
  const u64 number_;
  const i64 born_ns_;
};

class MemoryFile final : public RamFile {
 public:
  MemoryFile(RamFileSystem& file_system, std::string_view name)
      : RamFile{file_system, 0777}, size_{static_cast<u8>(name.size())} {
    memcpy(name_, name.data(), name.size());
  }
  std::string_view label(std::span<char> to) override {
    return format_to(to, "/memfd:{} (deleted)", std::string_view{name_, size_});
  }

 private:
  const u8 size_;
  char name_[249];
};

}  // namespace

UnnamedInode::UnnamedInode(FileType type, u32 permissions)
    : Inode{anonymous_files(), type}, number_{next_anonymous_number()}, kept_{permissions} {
  if (const Thread* maker = this_core().executive->current()) {
    const Credentials& credentials = maker->credentials();
    kept_.set_owner(credentials.user.files, credentials.group.files);
  }
}

Attributes UnnamedInode::attributes() {
  Attributes a;
  a.device = file_system().device();
  a.inode = number_;
  a.type = type();
  kept_.tell(a);
  return a;
}

Result<void> UnnamedInode::change(const AttributeChange& change) {
  kept_.change(change);
  return {};
}

Result<void> initialise_anonymous_files() {
  Ref<RamFileSystem> made = TRY(RamFileSystem::create("tmpfs", memory::page_statistics().total / 2));
  files = made.release();
  for (size_t i = 0; i < std::size(labels); ++i) inodes[i] = TRY(memory::make<AnonymousInode>(labels[i]));
  return {};
}

FileSystem& anonymous_files() {
  return *files;
}

u64 next_anonymous_number() {
  return next_number.fetch_add(1, Order::relaxed);
}

Ref<Inode> anonymous_inode(AnonymousKind kind) {
  return Ref<Inode>::share(*inodes[static_cast<u8>(kind)]);
}

bool is_anonymous(const Inode& inode, AnonymousKind kind) {
  return &inode == inodes[static_cast<u8>(kind)];
}

Result<Ref<Inode>> make_memory_file(std::string_view name, bool sealable) {
  Ref<MemoryFile> file = Ref<MemoryFile>::adopt(TRY(memory::make<MemoryFile>(*files, name)));
  if (sealable) file->set_seals(0);
  return Ref<Inode>{file};
}

}  // namespace corral::fs
