// Events that wait to be read, and the file that they are read from. See watch_queue.h.
#include "fs/watch/watch_queue.h"

#include "fs/anonymous.h"
#include "fs/transfer.h"
#include "fs/watch/notices.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

constinit Atomic<u32> queues{0};

struct Header {  // struct inotify_event
  i32 watch;
  u32 mask, cookie, size;
};
static_assert(sizeof(Header) == 16);

class WatchFile final : public OpenFile {
 public:
  WatchFile(Ref<WatchQueue> queue, u32 flags)
      : OpenFile{anonymous_inode(AnonymousKind::file_watches), flags}, queue_{static_cast<Ref<WatchQueue>&&>(queue)} {}
  ~WatchFile() override { queue_->close(); }
  Result<u64> read(Thread& thread, Transfer& transfer) override { return queue_->read(thread, transfer, nonblocking()); }
  u32 poll(PollEntry* entry) override { return queue_->poll(entry); }
  Result<u64> seek(i64, Whence) override { return u64{0}; }  // as Linux: no position, and no error
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool can_signal() const override { return true; }
  Result<u64> available() override { return queue_->available(); }
  [[nodiscard]] WatchQueue& queue() { return *queue_; }

 private:
  Ref<WatchQueue> queue_;
};

}  // namespace

Result<Ref<OpenFile>> make_watch_file(u32 flags) {
  Ref<WatchQueue> queue = TRY(WatchQueue::create());
  return Ref<OpenFile>{Ref<WatchFile>::adopt(TRY(memory::make<WatchFile>(queue, flags)))};
}

WatchQueue* watch_queue_of(OpenFile& file) {
  const bool watches = is_anonymous(file.inode(), AnonymousKind::file_watches) && (file.flags() & o_path) == 0;
  return watches ? &static_cast<WatchFile&>(file).queue() : nullptr;
}

Result<Ref<WatchQueue>> WatchQueue::create() {
  auto* made = new (std::nothrow) WatchQueue;
  if (made == nullptr) return Errno::enomem;
  Ref<WatchQueue> queue = Ref<WatchQueue>::adopt(made);
  if (queues.fetch_add(1, Order::relaxed) >= WatchLimits::instances.value()) return Errno::emfile;
  Event* lost = make_event(-1, notices::overflow, 0, {});
  if (lost == nullptr) return Errno::enomem;
  LockGuard guard{made->lock_};
  made->lost_ = lost;
  return queue;
}

WatchQueue::~WatchQueue() {
  queues.fetch_sub(1, Order::relaxed);
  LockGuard guard{lock_};
  while (Event* event = events_.pop_front()) memory::release(event);
  memory::release(lost_);
}

WatchQueue::Event* WatchQueue::make_event(i32 number, u32 event, u32 cookie, std::string_view name) {
  const u64 size = name.empty() ? 0 : round_up(name.size() + 1, sizeof(Header));
  void* storage = memory::allocate(sizeof(Event) + size);
  if (storage == nullptr) return nullptr;
  auto* made = ::new (storage) Event{};
  made->watch = number;
  made->mask = event;
  made->cookie = cookie;
  made->size = static_cast<u32>(size);
  made->name_size = static_cast<u32>(name.size());
  memset(made->name, 0, size);
  memcpy(made->name, name.data(), name.size());
  return made;
}

bool WatchQueue::post(i32 number, u32 event, u32 cookie, std::string_view name) {
  LockGuard guard{lock_};
  const Event* last = events_.back();
  const bool again = last != nullptr && last->watch == number && last->mask == event && last->cookie == cookie &&
                     last->text() == name && (event & notices::ignored) == 0;
  if (again) return true;
  Event* made = count_ < WatchLimits::events.value() ? make_event(number, event, cookie, name) : nullptr;
  if (made == nullptr) made = std::exchange(lost_, nullptr);
  if (made == nullptr) return true;  // that events were lost is told already
  events_.push_back(*made);
  ++count_;
  bytes_ += sizeof(Header) + made->size;
  (void)readers_.wake_all();
  source_.notify(poll_readable);
  return true;
}

Result<void> WatchQueue::give(const Event& event, Transfer& transfer) {
  const Header header{event.watch, event.mask, event.cookie, event.size};
  TRY(transfer.put(0, &header, sizeof header));
  if (event.size > 0) TRY(transfer.put(sizeof header, event.name, event.size));
  return {};
}

Result<u64> WatchQueue::read(Thread& thread, Transfer& transfer, bool nonblocking) {
  LockGuard guard{lock_};
  if (count_ == 0) return nonblocking ? Errno::eagain : readers_.wait(thread);
  while (Event* event = events_.front()) {
    const u64 size = sizeof(Header) + event->size;
    if (size > transfer.left()) {
      if (transfer.done() == 0) return Errno::einval;
      break;
    }
    const Result<void> given = give(*event, transfer);
    if (!given.ok()) {
      if (transfer.done() == 0) return given.error();
      if (given.error() == Errno::blocked) return Errno::blocked;
      break;
    }
    transfer.advance(size);
    events_.remove(*event);
    --count_;
    bytes_ -= size;
    if ((event->mask & notices::overflow) != 0) {
      lost_ = event;
    } else {
      memory::release(event);
    }
  }
  return transfer.done();
}

u32 WatchQueue::poll(PollEntry* entry) {
  LockGuard guard{lock_};
  if (entry != nullptr) source_.enlist(*entry);
  return count_ > 0 ? poll_readable : 0;
}

u64 WatchQueue::available() {
  LockGuard guard{lock_};
  return bytes_;
}

}  // namespace corral::fs
