// A thread as virtual memory sees it: who to wake, and the change of mappings that it has under way.
//
// An operation that must wait (for other cores to drop translations, or for another change of the same address space)
// returns Errno::blocked; the step that called it runs again and calls it again, and the operation goes on where it was.
// One operation at a time for each caller. While under_way() the operation has everything that it needs in here: the step
// must call it again, without checking anything first that could end the call otherwise.
// Faults and copies leave nothing in here but the pages that were prepared: a step may decide otherwise when it runs again.
#pragma once

#include "sync/waiter.h"
#include "vm/translation_drop.h"

namespace corral::vm {

class AddressSpace;
struct Area;

enum class ChangePhase : u8 {
  none,      // no operation under way
  entering,  // in the queue for the address space's change lock
  changing,  // holds it
};

// Pages that prepare() has found writable, for what the step writes there later. They stay for the rest of the step, whatever other
// threads do meanwhile (address_space.h), but not the right to write them in the table: a fork by another thread takes that away, and who
// looked there again would have to wait, and run again, when the step has done already what it must not do twice.
class PreparedPages {
 public:
  static constexpr u32 most = 8;  // what is prepared beyond is looked up again

  // Who prepares pages: a step that begins has none (StepState::prepared), nor has one that begins again because it had blocked.
  explicit PreparedPages(Waiter& waiter) : waiter_{waiter} {}
  void forget_all_but(VirtualAddress page) {
    u32 kept = 0;
    for (u32 i = 0; i < count(); ++i) {
      if (pages_[i].start == page) pages_[kept++] = pages_[i];
    }
    waiter_.step.prepared = kept;
  }
  void note(const AddressSpace& space, VirtualAddress page, u8* place) {
    const u32 before = count();
    if (before == most || find(space, page) != nullptr) return;
    run_ = waiter_.blocked_so_often();
    pages_[before] = {&space, page, place};
    waiter_.step.prepared = before + 1;
  }
  // Null: it is none of them.
  [[nodiscard]] u8* find(const AddressSpace& space, VirtualAddress page) const {
    for (u32 i = 0; i < count(); ++i) {
      if (pages_[i].start == page && pages_[i].space == &space) return pages_[i].place;
    }
    return nullptr;
  }

 private:
  struct Page {
    const AddressSpace* space;
    VirtualAddress start;
    u8* place;
  };
  [[nodiscard]] u32 count() const { return run_ == waiter_.blocked_so_often() ? waiter_.step.prepared : 0; }

  Waiter& waiter_;
  u64 run_ = 0;  // Waiter::blocked_so_often() when they were prepared
  Page pages_[most];
};

struct Caller {
  explicit Caller(Waiter& w) : waiter{w}, drop{w} {}
  Waiter& waiter;
  TranslationDrop drop;  // own core; its acknowledgements come from others
  AddressSpace* changing = nullptr;  // whose change lock this caller waits for or holds across waits
  ChangePhase phase = ChangePhase::none;
  bool dropping = false;  // other cores were asked; when the step runs again they have answered
  bool taking = false;  // the first half of the stage is done: the areas are changed
  u8 stage = 0;  // of the operation under way: each says what its stages are
  VirtualAddress next{};  // how far pages have been taken out
  u64 note = 0;  // the operation's own
  Area* area = nullptr;  // made by the operation, not in an address space yet
  Area* removed = nullptr;  // taken out, to be deleted when the operation is finished
  AddressSpace* child = nullptr;  // fork: not visible to anyone yet
  PreparedPages prepared{waiter};  // of the step that is being run

  [[nodiscard]] bool under_way() const { return phase != ChangePhase::none; }
};

}  // namespace corral::vm
