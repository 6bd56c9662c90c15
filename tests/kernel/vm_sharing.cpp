// Children: copy-on-write, shared memory, and what happens to all of it when memory is short.
#include "tests/kernel/kernel_test.h"
#include "tests/kernel/vm_support.h"

namespace corral::tests {
namespace {

using vm::AddressSpace;

constexpr u64 place = 0x2000'0000;
constexpr VirtualAddress at(u64 page) {
  return {place + page * page_size};
}

bool byte_is(AddressSpace& space, TestCaller& t, VirtualAddress address, u8 wanted) {
  const Result<u8> found = vm::read_user<u8>(space, t.caller, address);
  return found.ok() && found.value() == wanted;
}

KERNEL_TEST(vm_copy_on_write) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& parent = *made.value();
  KERNEL_EXPECT(parent.map(t.caller, pages_at(place, 8)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(parent, t.caller, at(0), 1).ok());
  KERNEL_EXPECT(vm::write_user<u8>(parent, t.caller, at(1), 2).ok());
  {
    Result<Ref<AddressSpace>> forked = parent.fork(t.caller);
    KERNEL_EXPECT(forked.ok());
    AddressSpace& child = *forked.value();
    KERNEL_EXPECT(child.usage().mapped_bytes == 8 * page_size && child.usage().resident_pages == 2);
    KERNEL_EXPECT(vm::write_user<u8>(child, t.caller, at(0), 11).ok());
    KERNEL_EXPECT(vm::write_user<u8>(parent, t.caller, at(1), 22).ok());
    KERNEL_EXPECT(vm::write_user<u8>(child, t.caller, at(5), 33).ok());
    KERNEL_EXPECT(byte_is(parent, t, at(0), 1) && byte_is(child, t, at(0), 11));
    KERNEL_EXPECT(byte_is(parent, t, at(1), 22) && byte_is(child, t, at(1), 2));
    KERNEL_EXPECT(byte_is(parent, t, at(5), 0) && byte_is(child, t, at(5), 33));
    Result<Ref<AddressSpace>> grandchild = child.fork(t.caller);
    KERNEL_EXPECT(grandchild.ok());
    KERNEL_EXPECT(vm::write_user<u8>(child, t.caller, at(0), 12).ok());
    KERNEL_EXPECT(byte_is(*grandchild.value(), t, at(0), 11) && byte_is(parent, t, at(0), 1));
  }
  // The last owner writes where it is.
  const Result<u8*> before = parent.resolve(t.caller, at(0), vm::Access::read);
  const Result<u8*> after = parent.resolve(t.caller, at(0), vm::Access::write);
  KERNEL_EXPECT(before.ok() && after.ok() && before.value() == after.value());
  KERNEL_PASSED;
}

KERNEL_TEST(vm_fork_keeps_a_prepared_page) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& parent = *made.value();
  KERNEL_EXPECT(parent.map(t.caller, pages_at(place, 2)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(parent, t.caller, at(0), 1).ok());
  const Result<u8*> before = parent.resolve(t.caller, at(0), vm::Access::write);
  KERNEL_EXPECT(before.ok());
  Result<Ref<AddressSpace>> forked = parent.fork(t.caller, at(0) + 100);
  KERNEL_EXPECT(forked.ok());
  *before.value() = 2;
  KERNEL_EXPECT(parent.resolve(t.caller, at(0), vm::Access::write).value() == before.value());
  KERNEL_EXPECT(byte_is(*forked.value(), t, at(0), 1) && byte_is(parent, t, at(0), 2));
  KERNEL_PASSED;
}

KERNEL_TEST(vm_shared_memory) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& parent = *made.value();
  vm::MapRequest request = pages_at(place, 1000);  // two levels of its tree
  request.shared = true;
  KERNEL_EXPECT(parent.map(t.caller, request).ok());
  KERNEL_EXPECT(vm::write_user<u8>(parent, t.caller, at(1), 1).ok());
  Result<Ref<AddressSpace>> forked = parent.fork(t.caller);
  KERNEL_EXPECT(forked.ok());
  AddressSpace& child = *forked.value();
  KERNEL_EXPECT(byte_is(child, t, at(1), 1));
  KERNEL_EXPECT(vm::write_user<u8>(child, t.caller, at(1), 2).ok());
  KERNEL_EXPECT(vm::write_user<u8>(child, t.caller, at(999), 3).ok());
  KERNEL_EXPECT(byte_is(parent, t, at(1), 2) && byte_is(parent, t, at(999), 3));
  KERNEL_EXPECT(parent.discard(t.caller, at(0), 1000 * page_size).ok());
  KERNEL_EXPECT(byte_is(parent, t, at(999), 3));  // not the program's alone: it stays
  KERNEL_EXPECT(parent.unmap(t.caller, at(0), 1000 * page_size).ok());
  KERNEL_EXPECT(byte_is(child, t, at(1), 2));
  KERNEL_PASSED;
}

// A tracer writes to a page that the program may only read: the page becomes the program's own, and stays as it is for others.
KERNEL_TEST(vm_writing_by_force) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& parent = *made.value();
  KERNEL_EXPECT(parent.map(t.caller, pages_at(place, 3)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(parent, t.caller, at(0), 1).ok());
  KERNEL_EXPECT(parent.protect(t.caller, at(0), 3 * page_size, read_only).ok());
  Result<Ref<AddressSpace>> forked = parent.fork(t.caller);
  KERNEL_EXPECT(forked.ok());
  AddressSpace& child = *forked.value();
  const u8 bytes[] = {7, 8};
  KERNEL_EXPECT(child.write_by_force(t.caller, at(0), bytes).ok());
  KERNEL_EXPECT(
      child.write_by_force(t.caller, {at(1).value - 1}, bytes).ok());  // the second one is in a page that nobody has touched
  KERNEL_EXPECT(byte_is(child, t, at(0), 7) && byte_is(child, t, at(0) + 1, 8) && byte_is(child, t, at(1), 8));
  KERNEL_EXPECT(byte_is(parent, t, at(0), 1) && byte_is(parent, t, at(1), 0));
  KERNEL_EXPECT(vm::write_user<u8>(child, t.caller, at(0), 2).error() == Errno::efault);
  KERNEL_EXPECT(child.write_by_force(t.caller, {at(3).value - 1}, bytes).error() == Errno::efault);
  KERNEL_EXPECT(byte_is(child, t, {at(3).value - 1}, 7));  // as far as it went
  vm::MapRequest request = pages_at(place * 2, 1);
  request.shared = true;
  request.protection = read_only;
  KERNEL_EXPECT(child.map(t.caller, request).ok());
  u8 read[2] = {9, 9};
  KERNEL_EXPECT(child.write_by_force(t.caller, {place * 2}, bytes).error() == Errno::efault);
  KERNEL_EXPECT(child.read_by_force(t.caller, {place * 2}, read).ok() && read[0] == 0);
  KERNEL_EXPECT(child.protect(t.caller, at(0), page_size, {}).ok());
  KERNEL_EXPECT(child.read_by_force(t.caller, at(0), read).ok() && read[0] == 7);
  KERNEL_EXPECT(child.write_by_force(t.caller, at(0), {read, 1}).ok());
  KERNEL_PASSED;
}

// A bit of everything; any of it may run out of memory, and says so.
Result<void> life(TestCaller& t) {
  Ref<AddressSpace> parent = TRY(AddressSpace::create());
  Ref<vm::Backing> file = TRY(TestFile::create());
  (void)TRY(parent->map(t.caller, pages_at(place, 64)));
  for (u64 i = 0; i < 64; ++i) TRY(vm::write_user<u8>(*parent, t.caller, at(i), static_cast<u8>(i)));
  vm::MapRequest request = pages_at(0, 3);
  request.backing = file;
  const VirtualAddress mapped = TRY(parent->map(t.caller, request));
  for (u64 i = 0; i < 3; ++i) TRY(vm::write_user<u8>(*parent, t.caller, mapped + i * page_size, 1));
  request.backing = {};
  request.shared = true;
  const VirtualAddress shared = TRY(parent->map(t.caller, request));
  TRY(vm::write_user<u8>(*parent, t.caller, shared, 5));
  parent->set_break_start({place * 2});
  (void)TRY(parent->set_break(t.caller, {place * 2 + 100}));
  TRY(parent->protect(t.caller, at(3), page_size, read_only));
  Ref<AddressSpace> child = TRY(parent->fork(t.caller));
  for (u64 i = 10; i < 64; ++i) TRY(vm::write_user<u8>(*child, t.caller, at(i), 77));
  const u8 byte = 3;
  TRY(child->write_by_force(t.caller, at(3), {&byte, 1}));
  TRY(parent->unmap(t.caller, at(20), 30 * page_size));
  TRY(child->discard(t.caller, at(0), 5 * page_size));
  const vm::RemapRequest move{at(50), 8 * page_size, 12 * page_size, true, true, {place * 4}};
  (void)TRY(parent->remap(t.caller, move));
  (void)TRY(parent->map(t.caller, pages_at(place + 5 * page_size, 10, read_only)));
  Ref<AddressSpace> second = TRY(child->fork(t.caller));
  TRY(vm::write_user<u8>(*child, t.caller, at(60), 9));
  const u8 seen = TRY(vm::read_user<u8>(*second, t.caller, at(60)));
  if (seen != 77) return Errno::eio;
  return {};
}

// One life with the nth allocation failing (0: none); answers its outcome. `lost` when pages were missing afterwards each
// time that it was tried: once may be another core that needed one.
Result<void> life_failing_at(u64 nth, TestCaller& t, bool& lost) {
  for (u32 tries = 0;; ++tries) {
    const u64 before = free_pages();
    memory::fail_allocation(nth, 0);
    Result<void> outcome = life(t);
    memory::fail_allocation(0, 0);
    lost = free_pages() < before;
    if (!lost || tries == 3) return outcome.error();
  }
}

KERNEL_TEST(vm_gives_everything_back) {
  TestCaller t;
  KERNEL_EXPECT(life(t).ok());  // fills the caches of the heap
  for (u32 i = 0; i < 20; ++i) {
    bool lost = false;
    KERNEL_EXPECT(life_failing_at(0, t, lost).ok());
    KERNEL_EXPECT(!lost);
  }
  KERNEL_PASSED;
}

// Every allocation on these paths fails once: an error, nothing lost, and the next try works.
KERNEL_TEST(vm_out_of_memory) {
  TestCaller t;
  KERNEL_EXPECT(life(t).ok());
  u64 failures = 0;
  for (u64 nth = 1;; ++nth) {
    bool lost = false;
    const Result<void> outcome = life_failing_at(nth, t, lost);
    KERNEL_EXPECT(!t.caller.under_way());
    KERNEL_EXPECT(!lost);
    if (!outcome.ok()) {
      KERNEL_EXPECT(outcome.error() == Errno::enomem);
      ++failures;
    } else if (nth > 1000) {  // some allocations can be done without (notes of a batch, the break)
      break;
    }
  }
  KERNEL_EXPECT(failures > 100);
  KERNEL_EXPECT(life(t).ok());
  KERNEL_PASSED;
}

}  // namespace
}  // namespace corral::tests
