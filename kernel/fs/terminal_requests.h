// The ioctl numbers of terminals. Source: Linux uapi asm-generic/ioctls.h (x86-64).
#pragma once

#include "lib/types.h"

namespace corral::fs::tty {

enum Request : u32 {
  get_settings = 0x5401,        // TCGETS
  set_settings = 0x5402,        // TCSETS, TCSETSW, TCSETSF
  set_settings_drained = 0x5403,
  set_settings_flushed = 0x5404,
  get_old_settings = 0x5405,    // TCGETA
  set_old_settings = 0x5406,    // TCSETA, TCSETAW, TCSETAF
  set_old_settings_drained = 0x5407,
  set_old_settings_flushed = 0x5408,
  send_break = 0x5409,          // TCSBRK: a break, or with an argument tcdrain
  flow_control = 0x540a,        // TCXONC
  flush = 0x540b,               // TCFLSH
  exclusive = 0x540c,           // TIOCEXCL
  not_exclusive = 0x540d,
  take_as_controlling = 0x540e, // TIOCSCTTY
  get_foreground = 0x540f,      // TIOCGPGRP
  set_foreground = 0x5410,
  output_waiting = 0x5411,      // TIOCOUTQ
  type_character = 0x5412,      // TIOCSTI
  get_window_size = 0x5413,     // TIOCGWINSZ
  set_window_size = 0x5414,
  get_local_line = 0x5419,      // TIOCGSOFTCAR: CLOCAL
  set_local_line = 0x541a,
  packet_mode = 0x5420,         // TIOCPKT
  give_up_controlling = 0x5422, // TIOCNOTTY
  set_discipline = 0x5423,
  get_discipline = 0x5424,
  send_break_posix = 0x5425,    // TCSBRKP
  break_on = 0x5427,
  break_off = 0x5428,
  get_session = 0x5429,         // TIOCGSID
  hang_up = 0x5437,             // TIOCVHANGUP
  is_exclusive = 0x8004'5440,   // TIOCGEXCL
  open_peer = 0x5441,           // TIOCGPTPEER
  get_device = 0x8004'5432,     // TIOCGDEV
  get_number = 0x8004'5430,     // TIOCGPTN
  set_lock = 0x4004'5431,       // TIOCSPTLCK
  get_lock = 0x8004'5439,
  send_signal = 0x4004'5436,    // TIOCSIG
  get_packet_mode = 0x8004'5438,
  get_settings_2 = 0x802c'542a, // TCGETS2
  set_settings_2 = 0x402c'542b, // TCSETS2, TCSETSW2, TCSETSF2
  set_settings_2_drained = 0x402c'542c,
  set_settings_2_flushed = 0x402c'542d,
};

}  // namespace corral::fs::tty
