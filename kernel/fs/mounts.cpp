// The table of mounts. See mounts.h.
#include "fs/mounts.h"

#include "device/clock.h"
#include "fs/step_memory.h"
#include "fs/watch/notices.h"
#include "lib/intrusive_list.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::mounts {

namespace {

constinit SpinLock table_lock{Rank::directory, "mounts"};
constinit IntrusiveList<Mount, &Mount::link> table GUARDED_BY(table_lock);

constinit PollSource watchers{table_lock};
constinit u64 changes GUARDED_BY(table_lock) = 0;

void tell_change() REQUIRES(table_lock) {
  ++changes;
  watchers.notify(poll_err | poll_pri);
}

template <size_t Size>
void set_text(char (&to)[Size], std::string_view text) {
  const u64 size = smaller(text.size(), Size - 1);
  memcpy(to, text.data(), size);
  to[size] = 0;
}

Mount* mount_of(const FileSystem& file_system) REQUIRES(table_lock) {
  for (Mount* mount = table.front(); mount != nullptr; mount = table.next(*mount)) {
    if (mount->file_system.get() == &file_system) return mount;
  }
  return nullptr;
}

}  // namespace

Result<void> set_root(Ref<FileSystem> file_system) {
  Mount* mount = TRY(memory::make<Mount>());
  mount->file_system = static_cast<Ref<FileSystem>&&>(file_system);
  mount->permanent = true;
  set_text(mount->source, "initramfs");
  set_text(mount->path, "/");
  LockGuard guard{table_lock};
  table.push_front(*mount);
  return {};
}

Ref<Inode> root() {
  Ref<FileSystem> file_system;
  {
    LockGuard guard{table_lock};
    file_system = table.front()->file_system;
  }
  return file_system->root();
}

Result<void> replace_root(Ref<FileSystem> file_system, std::string_view source, std::span<const Moved> moved) {
  IntrusiveList<Mount, &Mount::link> gone;
  Mount* root = TRY(memory::make<Mount>());
  root->file_system = static_cast<Ref<FileSystem>&&>(file_system);
  root->permanent = true;
  set_text(root->source, source);
  set_text(root->path, "/");
  constexpr u32 most_moved = 16;
  Ref<Inode> before[most_moved];
  {
    LockGuard guard{table_lock};
    u32 count = 0;
    gone.push_back(*table.pop_front());
    for (Mount* mount = table.front(); mount != nullptr;) {
      Mount* next = table.next(*mount);
      if (&mount->covered->file_system() != gone.front()->file_system.get()) {  // below one that is moved
        mount = next;
        continue;
      }
      const Moved* place = nullptr;
      for (const Moved& m : moved) {
        if (m.path == static_cast<const char*>(mount->path)) place = &m;
      }
      mount->covered->covered.store(false, Order::release);
      if (place == nullptr || count == most_moved) {
        IntrusiveList<Mount, &Mount::link>::remove(*mount);
        gone.push_back(*mount);
      } else {
        before[count++] = std::exchange(mount->covered, place->directory);
        place->directory->covered.store(true, Order::release);
      }
      mount = next;
    }
    table.push_front(*root);
    tell_change();
  }
  while (Mount* mount = gone.pop_front()) delete mount;
  return {};
}

Result<Mount*> prepare(Inode& directory, std::string_view path, std::string_view source) {
  if (!directory.is_directory()) return Errno::enotdir;
  if (path.size() >= sizeof(Mount::path)) return Errno::enametoolong;
  Mount* mount = TRY(memory::make<Mount>());
  mount->covered = Ref<Inode>::share(directory);
  set_text(mount->source, source);
  set_text(mount->path, path);
  return mount;
}

Result<void> add(Mount* prepared, Ref<FileSystem> file_system) {
  prepared->file_system = static_cast<Ref<FileSystem>&&>(file_system);
  {
    LockGuard guard{table_lock};
    Atomic<bool>& covered = prepared->covered->covered;
    if (!covered.load(Order::relaxed)) {
      covered.store(true, Order::release);
      table.push_back(*prepared);
      tell_change();
      return {};
    }
  }
  delete prepared;
  return Errno::ebusy;
}

Result<void> add(Inode& directory, Ref<FileSystem> file_system, std::string_view path, std::string_view source,
                 bool permanent) {
  Mount* mount = TRY(prepare(directory, path, source));
  mount->permanent = permanent;
  return add(mount, static_cast<Ref<FileSystem>&&>(file_system));
}

namespace {

// eagain: the kernel itself used a file of it.
Result<void> try_to_remove(Inode& directory, UnmountProgress& progress, bool lazy) {
  if (!directory.is_directory()) return Errno::einval;
  Mount* mount = nullptr;
  Ref<FileSystem> file_system;
  {
    const Result<Ref<Inode>> above = directory.parent();
    if (!above.ok() || above.value().get() != &directory) return Errno::einval;  // inside, not the root of it
  }
  {
    LockGuard guard{table_lock};
    mount = mount_of(directory.file_system());
    if (mount == nullptr) return Errno::einval;
    if (mount->permanent) return Errno::ebusy;
    file_system = mount->file_system;
  }
  TRY(file_system->prepare_unmount(progress, lazy));
  {
    LockGuard guard{table_lock};
    mount = mount_of(directory.file_system());
    if (mount == nullptr) return Errno::einval;  // another thread was first
    const Users users = file_system->users();
    if (users != Users::none && !lazy) return users == Users::kernel ? Errno::eagain : Errno::ebusy;
    mount->covered->covered.store(false, Order::release);
    IntrusiveList<Mount, &Mount::link>::remove(*mount);
    tell_change();
  }
  notices::gone(*mount->file_system);  // what is only watched is let go of before it is looked at what is in use
  mount->file_system->dismantle();
  delete mount;
  return {};
}

}  // namespace

Result<void> remove(Inode& directory, UnmountProgress& progress, bool lazy) {
  constexpr u64 most_looks = 2000;
  constexpr Duration soon = milliseconds(1);
  const Result<void> removed = try_to_remove(directory, progress, lazy);
  if (removed.ok() || removed.error() != Errno::eagain) return removed;
  if (progress.looks == most_looks) return Errno::ebusy;
  progress = {.looks = progress.looks + 1};
  Thread& thread = stepping_thread();
  if (StepMemory* memory = StepMemory::find(thread)) memory->forget_operations();  // what was flushed is to be flushed again
  return thread.pause_until(clock::now() + soon);
}

Result<void> expire(Inode& directory) {
  const Result<Ref<Inode>> above = directory.parent();
  if (!above.ok() || above.value().get() != &directory) return Errno::einval;
  LockGuard guard{table_lock};
  Mount* mount = mount_of(directory.file_system());
  if (mount == nullptr) return Errno::einval;
  return std::exchange(mount->expiring, true) ? Result<void>{} : Errno::eagain;
}

Ref<Inode> cross(Ref<Inode> directory, bool noticed) {
  while (directory->covered.load(Order::acquire)) {
    Ref<FileSystem> found;
    {
      LockGuard guard{table_lock};
      for (Mount* mount = table.front(); mount != nullptr; mount = table.next(*mount)) {
        if (mount->covered.get() != directory.get()) continue;
        found = mount->file_system;
        if (noticed) mount->expiring = false;
      }
    }
    Ref<Inode> root = found ? found->root() : Ref<Inode>{};
    if (!root) break;  // it has just been unmounted
    directory = static_cast<Ref<Inode>&&>(root);
  }
  return directory;
}

Ref<Inode> covered_by(Inode& file_system_root) {
  LockGuard guard{table_lock};
  Mount* mount = mount_of(file_system_root.file_system());
  return mount == nullptr ? Ref<Inode>{} : mount->covered;
}

u64 version(PollEntry* entry) {
  LockGuard guard{table_lock};
  if (entry != nullptr) watchers.enlist(*entry);
  return changes;
}

void note_change() {
  LockGuard guard{table_lock};
  tell_change();
}

void for_each(void (*visit)(void* context, const Mount& mount), void* context) {
  LockGuard guard{table_lock};
  table.for_each([&](Mount& mount) { visit(context, mount); });
}

}  // namespace corral::fs::mounts
