// Watches, and telling them. See notices.h and watch_queue.h.
//
// A watch that ends is taken out of its lists under the lock; its file is let go of after that, since that may be its end.
#include "fs/watch/notices.h"

#include "fs/watch/watch_queue.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

constinit SpinLock all_watches{Rank::file_watches, "file watches"};
constinit Atomic<u32> watch_count{0};
constinit Atomic<u32> next_cookie{1};

// The list of a file's watches.
FileWatch* first_of(const Inode& file) {
  return file.watches.load(Order::relaxed);
}

// Watches that were taken out, to be let go of without the lock.
class Ended {
 public:
  Ended() = default;
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;
  ~Ended() {
    while (first_ != nullptr) {
      FileWatch* watch = std::exchange(first_, first_->next);
      delete watch;
    }
  }
  // Takes the watch out of its lists; its watcher is told.
  void end(FileWatch& watch) REQUIRES(all_watches) {
    FileWatch* at = first_of(*watch.file);
    if (at == &watch) {
      watch.file->watches.store(watch.next, Order::relaxed);
    } else {
      while (at->next != &watch) at = at->next;
      at->next = watch.next;
    }
    watch.watcher.watches.remove(watch);
    WatchesOfFileSystem& others = watch.file->file_system().watches;
    others.list.remove(watch);
    --others.count;
    watch_count.fetch_sub(1, Order::relaxed);
    watch.watcher.post(watch.number, notices::ignored, 0, {});
    watch.next = first_;
    first_ = &watch;
  }

 private:
  FileWatch* first_ = nullptr;
};

// Tells those who watch `file`; `event` with of_directory where that holds.
void tell_watchers(Inode& file, u32 event, u32 cookie, std::string_view name, Ended& ended) {
  if (first_of(file) == nullptr) return;
  LockGuard guard{all_watches};
  FileWatch* following = nullptr;
  for (FileWatch* watch = first_of(file); watch != nullptr; watch = following) {
    following = watch->next;
    if ((watch->mask & event & notices::all_events) == 0) continue;
    const bool told = watch->watcher.post(watch->number, event, cookie, name);
    if (told && (watch->mask & watch_once) != 0) ended.end(*watch);
  }
}

// The file is no more: so are its watches.
void tell_end(Inode& file, u32 event) {
  Ended ended;
  tell_watchers(file, event, 0, {}, ended);
  LockGuard guard{all_watches};
  while (FileWatch* watch = first_of(file)) ended.end(*watch);
}

// It has no name any more, nobody has it open: those who watch it were the last to know it.
void end_if_gone(Inode& file, bool without_name) {
  if (without_name && file.opens.load(Order::relaxed) == 0) tell_end(file, notices::self_deleted);
}

u32 kind_of(const Inode& file) {
  return file.is_directory() ? notices::of_directory : 0;
}

}  // namespace

FileWatch::FileWatch(Watcher& owner, Ref<Inode> watched, i32 its_number, u32 wanted)
    : watcher{owner}, file{static_cast<Ref<Inode>&&>(watched)}, number{its_number}, mask{wanted} {}

FileWatch::~FileWatch() = default;

// ---- watches -------------------------------------------------------------------------------------------------------------

Result<i32> Watcher::watch(const Ref<Inode>& file, u32 mask) {
  constexpr u32 kept = notices::all_events | watch_not_unlinked | watch_once;
  LockGuard guard{all_watches};
  for (FileWatch* watch = first_of(*file); watch != nullptr; watch = watch->next) {
    if (&watch->watcher != this) continue;
    if ((mask & watch_create) != 0) return Errno::eexist;
    watch->mask = ((mask & watch_add) != 0 ? watch->mask : 0) | (mask & kept);
    return watch->number;
  }
  if (watch_count.load(Order::relaxed) >= WatchLimits::watches.value()) return Errno::enospc;
  auto* made = new (std::nothrow) FileWatch(*this, file, last_number + 1, mask & kept);
  if (made == nullptr) return Errno::enomem;
  ++last_number;
  made->next = file->watches.load(Order::relaxed);
  file->watches.store(made, Order::relaxed);
  watches.insert(*made);
  WatchesOfFileSystem& others = file->file_system().watches;
  others.list.push_back(*made);
  ++others.count;
  watch_count.fetch_add(1, Order::relaxed);
  return made->number;
}

Result<void> Watcher::forget(i32 number) {
  Ended ended;
  LockGuard guard{all_watches};
  FileWatch* watch = watches.first_where([&](const FileWatch& one) { return one.number <= number; });
  if (watch == nullptr || watch->number != number) return Errno::einval;
  ended.end(*watch);
  return {};
}

WatchQueue::Watched WatchQueue::watched_below(i64 before) {
  LockGuard guard{all_watches};
  const FileWatch* watch = watches.first_where([&](const FileWatch& one) { return one.number < before; });
  if (watch == nullptr) return {};
  return {watch->number, watch->mask, watch->file};
}

void Watcher::close() {
  Ended ended;
  LockGuard guard{all_watches};
  while (FileWatch* watch = watches.first()) ended.end(*watch);
}

// ---- notices -------------------------------------------------------------------------------------------------------------

namespace notices {

Atomic<u32>& watches() {
  return watch_count;
}

SpinLock& lock() {
  return all_watches;
}

namespace detail {

void tell_alone(Inode& file, u32 event) {
  Ended ended;
  tell_watchers(file, event | kind_of(file), 0, {}, ended);
}

void tell(Inode& file, u32 event) {
  Ended ended;
  event |= kind_of(file);
  char text[name_max];
  const Result<Ref<Inode>> parent = file.parent();
  if (parent.ok() && parent.value().get() != &file && first_of(*parent.value()) != nullptr) {
    const Result<std::string_view> name = file.name(text);
    if (name.ok()) tell_watchers(*parent.value(), event, 0, name.value(), ended);
  }
  tell_watchers(file, event, 0, {}, ended);
}

void tell_name(Inode& directory, std::string_view name, u32 event, bool is_directory, u32 cookie) {
  Ended ended;
  tell_watchers(directory, event | (is_directory ? of_directory : 0), cookie, name, ended);
}

// As on Linux a directory's watchers are told before those of the one that it was in, a file's after them.
void tell_deleted(Inode& directory, std::string_view name, Inode& file) {
  if (file.is_directory()) {
    end_if_gone(file, true);
    tell_name(directory, name, deleted, true, 0);
    return;
  }
  tell_alone(file, attributes_changed);
  tell_name(directory, name, deleted, false, 0);
  if (first_of(file) != nullptr) end_if_gone(file, file.attributes().links == 0);
}

void tell_moved(Inode& from, std::string_view name, Inode& to, std::string_view new_name, Inode& file, Inode* replaced) {
  const u32 cookie = next_cookie.fetch_add(1, Order::relaxed);
  tell_name(from, name, moved_from, file.is_directory(), cookie);
  tell_name(to, new_name, moved_to, file.is_directory(), cookie);
  if (replaced != nullptr && first_of(*replaced) != nullptr) {
    tell_alone(*replaced, attributes_changed);
    end_if_gone(*replaced, replaced->is_directory() || replaced->attributes().links == 0);
  }
  Ended ended;
  tell_watchers(file, self_moved, 0, {}, ended);
}

void tell_closed(OpenFile& file) {
  const bool could_write = (file.flags() & o_accmode) != o_rdonly;
  Inode& inode = file.inode();
  if ((file.flags() & o_path) == 0) tell(inode, could_write ? closed_written : closed_unwritten);
  if (first_of(inode) == nullptr) return;
  const bool nameless = inode.is_directory() ? !inode.parent().ok() : inode.attributes().links == 0;
  end_if_gone(inode, nameless);
}

void tell_unmounted(FileSystem& file_system) {
  for (;;) {
    Ref<Inode> file;
    {
      LockGuard guard{all_watches};
      FileWatch* watch = file_system.watches.list.front();
      if (watch == nullptr) return;
      file = watch->file;
    }
    {
      LockGuard guard{all_watches};
      for (FileWatch* watch = first_of(*file); watch != nullptr; watch = watch->next) {
        watch->watcher.post(watch->number, unmounted | kind_of(*file), 0, {});
      }
    }
    tell_end(*file, 0);
  }
}

}  // namespace detail
}  // namespace notices
}  // namespace corral::fs
