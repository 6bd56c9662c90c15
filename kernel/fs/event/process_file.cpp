// See process_file.h. lock_ guards the source; ended_ changes once, before who waits is told.
#include "fs/event/process_file.h"

#include "fs/anonymous.h"
#include "fs/inode.h"
#include "fs/poll_source.h"
#include "fs/text_buffer.h"
#include "memory/heap.h"
#include "task/process_listener.h"
#include "task/process_table.h"

namespace corral::fs {

namespace {

class ProcessFile final : public OpenFile, private ProcessListener {
 public:
  ProcessFile(Process& process, u32 flags)
      : OpenFile{anonymous_inode(AnonymousKind::process), flags | o_rdwr}, process_{Ref<Process>::share(process)} {
    if (!process_->add_listener(*this)) ended_.store(true, Order::relaxed);
  }
  ~ProcessFile() override { process_->remove_listener(*this); }
  u32 poll(PollEntry* entry) override EXCLUDES(lock_) {
    if (entry != nullptr) {
      LockGuard guard{lock_};
      source_.enlist(*entry);
    }
    return ended_.load(Order::acquire) ? poll_readable : 0;
  }
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool polls_without_lock() const override { return true; }
  void describe(TextBuffer& to) override {
    const bool reaped = processes::find(process_->id()).get() != process_.get();
    const i32 number = reaped ? -1 : process_->id().value;
    to.print("Pid:\t{}\nNSpid:\t{}\n", number, number);
  }
  [[nodiscard]] Ref<Process> process() const { return process_; }

 private:
  void signal_added(int) override {}
  void process_ended() override {
    LockGuard guard{lock_};
    ended_.store(true, Order::release);
    source_.notify(poll_readable);
  }

  const Ref<Process> process_;
  SpinLock lock_{Rank::pipe, "process file"};
  PollSource source_{lock_};
  Atomic<bool> ended_{false};
};

}  // namespace

Result<Ref<OpenFile>> make_process_file(Process& process, u32 flags) {
  return Ref<OpenFile>{Ref<ProcessFile>::adopt(TRY(memory::make<ProcessFile>(process, flags)))};
}

Result<Ref<Process>> process_of_file(OpenFile& file) {
  if (!is_anonymous(file.inode(), AnonymousKind::process) || (file.flags() & o_path) != 0) return Errno::ebadf;
  return static_cast<ProcessFile&>(file).process();
}

}  // namespace corral::fs
