// Files without a name: pipes, memfd_create's files in memory, and what Linux calls anonymous inodes.
#pragma once

#include "fs/inode.h"
#include "fs/kept_attributes.h"

namespace corral::fs {

// Boot context. enomem.
Result<void> initialise_anonymous_files();
// The file system that pipes belong to.
[[nodiscard]] FileSystem& anonymous_files();
[[nodiscard]] u64 next_anonymous_number();

// What pipes and sockets without a name have in common: attributes that can be changed. Its owner is whoever makes it.
class UnnamedInode : public Inode {
 public:
  [[nodiscard]] Attributes attributes() override;
  Result<void> change(const AttributeChange& change) override;

 protected:
  UnnamedInode(FileType type, u32 permissions);
  [[nodiscard]] u64 number() const { return number_; }

 private:
  const u64 number_;
  KeptAttributes kept_;
};

// A regular file in memory that no directory holds (memfd_create). `name`: what it is called in /proc, at most 249 bytes;
// without `sealable` nobody can seal it. enomem.
Result<Ref<Inode>> make_memory_file(std::string_view name, bool sealable);

// The inode of all files of one kind that have nothing of their own but what the open file does. It cannot be opened again.
enum class AnonymousKind : u8 { event_counter, event_poll, timer, file_watches, process, signals };
[[nodiscard]] Ref<Inode> anonymous_inode(AnonymousKind kind);
[[nodiscard]] bool is_anonymous(const Inode& inode, AnonymousKind kind);

}  // namespace corral::fs
