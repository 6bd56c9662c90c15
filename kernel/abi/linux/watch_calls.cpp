// inotify_init, inotify_init1, inotify_add_watch, inotify_rm_watch. The order of the checks is Linux's.
// Source: Linux man-pages inotify(7) and those of the calls.
#include "abi/linux/file_handlers.h"
#include "fs/watch/notices.h"
#include "fs/watch/watch_queue.h"

namespace corral::abi {

namespace {

Result<i64> make(Call& call, u32 flags) {
  if ((flags & ~(fs::o_cloexec | fs::o_nonblock)) != 0) return Errno::einval;
  Ref<fs::OpenFile> file = TRY(fs::make_watch_file(flags & fs::o_nonblock));
  const bool marked = (flags & fs::o_cloexec) != 0;
  return i64{TRY(resources_of(call).files().install(file, marked, call.process.limits.open_files))};
}

Result<i64> sys_inotify_init(Call& call) {
  return make(call, 0);
}

Result<i64> sys_inotify_init1(Call& call) {
  return make(call, static_cast<u32>(call.argument[0]));
}

Result<i64> sys_inotify_add_watch(Call& call) {
  constexpr u32 known = fs::notices::all_events | fs::notices::unmounted | fs::notices::overflow | fs::notices::ignored |
                        fs::notices::of_directory | fs::watch_only_directory | fs::watch_no_follow | fs::watch_not_unlinked |
                        fs::watch_create | fs::watch_add | fs::watch_once;
  const u32 mask = static_cast<u32>(call.argument[2]);
  if ((mask & known) == 0) return Errno::einval;
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  if ((mask & fs::watch_add) != 0 && (mask & fs::watch_create) != 0) return Errno::einval;
  fs::WatchQueue* queue = fs::watch_queue_of(*file);
  if (queue == nullptr) return Errno::einval;
  NamedFile named;
  Ref<fs::Inode> watched = TRY(named.existing(call, fs::at_fdcwd, call.address(1), follow_unless(mask, fs::watch_no_follow)));
  if ((mask & fs::watch_only_directory) != 0 && !watched->is_directory()) return Errno::enotdir;
  return i64{TRY(queue->watch(watched, mask))};
}

Result<i64> sys_inotify_rm_watch(Call& call) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  fs::WatchQueue* queue = fs::watch_queue_of(*file);
  if (queue == nullptr) return Errno::einval;
  return success(queue->forget(call.number(1)));
}

constexpr Entry entries[] = {
    {253, "inotify_init", sys_inotify_init},
    {254, "inotify_add_watch", sys_inotify_add_watch},
    {255, "inotify_rm_watch", sys_inotify_rm_watch},
    {294, "inotify_init1", sys_inotify_init1},
};

}  // namespace

std::span<const Entry> watch_calls() {
  return entries;
}

}  // namespace corral::abi
