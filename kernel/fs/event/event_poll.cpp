// The watches of an epoll instance: adding, changing, removing. See event_poll.h; collecting is in event_collect.cpp.
#include "fs/event/event_poll.h"

#include "fs/inode.h"
#include "fs/text_buffer.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"

namespace corral::fs {

namespace {

constinit SpinLock links_lock{Rank::poll_nesting, "watches of files"};
constinit Atomic<u64> watch_count{0};

// As Linux: watches may take a 25th of memory.
u64 most_watches() {
  return memory::total_pages() * page_size / 25 / sizeof(EventWatch);
}

}  // namespace

EventWatch::EventWatch(EventPoll& owner, OpenFile& file, int descriptor, const Event& event)
    : owner_{Ref<EventPoll>::share(owner)},
      file_{file},
      descriptor_{descriptor},
      plain_{file.polls_without_lock()},
      event_{event} {
  watch_count.fetch_add(1, Order::relaxed);
}

EventWatch::~EventWatch() {
  watch_count.fetch_sub(1, Order::relaxed);
}

EventWatch* EventPoll::find(const OpenFile& file, int descriptor) {
  EventWatch* found = watches_.first_where(
      [&](const EventWatch& watch) { return &watch.file_ != &file ? &watch.file_ > &file : watch.descriptor_ >= descriptor; });
  return found != nullptr && &found->file_ == &file && found->descriptor_ == descriptor ? found : nullptr;
}

// The watch is linked to its file before it is in the instance, and asks the file after that: so whoever finds it in the
// instance can undo everything.
Result<void> EventPoll::add(OpenFile& file, int descriptor, const Event& event, EventPoll* nested) {
  if (watch_count.load(Order::relaxed) >= most_watches()) return Errno::enospc;
  Ref<EventWatch> watch = Ref<EventWatch>::adopt(TRY(memory::make<EventWatch>(*this, file, descriptor, event)));
  watch->entry_.join(*watch, (event.bits & epoll_exclusive) != 0);
  watch->entry_.want(event.bits);
  TRY(link(*watch, nested));
  const bool fresh = [&] {
    LockGuard guard{lock_};
    if (find(file, descriptor) != nullptr) return false;
    watches_.insert(*watch);
    watch->retain();  // the instance's
    return true;
  }();
  if (!fresh) {
    watch->retain();
    release(*watch);
    return Errno::eexist;
  }
  look(*watch, file);
  return {};
}

Result<void> EventPoll::modify(OpenFile& file, int descriptor, const Event& event) {
  Ref<EventWatch> watch;
  {
    LockGuard guard{lock_};
    EventWatch* found = find(file, descriptor);
    if (found == nullptr) return Errno::enoent;
    if ((found->event_.bits & epoll_exclusive) != 0) return Errno::einval;
    found->event_ = event;
    found->entry_.want(event.bits);
    watch = Ref<EventWatch>::share(*found);
  }
  look(*watch, file);
  return {};
}

Result<void> EventPoll::remove(OpenFile& file, int descriptor) {
  EventWatch* watch = nullptr;
  {
    LockGuard guard{lock_};
    watch = find(file, descriptor);
    if (watch == nullptr || !take_out_locked(*watch)) return Errno::enoent;
  }
  release(*watch);
  return {};
}

void EventPoll::dismantle() {
  for (;;) {
    EventWatch* watch = nullptr;
    {
      LockGuard guard{lock_};
      watch = watches_.first();
      if (watch == nullptr || !take_out_locked(*watch)) return;
    }
    release(*watch);
  }
}

bool EventPoll::take_out_locked(EventWatch& watch) {
  if (watch.gone_) return false;
  watch.gone_ = true;
  watches_.remove(watch);
  if (watch.ready_link_.linked()) Watches::remove(watch);
  return true;
}

bool EventPoll::take_out(EventWatch& watch) {
  LockGuard guard{lock_};
  return take_out_locked(watch);
}

void EventPoll::look(EventWatch& watch, OpenFile& file) {
  const u32 bits = file.poll(&watch.entry_);
  bool gone = false;
  bool ready = false;
  {
    LockGuard guard{lock_};
    gone = watch.gone_;
    ready = !gone && (bits & watch.event_.bits) != 0;
    if (ready) (void)make_ready(watch);
  }
  if (gone) watch.entry_.leave();  // removed by another thread before the file was asked
  if (ready) tell_watchers();
}

// One by one, since a file cannot be asked with lock_ held.
void EventPoll::describe(TextBuffer& to) {
  const OpenFile* last = nullptr;
  int descriptor = -1;
  for (;;) {
    Ref<OpenFile> file;
    Event event{};
    {
      LockGuard guard{lock_};
      EventWatch* const watch = watches_.first_where(
          [&](const EventWatch& at) { return &at.file_ != last ? &at.file_ > last : at.descriptor_ > descriptor; });
      if (watch == nullptr) return;
      last = &watch->file_;
      descriptor = watch->descriptor_;
      event = watch->event_;
      if (!watch->file_.retain_if_alive()) continue;  // it is about to go
      file = Ref<OpenFile>::adopt(&watch->file_);
    }
    const Result<u64> position = file->seek(0, Whence::current);
    to.print("tfd: {8} events: {X 8} data: {X 16}  pos:{} ino:{X} sdev:{X}\n", descriptor, u32{event.bits}, u64{event.data},
             position.ok() ? position.value() : 0, file->inode().attributes().inode, file->inode().file_system().device());
  }
}

// ---- watches and files -------------------------------------------------------------------------------------------------

Result<void> EventPoll::link(EventWatch& watch, EventPoll* nested) {
  LockGuard guard{links_lock};
  if (nested != nullptr) {
    static constinit u64 walks = 0;
    bool found = false;
    const u32 below = nested->chain_below(*this, found, ++walks);
    if (found || below + chain_above(++walks) > max_chain) return Errno::eloop;
    watch.nested_ = nested;
    nested_.push_back(watch);
    nested->watchers_.push_back(watch);
  }
  EventWatch* first = watch.file_.watches.load(Order::relaxed);
  watch.next_ = first;
  if (first != nullptr) first->previous_ = &watch;
  watch.file_.watches.store(&watch, Order::relaxed);
  watch.linked_ = true;
  return {};
}

// The lock of the links is held.
void EventPoll::unlink(EventWatch& watch) {
  if (watch.previous_ != nullptr) {
    watch.previous_->next_ = watch.next_;
  } else {
    watch.file_.watches.store(watch.next_, Order::relaxed);
  }
  if (watch.next_ != nullptr) watch.next_->previous_ = watch.previous_;
  watch.linked_ = false;
  if (watch.nested_ != nullptr) {
    IntrusiveList<EventWatch, &EventWatch::nested_link_>::remove(watch);
    IntrusiveList<EventWatch, &EventWatch::watcher_link_>::remove(watch);
    watch.nested_ = nullptr;
  }
}

void EventPoll::release(EventWatch& watch) {
  const Ref<EventWatch> last = Ref<EventWatch>::adopt(&watch);
  Ref<OpenFile> file;
  {
    LockGuard guard{links_lock};
    // While it is linked the file is still there. If that is about to end, forget_watches() does the rest.
    if (!watch.linked_ || !watch.file_.retain_if_alive()) return;
    file = Ref<OpenFile>::adopt(&watch.file_);
    unlink(watch);
  }
  watch.entry_.leave();
}

void forget_watches(OpenFile& file) {
  for (;;) {
    Ref<EventWatch> watch;
    {
      LockGuard guard{links_lock};
      EventWatch* first = file.watches.load(Order::relaxed);
      if (first == nullptr) return;
      watch = Ref<EventWatch>::share(*first);
      EventPoll::unlink(*first);
    }
    watch->entry_.leave();
    if (watch->owner_->take_out(*watch)) watch->drop();
  }
}

// NOLINTNEXTLINE(misc-no-recursion): at most max_chain deep
u32 EventPoll::chain_below(const EventPoll& sought, bool& found, u64 walk) {
  if (this == &sought) found = true;
  if (walk_ == walk) return chain_;
  walk_ = walk;
  u32 longest = 0;
  for (EventWatch* watch = nested_.front(); watch != nullptr; watch = nested_.next(*watch)) {
    const u32 length = watch->nested_->chain_below(sought, found, walk);
    if (length > longest) longest = length;
  }
  return chain_ = longest + 1;
}

// NOLINTNEXTLINE(misc-no-recursion): at most max_chain deep
u32 EventPoll::chain_above(u64 walk) {
  if (walk_ == walk) return chain_;
  walk_ = walk;
  u32 longest = 0;
  for (EventWatch* watch = watchers_.front(); watch != nullptr; watch = watchers_.next(*watch)) {
    const u32 length = watch->owner_->chain_above(walk);
    if (length > longest) longest = length;
  }
  return chain_ = longest + 1;
}

}  // namespace corral::fs
