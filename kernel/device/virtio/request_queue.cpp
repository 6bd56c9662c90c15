// See request_queue.h.
#include "device/virtio/request_queue.h"

#include "arch/page_table.h"
#include "trace/log.h"

namespace corral::virtio {

bool Request::add_piece(const void* memory, u64 bytes, bool device_writes) {
  if (count_ == most_pieces || bytes > ~u32{0}) return false;
  pieces_[count_++] = {arch::physical_of_direct(memory).value, static_cast<u32>(bytes),
                       device_writes ? Descriptor::flag_device_writes : u16{0}, 0};
  return true;
}

Result<void> RequestQueue::start(const char* name, u64 features, u32 core) {
  name_ = name;
  TRY(transport_.initialise(features | feature_indirect));
  indirect_ = transport_.has(feature_indirect);
  u16 vector = 0;
  if (const Result<void> message = transport_.device().connect_message(0, core, name, *this); !message.ok()) {
    by_pin_ = true;
    vector = PciTransport::no_vector;
    TRY(transport_.device().connect_pin(name, *this));
  }
  const Result<PciTransport::QueueMemory> memory = transport_.start_queue(0, vector);
  LockGuard guard{lock_};
  if (!memory.ok()) {
    failed_ = true;
    transport_.give_up();
    return memory.error();
  }
  TRY(queue_.initialise(memory.value().bytes, memory.value().entries));
  transport_.driver_ready();
  return {};
}

Result<void> RequestQueue::pass_on(Request& request) {
  const u64 table = indirect_ ? arch::physical_of_direct(request.pieces_).value : 0;
  return queue_.add({request.pieces_, request.count_}, table, &request);
}

Result<void> RequestQueue::submit(Request& request) {
  LockGuard guard{lock_};
  if (failed_) return Errno::eio;
  if (!waiting_.empty()) {
    waiting_.push_back(request);
    return {};
  }
  const Result<void> added = pass_on(request);
  if (!added.ok() && added.error() == Errno::eagain) {
    waiting_.push_back(request);
    return {};
  }
  TRY(added);
  if (queue_.must_notify()) transport_.notify();
  return {};
}

void RequestQueue::poll() {
  for (;;) {
    Request* request = nullptr;
    u32 written = 0;
    {
      LockGuard guard{lock_};
      SplitQueue::Completion completion;
      if (queue_.take(completion)) {
        request = static_cast<Request*>(completion.cookie);
        written = completion.written;
        bool added = false;
        while (!waiting_.empty() && pass_on(*waiting_.front()).ok()) {
          (void)waiting_.pop_front();
          added = true;
        }
        if (added && queue_.must_notify()) transport_.notify();
      } else if (!queue_.broken() || failed_) {
        return;
      }
    }
    if (request == nullptr) return fail_all();
    request->finished(written);
  }
}

void RequestQueue::fail_all() {
  log::error("{}: the device does not keep to the rules of its queue; it is not used any more", name_);
  for (;;) {
    Request* request = nullptr;
    {
      LockGuard guard{lock_};
      if (!failed_) transport_.give_up();  // it touches no memory any more
      failed_ = true;
      request = static_cast<Request*>(queue_.abandon());
      if (request == nullptr) request = waiting_.pop_front();
    }
    if (request == nullptr) return;
    request->finished(Errno::eio);
  }
}

bool RequestQueue::idle() {
  LockGuard guard{lock_};
  return queue_.in_flight() == 0 && waiting_.empty();
}

bool RequestQueue::failed() {
  LockGuard guard{lock_};
  return failed_;
}

void RequestQueue::handle_interrupt() {
  if (by_pin_ && transport_.interrupt_status() == 0) return;  // another device's
  poll();
}

}  // namespace corral::virtio
