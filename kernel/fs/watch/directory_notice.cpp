// See directory_notice.h.
#include "fs/watch/directory_notice.h"

#include "fs/inode.h"
#include "fs/watch/notices.h"

namespace corral::fs {

Result<void> DirectoryNotice::set(const Ref<Inode>& directory, const void* owner, u32 wanted) {
  owner_.store(owner, Order::relaxed);
  wanted |= wanted_.fetch_or(wanted, Order::relaxed);
  u32 mask = 0;
  if ((wanted & accessed) != 0) mask |= notices::accessed;
  if ((wanted & modified) != 0) mask |= notices::modified;
  if ((wanted & created) != 0) mask |= notices::created | notices::moved_to;
  if ((wanted & deleted) != 0) mask |= notices::deleted | notices::moved_from;
  if ((wanted & renamed) != 0) mask |= notices::moved_from | notices::moved_to;
  if ((wanted & attributes) != 0) mask |= notices::attributes_changed;
  if ((wanted & again) == 0) mask |= watch_once;
  (void)TRY(watch(directory, mask));
  return {};
}

void DirectoryNotice::end() {
  wanted_.store(0, Order::relaxed);
  close();
}

void DirectoryNotice::closed(const void* owner) {
  if (owner_.load(Order::relaxed) == owner) end();
}

bool DirectoryNotice::post(i32, u32 event, u32 cookie, std::string_view) {
  const u32 wanted = wanted_.load(Order::relaxed);
  u32 told = 0;
  if ((event & notices::moved_from) != 0) {
    last_cookie_ = cookie;
    if ((wanted & deleted) != 0) ++told;
  } else if ((event & notices::moved_to) != 0) {
    if ((wanted & created) != 0) ++told;
    if ((wanted & renamed) != 0 && cookie == last_cookie_) ++told;  // from here to here
  } else if ((event & notices::all_events) != 0) {
    ++told;
  }
  if (told == 0) return false;
  if ((wanted & again) == 0) {
    told = 1;
    wanted_.store(0, Order::relaxed);
  }
  signals_->note_messages(told);
  return true;
}

}  // namespace corral::fs
