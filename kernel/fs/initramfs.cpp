// See initramfs.h.
#include "fs/initramfs.h"

#include "fs/newc.h"
#include "fs/path_cursor.h"
#include "fs/ram/ram_directory.h"
#include "fs/ram/ram_file.h"
#include "memory/heap.h"
#include "trace/log.h"

namespace corral::fs {

namespace {

// A file that the archive holds under several names, which share its inode number; the contents come with the last.
struct HardLink {
  HardLink* next;
  u32 device_major, device_minor, inode;
  Ref<RamNode> file;
};

class Unpacker {
 public:
  explicit Unpacker(RamFileSystem& root) : root_{root} {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() {
    while (links_ != nullptr) {
      HardLink* gone = links_;
      links_ = gone->next;
      delete gone;
    }
  }

  Result<void> make(const NewcEntry& entry);

 private:
  // The directory that holds the last name of `path`, made with its parents where they are missing.
  Result<Ref<RamDirectory>> directory_of(std::string_view path, std::string_view& last);
  Result<Ref<RamNode>> file_for(RamDirectory& directory, std::string_view name, const NewcEntry& entry);
  HardLink* linked(const NewcEntry& entry);

  RamFileSystem& root_;
  HardLink* links_ = nullptr;
};

Result<Ref<RamDirectory>> Unpacker::directory_of(std::string_view path, std::string_view& last) {
  Ref<Inode> here = root_.root();
  PathCursor cursor{path};
  for (;;) {
    const std::string_view name = cursor.next();
    if (name.size() > name_max) return Errno::enametoolong;
    if (cursor.at_end()) {
      last = name;
      return Ref<RamDirectory>::share(static_cast<RamDirectory&>(*here));
    }
    Result<Ref<Inode>> found = here->lookup(name);
    here = found.ok() ? found.take() : TRY(here->create(name, {.type = FileType::directory, .permissions = 0755}));
    if (!here->is_directory()) return Errno::enotdir;
  }
}

HardLink* Unpacker::linked(const NewcEntry& entry) {
  for (HardLink* link = links_; link != nullptr; link = link->next) {
    if (link->inode == entry.inode && link->device_major == entry.device_major && link->device_minor == entry.device_minor) {
      return link;
    }
  }
  return nullptr;
}

Result<Ref<RamNode>> Unpacker::file_for(RamDirectory& directory, std::string_view name, const NewcEntry& entry) {
  const FileType type = type_of_mode(entry.mode);
  if (type != FileType::directory && entry.links > 1) {
    if (HardLink* link = linked(entry)) {
      TRY(directory.link(name, *link->file));
      return link->file;
    }
  }
  Creation creation{.type = type, .permissions = entry.mode & 07777};
  creation.special = {entry.special_major, entry.special_minor};
  if (type == FileType::symlink) creation.target = {reinterpret_cast<const char*>(entry.data.data()), entry.data.size()};
  Ref<Inode> made = TRY(directory.create(name, creation));
  Ref<RamNode> file = Ref<RamNode>::share(static_cast<RamNode&>(*made));
  if (type != FileType::directory && entry.links > 1) {
    HardLink* link = TRY(memory::make<HardLink>(links_, entry.device_major, entry.device_minor, entry.inode, file));
    links_ = link;
  }
  return file;
}

Result<void> Unpacker::make(const NewcEntry& entry) {
  const FileType type = type_of_mode(entry.mode);
  Ref<RamNode> file;
  if (entry.name == ".") {
    Ref<Inode> root = root_.root();
    file = Ref<RamNode>::share(static_cast<RamNode&>(*root));
  } else {
    std::string_view last;
    Ref<RamDirectory> directory = TRY(directory_of(entry.name, last));
    if (last == ".") return {};
    const Result<Ref<Inode>> existing = directory->lookup(last);
    if (existing.ok() && type == FileType::directory && existing.value()->is_directory()) {
      file = Ref<RamNode>::share(static_cast<RamNode&>(*existing.value()));
    } else {
      if (existing.ok()) {  // a later archive replaces the files of an earlier one
        if (existing.value()->is_directory()) return Errno::eisdir;
        TRY(directory->unlink(last));
      }
      file = TRY(file_for(*directory, last, entry));
    }
  }
  if (type == FileType::regular && !entry.data.empty()) static_cast<RamFile&>(*file).set_origin(entry.data);
  TRY(file->change({.set_permissions = true,
                    .set_user = true,
                    .set_group = true,
                    .permissions = entry.mode & 07777,
                    .user = entry.user,
                    .group = entry.group}));
  file->set_times(i64{entry.modified} * 1'000'000'000);
  return {};
}

}  // namespace

Result<UnpackReport> unpack_initramfs(RamFileSystem& root, std::span<const u8> archive) {
  NewcReader reader{archive};
  Unpacker unpacker{root};
  UnpackReport report;
  NewcEntry entry;
  while (reader.next(entry)) {
    const Result<void> made = unpacker.make(entry);
    if (!made.ok()) {
      log::error("initramfs: \"{}\" could not be made (error {})", entry.name, made.error());
      if (made.error() == Errno::enomem) return Errno::enomem;
      continue;
    }
    ++report.entries;
    report.bytes += entry.data.size();
  }
  if (reader.problem() != NewcProblem::none) {
    log::error("initramfs: at byte {} of {}: {}", reader.offset(), archive.size(), describe(reader.problem()));
    return Errno::einval;
  }
  return report;
}

}  // namespace corral::fs
