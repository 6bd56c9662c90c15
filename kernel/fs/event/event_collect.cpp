// Telling ready files: from a file's change to the events of epoll_wait. See event_poll.h.
#include "fs/anonymous.h"
#include "fs/event/event_poll.h"
#include "fs/inode.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

constexpr u32 private_bits = epoll_exclusive | epoll_wakeup | epoll_one_shot | epoll_edge;

// One for all instances: a change goes from instance to instance under it. See tell_watchers().
constinit SpinLock nesting_lock{Rank::poll_nesting, "epoll nesting"};
constinit u64 tellings = 0;  // guarded by it

class EventPollFile final : public OpenFile {
 public:
  EventPollFile(Ref<Inode> inode, Ref<EventPoll> instance)
      : OpenFile{static_cast<Ref<Inode>&&>(inode), o_rdwr}, instance_{static_cast<Ref<EventPoll>&&>(instance)} {}
  ~EventPollFile() override { instance_->dismantle(); }
  u32 poll(PollEntry* entry) override { return instance_->poll(entry); }
  [[nodiscard]] bool can_poll() const override { return true; }
  Result<u64> seek(i64, Whence) override { return u64{0}; }
  void describe(TextBuffer& to) override { instance_->describe(to); }
  [[nodiscard]] EventPoll& instance() { return *instance_; }

 private:
  Ref<EventPoll> instance_;
};

}  // namespace

EventPoll::EventPoll() : source_{nesting_lock} {}

bool EventWatch::on_change(u32 bits) {
  bool woken = false;
  {
    LockGuard guard{owner_->lock_};
    if (gone_ || (event_.bits & bits) == 0) return false;
    woken = owner_->make_ready(*this);
  }
  owner_->tell_watchers();
  return woken;
}

bool EventPoll::make_ready(EventWatch& watch) {
  ++watch.changes_;
  if (!watch.ready_link_.linked()) ready_.push_back(watch);
  return waited_for_ && (waited_for_ = waiters_.wake_one());
}

// A change reaches each instance once, by however many ways: the number of this telling marks where it has been.
void EventPoll::tell_watchers() NO_THREAD_SAFETY_ANALYSIS {  // held further up when an instance tells an instance
  if (!watched_.load(Order::relaxed)) return;
  if (nesting_lock.held_here()) {
    if (telling_ == tellings) return;
    telling_ = tellings;
    source_.notify(poll_readable);
    return;
  }
  LockGuard guard{nesting_lock};
  telling_ = ++tellings;
  source_.notify(poll_readable);
}

EventPoll::Asked EventPoll::first_to_ask() {
  while (EventWatch* watch = ready_.front()) {
    // It is in the instance, so its file is still there, if only to end.
    if (watch->file_.retain_if_alive()) return {Ref<EventWatch>::share(*watch), Ref<OpenFile>::adopt(&watch->file_)};
    Watches::remove(*watch);
  }
  return {};
}

void EventPoll::end_scan(Watches& again) {
  while (EventWatch* watch = again.pop_front()) ready_.push_back(*watch);
  --scans_;
  if (scan_end_waited_for_ && scans_ == 0) {
    scan_end_waited_for_ = false;
    (void)scan_end_wanted_.wake_all();
  }
  if (waited_for_ && !ready_.empty()) waited_for_ = waiters_.wake_one();
}

// The most frequent case: one file is on the list, and it can be asked at once. It stays there if it is to be asked again.
u64 EventPoll::collect_only(EventWatch& watch, Receiver& receiver) {
  const u32 found = watch.file_.poll(nullptr) & watch.event_.bits & ~private_bits;
  if (found != 0 && !receiver.take({found, watch.event_.data})) {
    watch.file_.not_told(found);
    return 0;
  }
  const bool again = found != 0 && (watch.event_.bits & (epoll_one_shot | epoll_edge)) == 0;
  if (!again) Watches::remove(watch);
  if (found == 0) return 0;
  if ((watch.event_.bits & epoll_one_shot) != 0) watch.event_.bits &= private_bits;
  if (again && waited_for_) waited_for_ = waiters_.wake_one();
  return 1;
}

Result<u64> EventPoll::collect(Waiter& waiter, Receiver& receiver, u64 most) {
  Watches again;  // level-triggered ones that were told
  u64 told = 0;
  Asked asked;  // files may end when they are let go of, so never under the lock
  lock_.lock();
  if (EventWatch* only = ready_.front(); only != nullptr && only == ready_.back() && only->plain_) {
    told = collect_only(*only, receiver);
    lock_.unlock();
    return told;
  }
  if (ready_.empty()) {
    scan_end_waited_for_ = scans_ > 0;
    const Errno outcome = scans_ > 0 ? scan_end_wanted_.wait_uninterruptible(waiter) : Errno{};
    lock_.unlock();
    if (outcome != Errno{}) return outcome;
    return u64{0};
  }
  ++scans_;
  while (EventWatch* next = ready_.pop_front()) {
    u32 bits = 0;
    if (next->plain_) {  // it is in the instance, so its file is still there, if only to end
      bits = next->file_.poll(nullptr);
    } else {
      if (!next->file_.retain_if_alive()) continue;
      Asked held{Ref<EventWatch>::share(*next), Ref<OpenFile>::adopt(&next->file_)};
      lock_.unlock();
      asked = static_cast<Asked&&>(held);
      bits = asked.file->poll(nullptr);
      lock_.lock();
    }
    EventWatch& watch = *next;
    const u32 found = watch.gone_ ? 0 : bits & watch.event_.bits & ~private_bits;
    if (found == 0) continue;
    if (!receiver.take({found, watch.event_.data})) {
      watch.file_.not_told(found);
      if (!watch.ready_link_.linked()) ready_.push_front(watch);
      break;
    }
    ++told;
    if ((watch.event_.bits & epoll_one_shot) != 0) {
      watch.event_.bits &= private_bits;
    } else if ((watch.event_.bits & epoll_edge) == 0 && !watch.ready_link_.linked()) {
      again.push_back(watch);
    }
    if (told == most) break;
  }
  end_scan(again);
  lock_.unlock();
  return told;
}

Errno EventPoll::wait(Waiter& waiter, Instant deadline) {
  LockGuard guard{lock_};
  if (!ready_.empty() || scans_ > 0) return Errno{};
  waited_for_ = true;
  return waiters_.wait(waiter, deadline);
}

// Leaves the watches where they are, so that nobody who collects misses one.
bool EventPoll::any_ready() {
  Asked asked;
  for (;;) {
    u64 changes = 0;
    {
      LockGuard guard{lock_};
      if (scans_ > 0) return true;  // as it was when the scan began
      asked = first_to_ask();
      if (!asked.watch) return false;
      changes = asked.watch->changes_;
    }
    const u32 bits = asked.file->poll(nullptr);
    LockGuard guard{lock_};
    EventWatch& watch = *asked.watch;
    if (watch.gone_) continue;
    if ((bits & watch.event_.bits) != 0) return true;
    if (watch.changes_ == changes && watch.ready_link_.linked() && scans_ == 0) Watches::remove(watch);
  }
}

u32 EventPoll::poll(PollEntry* entry) {
  if (entry != nullptr) {
    LockGuard guard{nesting_lock};
    source_.enlist(*entry);
    watched_.store(true, Order::relaxed);
  }
  return any_ready() ? poll_readable : 0;
}

Result<Ref<OpenFile>> make_event_poll() {
  Ref<EventPoll> instance = Ref<EventPoll>::adopt(TRY(memory::make<EventPoll>()));
  Ref<Inode> inode = anonymous_inode(AnonymousKind::event_poll);
  return Ref<OpenFile>{Ref<EventPollFile>::adopt(TRY(memory::make<EventPollFile>(inode, instance)))};
}

EventPoll* event_poll_of(OpenFile& file) {
  if (!is_anonymous(file.inode(), AnonymousKind::event_poll)) return nullptr;
  return &static_cast<EventPollFile&>(file).instance();
}

}  // namespace corral::fs
