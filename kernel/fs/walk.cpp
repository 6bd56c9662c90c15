// Walking paths. See walk.h.
#include "fs/walk.h"

#include "fs/mounts.h"
#include "fs/path_cursor.h"
#include "fs/permission.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

// The text of a path while symbolic links are put in front of what remains of it.
class LinkText {
 public:
  LinkText() = default;
  LinkText(const LinkText&) = delete;
  LinkText& operator=(const LinkText&) = delete;
  ~LinkText() {
    memory::release(buffer_[0]);
    memory::release(buffer_[1]);
  }
  // The link's target, a slash, and `rest` (which may lie in the other buffer).
  Result<std::string_view> replace(Inode& link, std::string_view rest, bool slash) {
    current_ ^= 1;
    char*& to = buffer_[current_];
    if (to == nullptr) to = static_cast<char*>(memory::allocate(path_max));
    if (to == nullptr) return Errno::enomem;
    const std::string_view target = TRY(link.read_link({to, path_max}));
    if (target.empty()) return Errno::enoent;
    u64 size = target.size();
    if (size + 1 + rest.size() >= path_max) return Errno::enametoolong;
    if (slash || !rest.empty()) to[size++] = '/';
    memcpy(to + size, rest.data(), rest.size());
    return std::string_view{to, size + rest.size()};
  }

 private:
  char* buffer_[2] = {};
  u32 current_ = 0;
};

}  // namespace

Result<Ref<Inode>> parent_of(Inode& directory, const Inode& root) {
  Ref<Inode> here = Ref<Inode>::share(directory);
  for (;;) {
    if (here.get() == &root) return here;
    Ref<Inode> above = TRY(here->parent());
    if (above.get() != here.get()) return mounts::cross(above);
    Ref<Inode> covered = mounts::covered_by(*here);  // the root of its file system
    if (!covered) return here;
    here = covered;
  }
}

void Walk::remember(std::string_view name) {
  memcpy(name_, name.data(), name.size());
  name_size_ = name.size();
}

namespace {

Result<void> check_same_mount(const WalkStart& start, const Inode& from, const Inode& to) {
  const bool forbidden = (start.restrictions & resolve_no_mounts) != 0;
  return forbidden && &from.file_system() != &to.file_system() ? Result<void>{Errno::exdev} : Result<void>{};
}

}  // namespace

// To where `path` begins: the root for an absolute one, else where the walk is.
Result<void> Walk::go_to_start(const WalkStart& start, std::string_view path) {
  end = is_absolute(path) ? End::root : End::dot;
  file = directory;
  if (is_absolute(path)) {
    if ((start.restrictions & resolve_beneath) != 0) return Errno::exdev;
    file = start.root;
    TRY(check_same_mount(start, *directory, *file));
  }
  directory = file;
  return {};
}

// One name, seen from `file`, which is a directory.
Result<void> Walk::step(const WalkStart& start, std::string_view name) {
  if (start.credentials != nullptr) TRY(permission::check(*file, *start.credentials, may_execute));
  if (name.size() > name_max) return Errno::enametoolong;
  directory = file;
  if (name == ".") {
    end = End::dot;
    return {};
  }
  if (name == "..") {
    end = End::dot_dot;
    if ((start.restrictions & resolve_beneath) != 0 && directory.get() == start.directory.get()) return Errno::exdev;
    file = TRY(parent_of(*directory, *start.root));
    return check_same_mount(start, *directory, *file);
  }
  end = End::name;
  remember(name);
  Result<Ref<Inode>> found = directory->lookup(name);
  if (found.ok()) {
    file = mounts::cross(found.take(), (start.restrictions & walk_unnoticed) == 0);
    TRY(check_same_mount(start, *directory, *file));
  } else if (found.error() == Errno::enoent) {
    file = {};
  } else {
    return found.error();
  }
  return {};
}

Result<void> Walk::run(const WalkStart& start, std::string_view path, Follow follow) {
  if (path.empty()) return Errno::enoent;
  if (path.size() >= path_max) return Errno::enametoolong;
  LinkText text;
  u32 links = 0;
  directory = is_absolute(path) && !start.directory ? start.root : start.directory;
  TRY(go_to_start(start, path));
  PathCursor cursor{path};
  while (!cursor.at_end()) {
    const std::string_view name = cursor.next();
    const bool last = cursor.at_end();
    must_be_directory = cursor.slash_follows();
    if (!file->is_directory()) return Errno::enotdir;
    TRY(step(start, name));
    if (!file) {
      if (!last) return Errno::enoent;
      return {};
    }
    const bool names_link = last && (follow == Follow::never || (follow == Follow::no && !must_be_directory));
    if (file->type() == FileType::symlink && !names_link) {
      if (++links > max_symlinks || (start.restrictions & resolve_no_links) != 0) return Errno::eloop;
      if (file->file_system().forbids(mount_no_links)) return Errno::eloop;
      if (start.thread != nullptr) {
        Ref<Inode> target = TRY(file->follow(*start.thread));
        if (target) {
          if ((start.restrictions & resolve_no_magic_links) != 0) return Errno::eloop;
          if ((start.restrictions & (resolve_beneath | resolve_in_root)) != 0) return Errno::exdev;
          TRY(check_same_mount(start, *file, *target));
          file = target;
          continue;
        }
      }
      const std::string_view rest = TRY(text.replace(*file, cursor.rest(), must_be_directory));
      TRY(go_to_start(start, rest));
      cursor = PathCursor{rest};
    }
  }
  if (must_be_directory && follow != Follow::never && !file->is_directory()) return Errno::enotdir;
  return {};
}

Result<Ref<Inode>> find(const WalkStart& start, std::string_view path, Follow follow) {
  Walk walk;
  TRY(walk.run(start, path, follow));
  if (!walk.file) return Errno::enoent;
  return walk.file;
}

Result<std::string_view> path_below(Inode& file, const Inode& root, std::span<char> to, bool* is_below) {
  char name[name_max];
  u64 start = to.size();  // the text grows from the end of `to` towards its beginning
  Ref<Inode> here = Ref<Inode>::share(file);
  while (here.get() != &root) {
    Ref<Inode> above = TRY(here->parent());
    if (above.get() == here.get()) {
      Ref<Inode> covered = mounts::covered_by(*here);
      if (!covered) {
        if (is_below != nullptr) *is_below = false;
        break;
      }
      here = covered;
      continue;
    }
    const std::string_view piece = TRY(here->name(name));
    if (piece.size() + 1 > start) return Errno::erange;
    start -= piece.size();
    memcpy(to.data() + start, piece.data(), piece.size());
    to[--start] = '/';
    here = mounts::cross(above);
  }
  if (start == to.size()) {
    if (start == 0) return Errno::erange;
    to[--start] = '/';
  }
  return std::string_view{to.data() + start, to.size() - start};
}

Result<std::string_view> path_of(Inode& file, std::span<char> to) {
  const Ref<Inode> root = mounts::root();
  return path_below(file, *root, to);
}

}  // namespace corral::fs
