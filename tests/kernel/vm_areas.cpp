// Address spaces on one core: mapping, rights, places, resizing, and the errors of bad requests.
#include "tests/kernel/kernel_test.h"
#include "tests/kernel/vm_support.h"

namespace corral::tests {
namespace {

using vm::Access;
using vm::AddressSpace;

constexpr u64 place = 0x1000'0000;
constexpr VirtualAddress at(u64 page, u64 offset = 0) {
  return {place + page * page_size + offset};
}

bool byte_is(AddressSpace& space, TestCaller& t, VirtualAddress address, u8 wanted) {
  const Result<u8> found = vm::read_user<u8>(space, t.caller, address);
  return found.ok() && found.value() == wanted;
}

KERNEL_TEST(vm_demand_zero) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  KERNEL_EXPECT(space.map(t.caller, pages_at(place, 16)).ok());
  KERNEL_EXPECT(space.usage().mapped_bytes == 16 * page_size && space.usage().resident_pages == 0);
  const u64 value = 0x1122334455667788;
  KERNEL_EXPECT(vm::write_user(space, t.caller, at(3, page_size - 4), value).ok());  // straddles two pages
  KERNEL_EXPECT(space.usage().resident_pages == 2);
  KERNEL_EXPECT(vm::read_user<u64>(space, t.caller, at(3, page_size - 4)).value() == value);
  KERNEL_EXPECT(byte_is(space, t, at(5), 0));
  u8 resident[16];
  KERNEL_EXPECT(space.residency(at(0), resident).ok());
  KERNEL_EXPECT(resident[2] == 0 && resident[3] == 1 && resident[4] == 1 && resident[5] == 1 && resident[6] == 0);
  KERNEL_EXPECT(space.discard(t.caller, at(0), 16 * page_size).ok());
  KERNEL_EXPECT(space.usage().resident_pages == 0);
  KERNEL_EXPECT(byte_is(space, t, at(3, page_size - 4), 0));
  KERNEL_EXPECT(space.unmap(t.caller, at(0), 16 * page_size).ok());
  KERNEL_EXPECT(space.usage().mapped_bytes == 0 && space.usage().resident_pages == 0);
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, at(3)).error() == Errno::efault);
  KERNEL_PASSED;
}

KERNEL_TEST(vm_rights) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  KERNEL_EXPECT(space.map(t.caller, pages_at(place, 4)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(1), 7).ok());
  KERNEL_EXPECT(space.protect(t.caller, at(1), page_size, read_only).ok());
  KERNEL_EXPECT(byte_is(space, t, at(1), 7));
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(1), 8).error() == Errno::efault);
  KERNEL_EXPECT(space.handle_fault(t.caller, at(1), Access::write).error() == Errno::eacces);
  KERNEL_EXPECT(space.handle_fault(t.caller, at(1), Access::execute).error() == Errno::eacces);
  KERNEL_EXPECT(space.protect(t.caller, at(0), 4 * page_size, no_access).ok());
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, at(1)).error() == Errno::efault);
  KERNEL_EXPECT(space.protect(t.caller, at(0), 4 * page_size, read_write).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(1), 9).ok());
  KERNEL_EXPECT(byte_is(space, t, at(1), 9));
  // Up to a gap the rights are changed, and the gap is reported.
  KERNEL_EXPECT(space.unmap(t.caller, at(2), page_size).ok());
  KERNEL_EXPECT(space.protect(t.caller, at(0), 4 * page_size, read_only).error() == Errno::enomem);
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(1), 1).error() == Errno::efault);
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(3), 1).ok());
  for (u64 wild : {u64{0}, u64{8}, vm::user_end, vm::user_end - 1, u64{1} << 47, u64{1} << 63, ~u64{0}, ~u64{7},
                   arch::direct_map_base, arch::kernel_image_base}) {
    KERNEL_EXPECT(vm::read_user<u64>(space, t.caller, {wild}).error() == Errno::efault);
    KERNEL_EXPECT(vm::write_user<u64>(space, t.caller, {wild}, 1).error() == Errno::efault);
    KERNEL_EXPECT(space.handle_fault(t.caller, {wild}, Access::read).error() == Errno::efault);
  }
  KERNEL_PASSED;
}

KERNEL_TEST(vm_bad_requests) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  const auto map_error = [&](const vm::MapRequest& request) { return space.map(t.caller, request).error(); };
  KERNEL_EXPECT(map_error(pages_at(place, 0)) == Errno::einval);
  vm::MapRequest request = pages_at(0, 1);
  request.length = ~u64{0};
  KERNEL_EXPECT(map_error(request) == Errno::enomem);
  request.length = vm::user_end;
  KERNEL_EXPECT(map_error(request) == Errno::enomem);
  KERNEL_EXPECT(map_error(pages_at(place + 1, 1)) == Errno::einval);
  KERNEL_EXPECT(map_error(pages_at(page_size, 1)) == Errno::eperm);
  KERNEL_EXPECT(map_error(pages_at(vm::user_end, 1)) == Errno::enomem);
  KERNEL_EXPECT(space.map(t.caller, pages_at(place, 1)).ok());
  request = pages_at(place, 1);
  request.fixed_noreplace = true;
  KERNEL_EXPECT(map_error(request) == Errno::eexist);
  KERNEL_EXPECT(map_error(pages_at(0, memory::page_statistics().total * 3)) == Errno::enomem);
  KERNEL_EXPECT(space.map(t.caller, pages_at(0, memory::page_statistics().total * 3, no_access)).ok());  // only reserved
  space.set_limits({.bytes = space.usage().mapped_bytes + 4 * page_size});
  KERNEL_EXPECT(map_error(pages_at(0, 5)) == Errno::enomem);
  KERNEL_EXPECT(space.map(t.caller, pages_at(0, 4)).ok());
  KERNEL_EXPECT(space.unmap(t.caller, {place + 1}, page_size).error() == Errno::einval);
  KERNEL_EXPECT(space.unmap(t.caller, {place}, 0).error() == Errno::einval);
  KERNEL_EXPECT(space.unmap(t.caller, {place}, ~u64{0}).error() == Errno::einval);
  KERNEL_EXPECT(space.unmap(t.caller, {place + 64 * page_size}, page_size).ok());  // nothing there: nothing to do
  KERNEL_EXPECT(space.protect(t.caller, {place + 1}, page_size, read_only).error() == Errno::einval);
  KERNEL_EXPECT(space.protect(t.caller, {place}, ~u64{0}, read_only).error() == Errno::enomem);
  KERNEL_EXPECT(space.protect(t.caller, {place + 64 * page_size}, page_size, read_only).error() == Errno::enomem);
  KERNEL_EXPECT(space.remap(t.caller, {{place + 1}, page_size, page_size}).error() == Errno::einval);
  KERNEL_EXPECT(space.remap(t.caller, {{place}, page_size, 0}).error() == Errno::einval);
  KERNEL_EXPECT(space.remap(t.caller, {{place + 64 * page_size}, page_size, 2 * page_size}).error() == Errno::efault);
  KERNEL_EXPECT(space.remap(t.caller, {{place}, 2 * page_size, 3 * page_size}).error() == Errno::efault);
  KERNEL_EXPECT(!t.caller.under_way());
  KERNEL_PASSED;
}

KERNEL_TEST(vm_break) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  space.set_break_start({place});
  const auto set = [&](u64 wish) { return space.set_break(t.caller, {wish}).value().value; };
  KERNEL_EXPECT(set(0) == place);
  KERNEL_EXPECT(set(place + 100) == place + 100);
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, {place + 99}, 5).ok());
  KERNEL_EXPECT(set(place + 10 * page_size + 1) == place + 10 * page_size + 1);
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(10), 6).ok());
  KERNEL_EXPECT(space.usage().mapped_bytes == 11 * page_size);
  KERNEL_EXPECT(space.map(t.caller, pages_at(place + 20 * page_size, 1)).ok());
  KERNEL_EXPECT(set(place + 30 * page_size) == place + 10 * page_size + 1);  // something is in the way
  KERNEL_EXPECT(set(vm::user_end + page_size) == place + 10 * page_size + 1);
  KERNEL_EXPECT(set(place - 1) == place + 10 * page_size + 1);
  KERNEL_EXPECT(set(place + page_size) == place + page_size);
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, at(10)).error() == Errno::efault);
  KERNEL_EXPECT(set(place + 11 * page_size) == place + 11 * page_size);
  KERNEL_EXPECT(byte_is(space, t, at(10), 0) && byte_is(space, t, at(0, 99), 5));
  KERNEL_PASSED;
}

KERNEL_TEST(vm_remap) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  KERNEL_EXPECT(made.ok());
  AddressSpace& space = *made.value();
  const auto remap = [&](const vm::RemapRequest& request) { return space.remap(t.caller, request); };
  KERNEL_EXPECT(space.map(t.caller, pages_at(place, 4)).ok());
  for (u64 i = 0; i < 4; ++i) KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(i), static_cast<u8>(i + 1)).ok());
  // In place, then into the way of something.
  KERNEL_EXPECT(remap({at(0), 4 * page_size, 6 * page_size}).value() == at(0));
  KERNEL_EXPECT(space.map(t.caller, pages_at(place + 6 * page_size, 1, read_only)).ok());
  KERNEL_EXPECT(remap({at(0), 6 * page_size, 8 * page_size}).error() == Errno::enomem);
  const Result<VirtualAddress> moved =
      remap({.old_start = at(0), .old_length = 6 * page_size, .new_length = 8 * page_size, .may_move = true});
  KERNEL_EXPECT(moved.ok() && moved.value() != at(0));
  const VirtualAddress now = moved.value();
  for (u64 i = 0; i < 4; ++i) KERNEL_EXPECT(byte_is(space, t, now + i * page_size, static_cast<u8>(i + 1)));
  KERNEL_EXPECT(byte_is(space, t, now + 7 * page_size, 0));
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, at(0)).error() == Errno::efault);
  // To a given place that is taken, shrinking.
  KERNEL_EXPECT(space.map(t.caller, pages_at(place + 32 * page_size, 2)).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(33), 99).ok());
  const vm::RemapRequest there{now, 8 * page_size, 2 * page_size, true, true, at(32)};
  KERNEL_EXPECT(remap(there).value() == at(32));
  KERNEL_EXPECT(byte_is(space, t, at(32), 1) && byte_is(space, t, at(33), 2));
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, now + 2 * page_size).error() == Errno::efault);
  KERNEL_EXPECT(remap({at(32), 2 * page_size, page_size}).value() == at(32));
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, at(33)).error() == Errno::efault);
  KERNEL_EXPECT(space.usage().mapped_bytes == 2 * page_size);
  KERNEL_PASSED;
}

KERNEL_TEST(vm_files) {
  TestCaller t;
  Result<Ref<AddressSpace>> made = AddressSpace::create();
  Result<Ref<vm::Backing>> file = TestFile::create();
  KERNEL_EXPECT(made.ok() && file.ok());
  AddressSpace& space = *made.value();
  vm::MapRequest request = pages_at(place, 4);
  request.backing = file.value();
  KERNEL_EXPECT(space.map(t.caller, request).ok());
  KERNEL_EXPECT(byte_is(space, t, at(0), 1) && byte_is(space, t, at(2), 3));
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(0), 50).ok());  // was read before
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(1), 60).ok());  // was not
  KERNEL_EXPECT(byte_is(space, t, at(0), 50) && byte_is(space, t, at(1), 60));
  KERNEL_EXPECT(space.handle_fault(t.caller, at(3), Access::read).error() == Errno::eio);
  KERNEL_EXPECT(vm::read_user<u8>(space, t.caller, at(3)).error() == Errno::efault);
  request = pages_at(place + 8 * page_size, 2, read_only);
  request.backing = file.value();
  request.first_page = 1;
  request.shared = true;
  request.may_write = false;
  KERNEL_EXPECT(space.map(t.caller, request).ok());
  KERNEL_EXPECT(byte_is(space, t, at(8), 2));  // the file is as it was
  KERNEL_EXPECT(space.protect(t.caller, at(8), page_size, read_write).error() == Errno::eacces);
  request.hint = at(16);
  request.may_write = true;
  request.protection = read_write;
  KERNEL_EXPECT(space.map(t.caller, request).ok());
  KERNEL_EXPECT(vm::write_user<u8>(space, t.caller, at(16), 70).ok());
  KERNEL_EXPECT(byte_is(space, t, at(8), 70) && byte_is(space, t, at(1), 60));
  // Discarded private pages show the file again.
  KERNEL_EXPECT(space.discard(t.caller, at(0), 3 * page_size).ok());
  KERNEL_EXPECT(byte_is(space, t, at(0), 1) && byte_is(space, t, at(1), 70));
  KERNEL_PASSED;
}

}  // namespace
}  // namespace corral::tests
