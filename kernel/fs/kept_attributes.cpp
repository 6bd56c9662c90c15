// See kept_attributes.h.
#include "fs/kept_attributes.h"

namespace corral::fs {

KeptAttributes::KeptAttributes(u32 permissions)
    : born_ns_{wall_time_ns()},
      accessed_ns_{born_ns_},
      modified_ns_{born_ns_},
      changed_ns_{born_ns_},
      permissions_{permissions & 07777} {}

void KeptAttributes::tell(Attributes& to) const {
  to.permissions = permissions_.load(Order::relaxed);
  to.user = user_.load(Order::relaxed);
  to.group = group_.load(Order::relaxed);
  to.accessed_ns = accessed_ns_.load(Order::relaxed);
  to.modified_ns = modified_ns_.load(Order::relaxed);
  to.changed_ns = changed_ns_.load(Order::relaxed);
  to.born_ns = born_ns_;
}

void KeptAttributes::change(const AttributeChange& change) {
  if (change.set_permissions) permissions_.store(change.permissions & 07777, Order::relaxed);
  if (change.set_user) user_.store(change.user, Order::relaxed);
  if (change.set_group) group_.store(change.group, Order::relaxed);
  if (change.set_accessed) accessed_ns_.store(change.accessed_ns, Order::relaxed);
  if (change.set_modified) modified_ns_.store(change.modified_ns, Order::relaxed);
  touch_changed();
}

void KeptAttributes::set_owner(u32 user, u32 group) {
  user_.store(user, Order::relaxed);
  group_.store(group, Order::relaxed);
}

void KeptAttributes::set_times(i64 ns) {
  accessed_ns_.store(ns, Order::relaxed);
  modified_ns_.store(ns, Order::relaxed);
}

void KeptAttributes::touch_modified() {
  const i64 now = wall_time_ns();
  modified_ns_.store(now, Order::relaxed);
  changed_ns_.store(now, Order::relaxed);
}

void KeptAttributes::touch_changed() {
  changed_ns_.store(wall_time_ns(), Order::relaxed);
}

}  // namespace corral::fs
