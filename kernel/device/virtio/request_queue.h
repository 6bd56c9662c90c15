// Requests to a virtio device with one queue, and their answers: what block devices and 9P share.
//
// A request is memory that the device reads, then memory that it writes. What does not fit into the ring waits in order.
// Answers come by interrupt, on the core that start() named: Request::finished runs there, in interrupt context, with no
// lock held. (An interrupt finds its core outside the kernel, so `finished` may take any lock and submit requests.)
// A device that breaks the rules is stopped, and everything under way fails with eio.
#pragma once

#include "device/interrupts.h"
#include "device/virtio/pci_transport.h"
#include "lib/intrusive_list.h"
#include "sync/spin_lock.h"

namespace corral::virtio {

class RequestQueue;

class Request {
 public:
  static constexpr u32 most_pieces = 36;

  // The answer, once for each submit(): bytes that the device has written; eio. The request may be freed or used again.
  // Its caller must not keep it alive meanwhile: the device uses its memory until then.
  virtual void finished(Result<u32> written) = 0;

 protected:
  Request() = default;
  ~Request() = default;
  void clear_pieces() { count_ = 0; }
  // Memory in the direct map, physically contiguous: heap objects, pages. All that the device reads comes first. False: no room.
  bool add_piece(const void* memory, u64 bytes, bool device_writes);

 private:
  friend class RequestQueue;
  ListLink link_;  // waits for room; the queue's lock
  // Where the ring takes them from, so an object of this class must not lie on a stack.
  alignas(16) Descriptor pieces_[most_pieces];
  u32 count_ = 0;
};

class RequestQueue final : public InterruptHandler {
 public:
  explicit RequestQueue(pci::PciDevice& device) : transport_{device} {}

  // Boot or a driver's set-up, once. `features`: of the device's own that are wanted; `core`: the hardware id of the core that
  // is to be interrupted. enodev, enomem, ebusy.
  Result<void> start(const char* name, u64 features, u32 core);
  [[nodiscard]] PciTransport& transport() { return transport_; }

  // Any context, lower-ranked locks may be held; `finished` is never called from within.
  // eio: the device has failed; einval: no pieces or too many. Then there is no answer.
  Result<void> submit(Request& request) EXCLUDES(lock_);
  // Handles what has come back; for who cannot wait for an interrupt (the machine is being switched off).
  void poll() EXCLUDES(lock_);
  [[nodiscard]] bool idle() EXCLUDES(lock_);  // nothing is under way
  [[nodiscard]] bool failed() EXCLUDES(lock_);

  void handle_interrupt() override;

 private:
  Result<void> pass_on(Request& request) REQUIRES(lock_);
  void fail_all() EXCLUDES(lock_);

  PciTransport transport_;
  bool by_pin_ = false;  // set-up
  bool indirect_ = false;  // set-up
  const char* name_ = "";  // set-up
  SpinLock lock_{Rank::device_queue, "virtqueue"};
  SplitQueue queue_ GUARDED_BY(lock_);
  IntrusiveList<Request, &Request::link_> waiting_ GUARDED_BY(lock_);
  bool failed_ GUARDED_BY(lock_) = false;
};

}  // namespace corral::virtio
