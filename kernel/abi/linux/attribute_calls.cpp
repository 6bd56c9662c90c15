// Extended attributes: names, sizes and rights are checked here, in Linux's order; what is kept where is the file's matter.
// Source: Linux man-pages xattr(7), setxattr(2), getxattr(2), listxattr(2), removexattr(2).
#include "abi/linux/file_handlers.h"
#include "fs/inode.h"
#include "fs/permission.h"
#include "fs/watch/notices.h"
#include "memory/heap_array.h"

namespace corral::abi {

namespace {

using fs::Follow;
using fs::Inode;

// The file that a call's first argument means.
enum class By : u8 { path, link, descriptor };

template <By Way>
Result<Ref<Inode>> find_file(Call& call) {
  if constexpr (Way == By::descriptor) {
    Ref<fs::OpenFile> file = TRY(file_at(call, 0));
    if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
    return Ref<Inode>::share(file->inode());
  } else {
    NamedFile named;
    return named.existing(call, fs::at_fdcwd, call.address(0), Way == By::path ? Follow::yes : Follow::no);
  }
}

// ---- names and who may use them -----------------------------------------------------------------------------------------------

constexpr std::string_view of_users = "user.", trusted = "trusted.", security = "security.";

struct Name {
  char text[fs::longest_attribute_name + 1];
  u64 size = 0;
  [[nodiscard]] std::string_view view() const { return {text, size}; }
};

Result<void> take_name(Call& call, Name& name) {
  const Result<u64> size = vm::copy_string_in(call.space, call.thread.caller, name.text, sizeof name.text, call.address(1));
  if (!size.ok()) return size.error() == Errno::enametoolong ? Errno::erange : size.error();
  if (size.value() == 0) return Errno::erange;
  name.size = size.value();
  return {};
}

// eperm; enodata: it is not for this thread to read, as if it were not there; eacces.
Result<void> check_rights(Call& call, Inode& file, std::string_view name, bool write) {
  if (name.starts_with(security) || name.starts_with("system.")) return {};
  const Errno refused = write ? Errno::eperm : Errno::enodata;
  if (name.starts_with(trusted)) return call.thread.may(Capability::sys_admin) ? Result<void>{} : refused;
  if (name.starts_with(of_users)) {
    if (file.type() != fs::FileType::regular && !file.is_directory()) return refused;
    constexpr u32 sticky = 01000;
    const bool is_shared = file.is_directory() && (file.attributes().permissions & sticky) != 0;
    if (write && is_shared && !fs::permission::owns(file, call.thread.credentials())) return Errno::eperm;
  }
  return fs::permission::check(file, call.thread.credentials(), write ? fs::may_write : fs::may_read);
}

// Who may change what stands for the security of a file. File capabilities are not honoured, so none are taken.
Result<void> check_security(Call& call, std::string_view name) {
  if (!name.starts_with(security)) return {};
  if (name == "security.capability") return Errno::eopnotsupp;
  return call.thread.may(Capability::sys_admin) ? Result<void>{} : Errno::eperm;
}

// eopnotsupp: no such namespace; einval: nothing stands behind it.
Result<void> check_namespace(std::string_view name) {
  for (const std::string_view prefix : {of_users, trusted, security}) {
    if (name.starts_with(prefix)) return name.size() > prefix.size() ? Result<void>{} : Errno::einval;
  }
  return Errno::eopnotsupp;
}

Result<void> check_readable(Call& call, Inode& file, std::string_view name) {
  TRY(check_rights(call, file, name, false));
  return check_namespace(name);
}

Result<void> check_changeable(Call& call, Inode& file, std::string_view name) {
  if (file.is_protected()) return Errno::eperm;
  TRY(check_rights(call, file, name, true));
  TRY(check_security(call, name));
  return check_namespace(name);
}

// ---- the calls ---------------------------------------------------------------------------------------------------------------------

template <By Way>
Result<i64> sys_set(Call& call) {
  constexpr u32 create = 1, replace = 2;
  const Ref<Inode> file = TRY(find_file<Way>(call));
  TRY(may_change(*file));
  const auto flags = static_cast<u32>(call.argument[4]);
  if ((flags & ~(create | replace)) != 0) return Errno::einval;
  Name name;
  TRY(take_name(call, name));
  const u64 size = call.argument[3];
  if (size > fs::longest_attribute) return Errno::e2big;
  memory::HeapArray<u8> value;
  TRY(value.allocate(size));
  if (size > 0) TRY(vm::copy_in(call.space, call.thread.caller, value.data(), call.address(2), size));
  TRY(check_changeable(call, *file, name.view()));
  TRY(file->set_attribute(name.view(), value.all(), {.create = (flags & create) != 0, .replace = (flags & replace) != 0}));
  fs::notices::tell(*file, fs::notices::attributes_changed);
  return 0;
}

template <By Way>
Result<i64> sys_get(Call& call) {
  const Ref<Inode> file = TRY(find_file<Way>(call));
  Name name;
  TRY(take_name(call, name));
  memory::HeapArray<u8> value;
  TRY(value.allocate(fs::smaller(call.argument[3], fs::longest_attribute)));
  TRY(check_readable(call, *file, name.view()));
  const u64 size = TRY(file->attribute(name.view(), value.all()));
  if (value.size() > 0) TRY(vm::copy_out(call.space, call.thread.caller, call.address(2), value.data(), size));
  return static_cast<i64>(size);
}

template <By Way>
Result<i64> sys_remove(Call& call) {
  const Ref<Inode> file = TRY(find_file<Way>(call));
  TRY(may_change(*file));
  Name name;
  TRY(take_name(call, name));
  TRY(check_changeable(call, *file, name.view()));
  TRY(file->remove_attribute(name.view()));
  fs::notices::tell(*file, fs::notices::attributes_changed);
  return 0;
}

template <By Way>
Result<i64> sys_list(Call& call) {
  const Ref<Inode> file = TRY(find_file<Way>(call));
  memory::HeapArray<char> list;
  TRY(list.allocate(fs::smaller(call.argument[2], fs::longest_attribute_list)));
  const u64 size = TRY(file->list_attributes(list.all(), call.thread.may(Capability::sys_admin)));
  if (list.size() > 0 && size > 0) TRY(vm::copy_out(call.space, call.thread.caller, call.address(1), list.data(), size));
  return static_cast<i64>(size);
}

constexpr Entry entries[] = {
    {188, "setxattr", sys_set<By::path>},          {189, "lsetxattr", sys_set<By::link>},
    {190, "fsetxattr", sys_set<By::descriptor>},   {191, "getxattr", sys_get<By::path>},
    {192, "lgetxattr", sys_get<By::link>},         {193, "fgetxattr", sys_get<By::descriptor>},
    {194, "listxattr", sys_list<By::path>},        {195, "llistxattr", sys_list<By::link>},
    {196, "flistxattr", sys_list<By::descriptor>}, {197, "removexattr", sys_remove<By::path>},
    {198, "lremovexattr", sys_remove<By::link>},   {199, "fremovexattr", sys_remove<By::descriptor>},
};

}  // namespace

std::span<const Entry> attribute_calls() {
  return entries;
}

}  // namespace corral::abi
