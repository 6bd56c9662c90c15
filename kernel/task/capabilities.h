// Capabilities: the rights of root, one by one. Plain values, any context. Numbers and meaning: Linux capabilities(7).
#pragma once

#include "lib/types.h"

namespace corral {

enum class Capability : u8 {
  chown = 0,
  dac_override = 1,
  dac_read_search = 2,
  fowner = 3,
  fsetid = 4,
  kill = 5,
  setgid = 6,
  setuid = 7,
  setpcap = 8,
  linux_immutable = 9,
  net_bind_service = 10,
  net_admin = 12,
  ipc_lock = 14,
  ipc_owner = 15,
  sys_chroot = 18,
  sys_ptrace = 19,
  sys_admin = 21,
  sys_boot = 22,
  sys_nice = 23,
  sys_resource = 24,
  sys_time = 25,
  sys_tty_config = 26,
  mknod = 27,
  lease = 28,
  mac_override = 32,
  syslog = 34,
};
inline constexpr u32 capability_count = 41;  // … CAP_CHECKPOINT_RESTORE

class CapabilitySet {
 public:
  constexpr CapabilitySet() = default;
  // Numbers that no capability has are left out.
  static constexpr CapabilitySet of_bits(u64 bits) {
    CapabilitySet set;
    set.bits_ = bits & ((u64{1} << capability_count) - 1);
    return set;
  }
  static constexpr CapabilitySet all() { return of_bits(~u64{0}); }
  static constexpr CapabilitySet of(Capability capability) { return of_number(static_cast<u32>(capability)); }
  // `number` is below capability_count.
  static constexpr CapabilitySet of_number(u32 number) { return of_bits(u64{1} << number); }

  [[nodiscard]] constexpr u64 bits() const { return bits_; }
  [[nodiscard]] constexpr bool has(Capability capability) const { return contains(of(capability)); }
  [[nodiscard]] constexpr bool contains(CapabilitySet other) const { return (other.bits_ & ~bits_) == 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  constexpr CapabilitySet operator|(CapabilitySet other) const { return of_bits(bits_ | other.bits_); }
  constexpr CapabilitySet operator&(CapabilitySet other) const { return of_bits(bits_ & other.bits_); }
  [[nodiscard]] constexpr CapabilitySet without(CapabilitySet other) const { return of_bits(bits_ & ~other.bits_); }

 private:
  u64 bits_ = 0;
};

// What belongs to the user for access to files (setfsuid(2)).
inline constexpr CapabilitySet file_capabilities =
    CapabilitySet::of(Capability::chown) | CapabilitySet::of(Capability::dac_override) |
    CapabilitySet::of(Capability::dac_read_search) | CapabilitySet::of(Capability::fowner) |
    CapabilitySet::of(Capability::fsetid) | CapabilitySet::of(Capability::linux_immutable) |
    CapabilitySet::of(Capability::mknod) | CapabilitySet::of(Capability::mac_override);

// How much root counts (securebits); the lock of each is the bit above it.
inline constexpr u32 secure_no_root = 1u << 0, secure_no_setuid_fixup = 1u << 2, secure_keep_capabilities = 1u << 4,
                     secure_no_ambient_raise = 1u << 6;
inline constexpr u32 secure_bits_all = 0x55, secure_locks_all = 0xaa;

}  // namespace corral
