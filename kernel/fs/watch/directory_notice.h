// What an open directory's F_NOTIFY asks for: a signal for each change of what is in it. Source: Linux man-pages fcntl(2), "File and
// directory change notification (dnotify)".
//
// An open directory has one from the first time that it is asked for to its end. What is wanted is guarded by the lock of all watches, under which it is
// told of changes; the signals are sent when the step is over (FileSignals). It ends when the process that asked closes a descriptor of the directory.
#pragma once

#include "fs/event/file_signals.h"
#include "fs/watch/file_watch.h"
#include "lib/setting.h"

namespace corral::fs {

// 0: nobody may ask.
inline constinit Setting directory_notices_enabled{1, 0, 1};

class DirectoryNotice final : public Watcher {
 public:
  static constexpr u32 accessed = 1, modified = 2, created = 4, deleted = 8, renamed = 0x10, attributes = 0x20,
                       again = 0x8000'0000;  // DN_…

  explicit DirectoryNotice(FileSignals& signals) : signals_{Ref<FileSignals>::share(signals)} {}
  ~DirectoryNotice() { close(); }
  // Wants these as well as what it wants already. `owner`: the table of the process that asks. enospc, enomem.
  Result<void> set(const Ref<Inode>& directory, const void* owner, u32 wanted);
  void end();
  // A descriptor of that table was closed.
  void closed(const void* owner);
  bool post(i32 number, u32 event, u32 cookie, std::string_view name) override;

 private:
  const Ref<FileSignals> signals_;
  Atomic<const void*> owner_{nullptr};
  Atomic<u32> wanted_{0};
  u32 last_cookie_ = 0;  // of what was moved away from here; guarded by the lock of all watches
};

}  // namespace corral::fs
