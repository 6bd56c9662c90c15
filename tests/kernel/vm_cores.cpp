// Address spaces across cores: who is asked to drop translations, that the caller waits for them, and that a page that
// another core may still reach is neither released nor replaced. On one core: that nobody is asked.
#include "core/core.h"
#include "core/remote_call.h"
#include "tests/kernel/kernel_test.h"
#include "tests/kernel/vm_support.h"

namespace corral::tests {
namespace {

using vm::AddressSpace;

constexpr u64 place = 0x3000'0000;
constexpr VirtualAddress at(u64 page) {
  return {place + page * page_size};
}

constinit AddressSpace* looked_at = nullptr;

// On another core: looks at the first page, as a system call there would, and so joins the space's active set.
u64 look(Core&) {
  TestCaller t;
  const Result<u8*> byte = looked_at->resolve(t.caller, at(0), vm::Access::read);
  return byte.ok() ? *byte.value() : 256;
}

// Asks every other core to look; answers how many there are, or -1 when one saw something else.
int all_others_look(TestCaller& t, AddressSpace& space, u8 wanted) {
  looked_at = &space;
  int others = 0;
  for (u32 i = 0; i < cores::count(); ++i) {
    Core& core = cores::get(CoreId{i});
    if (&core == &this_core() || !cores::online().contains(core.id())) continue;
    RemoteCall call{t.waiter};
    if (!call.ask(core, look)) t.waiter.await();
    if (call.result() != wanted) return -1;
    ++others;
  }
  return others;
}

u64 drops_of_others() {
  u64 sum = 0;
  for (u32 i = 0; i < cores::count(); ++i) {
    const Core& core = cores::get(CoreId{i});
    if (&core != &this_core()) sum += core.counters.translation_drops.load(Order::relaxed);
  }
  return sum;
}

KERNEL_TEST(vm_drops_are_asked_of_those_who_may_hold) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  KERNEL_EXPECT(space.map(t.caller, pages_at(place, 4)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(0), 42).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(1), 43).ok());
  const u64 before = drops_of_others();
  KERNEL_EXPECT(space.unmap(t.caller, at(1), page_size).ok());  // nobody else has looked
  KERNEL_EXPECT(drops_of_others() == before && t.waits == 0);

  const int others = all_others_look(t, space, 42);
  KERNEL_EXPECT(others >= 0);
  KERNEL_EXPECT(t.finish([&] { return space.protect(t.caller, at(0), page_size, read_only); }).ok());
  KERNEL_EXPECT(drops_of_others() == before + static_cast<u64>(others));
  KERNEL_EXPECT(t.waits == (others == 0 ? 0u : 1u));
  // They have left with their answer: nobody is asked again.
  KERNEL_EXPECT(t.finish([&] { return space.unmap(t.caller, at(0), page_size); }).ok());
  KERNEL_EXPECT(drops_of_others() == before + static_cast<u64>(others));
  KERNEL_EXPECT(space.usage().resident_pages == 0);
  KERNEL_PASSED;
}

KERNEL_TEST(vm_fork_and_copy_wait_for_the_others) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  KERNEL_EXPECT(space.map(t.caller, pages_at(place, 1)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(0), 7).ok());
  const int others = all_others_look(t, space, 7);
  KERNEL_EXPECT(others >= 0);
  Result<Ref<AddressSpace>> child = t.finish([&] { return space.fork(t.caller); });
  KERNEL_EXPECT(child.ok());
  KERNEL_EXPECT(t.waits == (others == 0 ? 0u : 1u));
  KERNEL_EXPECT(all_others_look(t, space, 7) == others);
  // The write needs a copy, and the others must forget the old page before it can be written.
  KERNEL_EXPECT(t.finish([&] { return vm::write_user<u8>(space, t.caller, at(0), 8); }).ok());
  KERNEL_EXPECT(t.waits == (others == 0 ? 0u : 2u));
  KERNEL_EXPECT(all_others_look(t, space, 8) == others);
  KERNEL_EXPECT(vm::read_user<u8>(*child.value(), t.caller, at(0)).value() == 7);
  KERNEL_EXPECT(!t.caller.under_way() && t.caller.drop.frames.empty());
  KERNEL_PASSED;
}

// Two changes at once: the second waits for the first, and goes on when the first has ended.
KERNEL_TEST(vm_changes_exclude_one_another) {
  TestCaller first;
  TestCaller second;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  KERNEL_EXPECT(space.map(first.caller, pages_at(place, 4)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, first.caller, at(0), 1).ok());
  const int others = all_others_look(first, space, 1);
  KERNEL_EXPECT(others >= 0);
  const Result<void> begun = space.unmap(first.caller, at(0), page_size);
  if (others == 0) {
    KERNEL_EXPECT(begun.ok());
    KERNEL_PASSED;
  }
  KERNEL_EXPECT(!begun.ok() && begun.error() == Errno::blocked);
  const Result<void> waiting = space.unmap(second.caller, at(1), page_size);
  const bool waited = !waiting.ok() && waiting.error() == Errno::blocked;
  const bool early = second.waiter.woken();
  first.waiter.await();
  const bool ended = space.unmap(first.caller, at(0), page_size).ok();
  const bool woken = second.waiter.woken();
  second.waiter.await();
  const bool went_on = space.unmap(second.caller, at(1), page_size).ok();
  KERNEL_EXPECT(waited && !early && ended && woken && went_on);
  KERNEL_EXPECT(space.usage().mapped_bytes == 2 * page_size);
  KERNEL_PASSED;
}

// Pages that other cores look at come and go; everything is given back.
KERNEL_TEST(vm_many_rounds_across_cores) {
  TestCaller t;
  constexpr u32 rounds = 40;
  u64 before = 0;
  for (u32 round = 0; round < rounds; ++round) {
    if (round == 2) before = free_pages();
    Result<Ref<AddressSpace>> made = AddressSpace::create();
    KERNEL_EXPECT(made.ok());
    AddressSpace& space = *made.value();
    KERNEL_EXPECT(space.map(t.caller, pages_at(place, 100)).ok());
    for (u64 i = 0; i < 100; ++i) { KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(i), static_cast<u8>(round)).ok()); }
    KERNEL_EXPECT(all_others_look(t, space, static_cast<u8>(round)) >= 0);
    Result<Ref<AddressSpace>> child = t.finish([&] { return space.fork(t.caller); });
    KERNEL_EXPECT(child.ok());
    KERNEL_EXPECT(all_others_look(t, space, static_cast<u8>(round)) >= 0);
    KERNEL_EXPECT(t.finish([&] { return space.unmap(t.caller, at(0), 100 * page_size); }).ok());
    KERNEL_EXPECT(vm::read_user<u8>(*child.value(), t.caller, at(99)).value() == round);
  }
  KERNEL_EXPECT(free_pages() + rounds / 4 >= before);  // the other cores may have a page or two for something of their own
  KERNEL_PASSED;
}

}  // namespace
}  // namespace corral::tests
