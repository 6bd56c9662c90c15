// Extended attributes, of which no file has any: everything is checked in Linux's order, then refused as by a file system without
// them. Source: Linux man-pages xattr(7), setxattr(2), getxattr(2), listxattr(2), removexattr(2).
#include "abi/linux/file_handlers.h"
#include "fs/inode.h"
#include "memory/heap.h"

namespace corral::abi {

namespace {

using fs::Follow;

// The file that a call's first argument means.
enum class By : u8 { path, link, descriptor };

template <By Way>
Result<void> find_file(Call& call) {
  if constexpr (Way == By::descriptor) {
    Ref<fs::OpenFile> file = TRY(file_at(call, 0));
    if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  } else {
    NamedFile named;
    (void)TRY(named.existing(call, fs::at_fdcwd, call.address(0), Way == By::path ? Follow::yes : Follow::no));
  }
  return {};
}

constexpr u64 longest_name = 255, longest_value = 65536;

Result<void> check_name(Call& call) {
  char name[longest_name + 1];
  const Result<u64> size = vm::copy_string_in(call.space, call.thread.caller, name, sizeof name, call.address(1));
  if (!size.ok()) return size.error() == Errno::enametoolong ? Errno::erange : size.error();
  if (size.value() == 0) return Errno::erange;
  return {};
}

Result<void> check_value(Call& call) {
  const u64 size = call.argument[3];
  if (size > longest_value) return Errno::e2big;
  if (size == 0) return {};
  return vm::prepare(call.space, call.thread.caller, call.address(2), size, vm::Access::read);
}

template <By Way>
Result<i64> sys_set(Call& call) {
  constexpr u32 create_or_replace = 3;
  TRY(find_file<Way>(call));
  if ((static_cast<u32>(call.argument[4]) & ~create_or_replace) != 0) return Errno::einval;
  TRY(check_name(call));
  TRY(check_value(call));
  return Errno::eopnotsupp;
}

template <By Way>
Result<i64> sys_get_or_remove(Call& call) {
  TRY(find_file<Way>(call));
  TRY(check_name(call));
  return Errno::eopnotsupp;
}

template <By Way>
Result<i64> sys_list(Call& call) {
  TRY(find_file<Way>(call));
  return 0;
}

constexpr Entry entries[] = {
    {188, "setxattr", sys_set<By::path>},
    {189, "lsetxattr", sys_set<By::link>},
    {190, "fsetxattr", sys_set<By::descriptor>},
    {191, "getxattr", sys_get_or_remove<By::path>},
    {192, "lgetxattr", sys_get_or_remove<By::link>},
    {193, "fgetxattr", sys_get_or_remove<By::descriptor>},
    {194, "listxattr", sys_list<By::path>},
    {195, "llistxattr", sys_list<By::link>},
    {196, "flistxattr", sys_list<By::descriptor>},
    {197, "removexattr", sys_get_or_remove<By::path>},
    {198, "lremovexattr", sys_get_or_remove<By::link>},
    {199, "fremovexattr", sys_get_or_remove<By::descriptor>},
};

}  // namespace

std::span<const Entry> attribute_calls() {
  return entries;
}

}  // namespace corral::abi
