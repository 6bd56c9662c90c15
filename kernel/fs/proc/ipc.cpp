// /proc/sysvipc. Source: Linux man-pages proc(5), sysvipc(7).
#include "fs/proc/proc.h"
#include "ipc/sysv/queue.h"
#include "ipc/sysv/segment.h"
#include "ipc/sysv/semaphore_set.h"

namespace corral::fs::proc {

namespace {

// Three octal digits, as "%4o" prints them.
struct Octal {
  explicit Octal(u32 mode) {
    u32 at = sizeof digits_;
    do {
      digits_[--at] = static_cast<char>('0' + mode % 8);
      mode /= 8;
    } while (mode != 0 && at > 0);
    start_ = at;
  }
  [[nodiscard]] std::string_view text() const { return {digits_ + start_, sizeof digits_ - start_}; }

 private:
  char digits_[11];
  u32 start_;
};

// Each object of a table by turns, with a reference and no lock held.
template <class T, class Visitor>
void for_each(ipc::IdTable<T>& table, Visitor&& visit) {
  for (u32 place = 0;; ++place) {
    Ref<T> object;
    {
      LockGuard guard{table.lock()};
      if (place >= table.places()) return;
      T* found = table.at(place);
      if (found == nullptr || !found->retain_if_alive()) continue;
      object = Ref<T>::adopt(found);
    }
    visit(*object);
  }
}

void print_owner(TextBuffer& to, const ipc::Ownership& owner) {
  to.print("{5} {5} {5} {5}", owner.user, owner.group, owner.creator_user, owner.creator_group);
}

Result<void> semaphore_sets(TextBuffer& to, const Subject&) {
  to.append("       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n");
  for_each(ipc::semaphores::table(), [&](ipc::SemaphoreSet& set) {
    to.print("{10} {10}  {4} {10} ", set.ownership.key, set.number, Octal{set.ownership.mode}.text(), set.count());
    print_owner(to, set.ownership);
    to.print(" {10} {10}\n", set.operated_s.load(Order::relaxed), set.changed_s.load(Order::relaxed));
  });
  return {};
}

Result<void> message_queues(TextBuffer& to, const Subject&) {
  to.append(
      "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      "
      "ctime\n");
  for_each(ipc::queues::table(), [&](ipc::Queue& queue) {
    const ipc::QueueState state = queue.state();
    to.print("{10} {10}  {4}  {10} {10} {5} {5} ", queue.ownership.key, queue.number, Octal{queue.ownership.mode}.text(),
             state.bytes, state.messages, state.last_sender, state.last_receiver);
    print_owner(to, queue.ownership);
    to.print(" {10} {10} {10}\n", state.sent_s, state.received_s, state.changed_s);
  });
  return {};
}

Result<void> shared_memory(TextBuffer& to, const Subject&) {
  constexpr u32 destroyed = 01000;
  to.append(
      "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      "
      "ctime                   rss                  swap\n");
  for_each(ipc::segments::table(), [&](ipc::Segment& segment) {
    const u32 mode = segment.ownership.mode | (segment.removed.load(Order::relaxed) ? destroyed : 0);
    to.print("{10} {10}  {4} {21} {5} {5}  {5} ", segment.ownership.key, segment.number, Octal{mode}.text(), segment.size(),
             segment.creator.load(Order::relaxed), segment.last_process.load(Order::relaxed), segment.areas());
    print_owner(to, segment.ownership);
    to.print(" {10} {10} {10} {21} {21}\n", segment.attached_s.load(Order::relaxed), segment.detached_s.load(Order::relaxed),
             segment.changed_s.load(Order::relaxed), segment.resident() * page_size, u64{0});
  });
  return {};
}

constexpr Node nodes[] = {
    {.name = "msg", .text = message_queues},
    {.name = "sem", .text = semaphore_sets},
    {.name = "shm", .text = shared_memory},
};

}  // namespace

const constinit GeneratedDirectory sysvipc_directory{.nodes = nodes};

}  // namespace corral::fs::proc
