// What the tests of address spaces share: a waiter that is not a thread, and the running of operations to their end.
// The tests run as a step of the bootstrap core; the other cores are alive and answer messages.
#pragma once

#include "arch/processor.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "vm/address_space.h"

namespace corral::tests {

class TestWaiter final : public Waiter {
 public:
  void wake(WakeReason) override { wakes_.fetch_add(1, Order::release); }
  [[nodiscard]] bool interrupted() const override { return false; }
  [[nodiscard]] u64 blocked_so_often() const override { return 0; }
  void set_timeout(Deadline) override {}

  [[nodiscard]] bool woken() const { return wakes_.load(Order::acquire) != 0; }
  // Waits for one wake-up by another core.
  void await() {
    while (!woken()) arch::pause();
    wakes_.fetch_sub(1, Order::acquire);
  }

 private:
  Atomic<u32> wakes_{0};
};

// A caller whose operations are run again until they do not answer blocked.
struct TestCaller {
  TestWaiter waiter;
  vm::Caller caller{waiter};
  u32 waits = 0;

  template <class Operation>
  auto finish(Operation&& operation) {
    for (;;) {
      auto result = operation();
      if (result.ok() || result.error() != Errno::blocked) return result;
      ++waits;
      waiter.await();
    }
  }
};

// A file of `count` pages; byte 0 of each is its index + 1.
class TestFile final : public vm::Backing {
 public:
  static constexpr u64 count = 3;
  static Result<Ref<vm::Backing>> create() {
    auto* file = new (std::nothrow) TestFile;
    if (file == nullptr) return Errno::enomem;
    auto ref = Ref<vm::Backing>::adopt(file);
    for (u64 i = 0; i < count; ++i) {
      file->pages_[i] = TRY(memory::allocate_page(memory::Zero::yes));
      memory::contents(*file->pages_[i])[0] = static_cast<u8>(i + 1);
    }
    return ref;
  }
  ~TestFile() override {
    for (Frame* page : pages_) {
      if (page != nullptr) memory::release_page(*page);
    }
  }
  Result<Frame*> page(u64 index) override {
    if (index >= count) return Errno::efault;
    memory::share_page(*pages_[index]);
    return pages_[index];
  }

 private:
  Frame* pages_[count] = {};
};

inline constexpr vm::Protection read_write{true, true, false};
inline constexpr vm::Protection read_only{true, false, false};
inline constexpr vm::Protection no_access{false, false, false};

inline vm::MapRequest pages_at(u64 place, u64 count, vm::Protection protection = read_write) {
  vm::MapRequest request;
  request.hint = VirtualAddress{place};
  request.length = count * page_size;
  request.protection = protection;
  request.fixed = place != 0;
  return request;
}

inline u64 free_pages() {
  memory::trim_heap();
  const memory::PageStatistics pages = memory::page_statistics();
  return pages.free_global + pages.free_local;
}

}  // namespace corral::tests
