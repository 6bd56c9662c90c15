// Files whose contents are made when they are read: /proc, /sys. A directory of them is a table of nodes.
//
// A text is made whole at the first read, and again after a seek to the beginning, so that what one reader sees is
// consistent. Makers run in the reader's step with no lock held. Tables are constants; Subject says what a text is about.
#pragma once

#include "fs/inode.h"
#include "fs/text_buffer.h"

namespace corral::fs {

// What a generated file is about: zero where it does not matter.
struct Subject {
  i32 process = 0;
  i32 thread = 0;
  i32 number = 0;  // a descriptor, a core …
};

struct GeneratedDirectory;

struct Node {
  const char* name = "";
  FileType type = FileType::regular;
  u32 permissions = 0444;
  Result<void> (*text)(TextBuffer& to, const Subject& subject) = nullptr;          // regular files, and links' targets
  Result<void> (*store)(std::string_view text, const Subject& subject) = nullptr;  // what is written, one write at a time
  Result<Ref<Inode>> (*follow)(Thread& thread, const Subject& subject) = nullptr;  // links that lead to a file itself
  const GeneratedDirectory* directory = nullptr;
  // Instead of `store`: the same, which says in `why` why it refuses. The same open file then reads that, once, instead of the
  // contents: whoever wrote is told, and nobody else.
  Result<void> (*store_or_say)(std::string_view text, const Subject& subject, TextBuffer& why) = nullptr;
  // Files that are no texts: instead of all that makes, stores or follows anything.
  Result<Ref<OpenFile>> (*open)(Inode& inode, const OpenRequest& request, const Subject& subject) = nullptr;
  [[nodiscard]] constexpr bool writable() const { return store != nullptr || store_or_say != nullptr || open != nullptr; }
  // Texts whose changes can be waited for (poll: POLLERR and POLLPRI, once for each look that finds one): a number that grows with
  // each; `entry`, when given, is told of later ones.
  u64 (*version)(PollEntry* entry) = nullptr;
  // Tells of a process's memory or open files: for those who may look into it (task/authority.h).
  bool guarded = false;
};

// Names that are not in a table: processes, descriptors, cores.
struct DynamicName {
  const Node* node = nullptr;
  Subject subject{};
  i32 number = -1;  // as GeneratedDirectory::next has it; -1: the digits of the name
};

struct GeneratedDirectory {
  std::span<const Node> nodes;
  // The node for `name`; enoent.
  Result<DynamicName> (*lookup)(std::string_view name, const Subject& subject) = nullptr;
  // The next dynamic number that is greater than `previous` (-1 at first), or -1; its name is the number behind `prefix`, or
  // what name_of writes.
  i32 (*next)(i32 previous, const Subject& subject) = nullptr;
  const char* prefix = "";
  std::string_view (*name_of)(i32 number, std::span<char> to) = nullptr;
  FileType dynamic_type = FileType::directory;
  // enoent when what the directory is about has gone.
  Result<void> (*exists)(const Subject& subject) = nullptr;
};

// A file system that consists of one such tree.
Result<Ref<FileSystem>> make_generated_file_system(const char* type, u64 magic, const GeneratedDirectory& root);

}  // namespace corral::fs
