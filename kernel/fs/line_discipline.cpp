// See line_discipline.h.
#include "fs/line_discipline.h"

namespace corral::fs {

namespace {

constexpr bool is_control(u8 c) {
  return c < 32 || c == 127;
}
constexpr bool continues_character(u8 c) {
  return (c & 0xc0) == 0x80;
}  // UTF-8
constexpr bool is_word_part(u8 c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c >= 0x80;
}

// Letters of Latin-1, as Linux changes them.
constexpr u8 lower_case(u8 c) {
  return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ? static_cast<u8>(c + 0x20) : c;
}
constexpr char upper_case(char letter) {
  const u8 c = static_cast<u8>(letter);
  return (c >= 'a' && c <= 'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7) ? static_cast<char>(c - 0x20) : letter;
}

constexpr int signal_interrupt = 2, signal_quit = 3, signal_stop = 20;

}  // namespace

void LineDiscipline::set_settings(const tty::Termios& settings) {
  const bool was_canonical = canonical();
  settings_ = settings;
  literal_ = false;
  if ((settings_.input & tty::ixon) == 0) stopped_ = false;
  if (was_canonical == canonical()) return;
  // What is there counts as finished: a raw reader takes it as it is, a canonical one as a line.
  for (u8& bits : ends_) bits = 0;
  line_start_ = written_;
  if (canonical() && written_ != taken_) {
    const u32 last = written_ - 1;
    ends_[last % capacity / 8] = static_cast<u8>(ends_[last % capacity / 8] | 1u << (last % 8));
  }
}

void LineDiscipline::flush_input() {
  taken_ = line_start_ = written_;
  for (u8& bits : ends_) bits = 0;
}

void LineDiscipline::put(u8 c, bool line_end) {
  const u32 place = written_ % capacity;
  buffer_[place] = c;
  const u32 bit = 1u << (place % 8);
  ends_[place / 8] = static_cast<u8>(line_end ? ends_[place / 8] | bit : ends_[place / 8] & ~bit);
  ++written_;
}

// With PARMRK a byte 0xff is told from marks by being given twice.
void LineDiscipline::put_plain(u8 c) {
  if (c == 0xff && (settings_.input & tty::parmrk) != 0 && written_ - taken_ < capacity - 2) put(c, false);
  put(c, false);
}

// ---- output ----------------------------------------------------------------------------------------------------------

u32 LineDiscipline::output(char c, char (&to)[8]) {
  u32 size = 0;
  if ((settings_.output & tty::opost) != 0) {
    switch (c) {
      case '\n':
        if ((settings_.output & tty::onlcr) != 0) to[size++] = '\r';
        if ((settings_.output & (tty::onlcr | tty::onlret)) != 0) column_ = 0;
        break;
      case '\r':
        if ((settings_.output & tty::onocr) != 0 && column_ == 0) return 0;
        if ((settings_.output & tty::ocrnl) != 0) c = '\n';
        column_ = 0;
        break;
      case '\t':
        if ((settings_.output & tty::tab_mask) == tty::tab_mask) {
          do {
            to[size++] = ' ';
            ++column_;
          } while (column_ % 8 != 0);
          return size;
        }
        column_ = (column_ | 7) + 1;
        break;
      case '\b':
        if (column_ > 0) --column_;
        break;
      default:
        if ((settings_.output & tty::olcuc) != 0) c = upper_case(c);
        if (!is_control(static_cast<u8>(c)) && !continues_character(static_cast<u8>(c))) ++column_;
        break;
    }
  }
  to[size++] = c;
  return size;
}

void LineDiscipline::show_raw(char c, Echo& echo) {
  char bytes[8];
  const u32 size = output(c, bytes);
  for (u32 i = 0; i < size; ++i) echo.show(bytes[i]);
}

void LineDiscipline::show(u8 c, Echo& echo) {
  if (is_control(c) && c != '\n' && c != '\t' && flag(tty::echoctl)) {
    show_raw('^', echo);
    show_raw(static_cast<char>(c ^ 0x40), echo);
  } else {
    show_raw(static_cast<char>(c), echo);
  }
}

// ---- editing ---------------------------------------------------------------------------------------------------------

// Where the character that ends before `end` begins.
u32 LineDiscipline::character_start(u32 end) const {
  u32 start = end - 1;
  if ((settings_.input & tty::iutf8) != 0) {
    while (start != line_start_ && continues_character(at(start))) --start;
  }
  return start;
}

// Columns that the part [from, to) of the unfinished line takes on the screen.
u32 LineDiscipline::width_between(u32 from, u32 to) const {
  u32 column = line_start_column_;
  u32 from_column = column;
  for (u32 i = line_start_; i != to; ++i) {
    if (i == from) from_column = column;
    const u8 c = at(i);
    if (c == '\t') {
      column = (column | 7) + 1;
    } else if (is_control(c)) {
      column += flag(tty::echoctl) ? 2 : 0;
    } else if ((settings_.input & tty::iutf8) == 0 || !continues_character(c)) {
      ++column;
    }
  }
  if (from == to) from_column = column;
  return column - from_column;
}

void LineDiscipline::remove_shown(u32 from, u32 to, Echo& echo) {
  if (!flag(tty::echo)) return;
  for (u32 n = width_between(from, to); n > 0; --n) {
    show_raw('\b', echo);
    show_raw(' ', echo);
    show_raw('\b', echo);
  }
}

void LineDiscipline::erase_one(Echo& echo) {
  if (written_ == line_start_) return;
  const u32 start = character_start(written_);
  if (flag(tty::echoe)) {
    remove_shown(start, written_, echo);
  } else if (flag(tty::echo)) {
    show(settings_.characters[tty::verase], echo);
  }
  written_ = start;
}

void LineDiscipline::erase_word(Echo& echo) {
  u32 start = written_;
  while (start != line_start_ && !is_word_part(at(start - 1))) --start;
  while (start != line_start_ && is_word_part(at(start - 1))) --start;
  remove_shown(start, written_, echo);
  written_ = start;
}

void LineDiscipline::kill_line(Echo& echo) {
  if (flag(tty::echok) && flag(tty::echoke) && flag(tty::echoe)) {
    remove_shown(line_start_, written_, echo);
  } else if (flag(tty::echo)) {
    show(settings_.characters[tty::vkill], echo);
    if (flag(tty::echok)) show_raw('\n', echo);
  }
  written_ = line_start_;
}

// ---- input -----------------------------------------------------------------------------------------------------------

LineDiscipline::Effect LineDiscipline::input(u8 c, Echo& echo) {
  Effect effect;
  if ((settings_.input & tty::istrip) != 0) c &= 0x7f;
  if ((settings_.input & tty::iuclc) != 0 && flag(tty::iexten)) c = lower_case(c);
  if (!literal_) {
    if (flag(tty::isig)) {
      const int signal = is(c, tty::vintr)   ? signal_interrupt
                         : is(c, tty::vquit) ? signal_quit
                         : is(c, tty::vsusp) ? signal_stop
                                             : 0;
      if (signal != 0) {
        effect.signal = signal;
        stopped_ = false;
        if (!flag(tty::noflsh)) {
          flush_input();
          effect.flushed = true;
        }
        if (flag(tty::echo)) show(c, echo);
        return effect;
      }
    }
    if ((settings_.input & tty::ixon) != 0) {
      if (is(c, tty::vstart)) {
        effect.restarted = stopped_;
        stopped_ = false;
        return effect;
      }
      if (is(c, tty::vstop)) {
        effect.stopped = !stopped_;
        stopped_ = true;
        return effect;
      }
      if (stopped_ && (settings_.input & tty::ixany) != 0) {
        stopped_ = false;
        effect.restarted = true;
      }
    }
    if (c == '\r') {
      if ((settings_.input & tty::igncr) != 0) return effect;
      if ((settings_.input & tty::icrnl) != 0) c = '\n';
    } else if (c == '\n' && (settings_.input & tty::inlcr) != 0) {
      c = '\r';
    }
  }
  if (canonical()) {
    canonical_input(c, echo, effect);
    return effect;
  }
  literal_ = false;
  if (written_ - taken_ >= capacity) return effect;  // full: the character is lost, as on any terminal
  if (flag(tty::echo)) show(c, echo);
  put_plain(c);
  line_start_ = written_;
  effect.ready = true;
  return effect;
}

void LineDiscipline::canonical_input(u8 c, Echo& echo, Effect& effect) {
  if (written_ == line_start_) line_start_column_ = column_;
  if (!literal_) {
    if (is(c, tty::verase)) return erase_one(echo);
    if (is(c, tty::vkill)) return kill_line(echo);
    if (flag(tty::iexten) && is(c, tty::vwerase)) return erase_word(echo);
    if (flag(tty::iexten) && is(c, tty::vlnext)) {
      literal_ = true;
      if (flag(tty::echo) && flag(tty::echoctl)) {
        show_raw('^', echo);
        show_raw('\b', echo);
      }
      return;
    }
    if (flag(tty::iexten) && is(c, tty::vreprint) && flag(tty::echo)) {
      show(c, echo);
      show_raw('\n', echo);
      line_start_column_ = column_;
      for (u32 i = line_start_; i != written_; ++i) show(at(i), echo);
      return;
    }
    const bool ends_file = is(c, tty::veof);
    if (c == '\n' || ends_file || is(c, tty::veol) || is(c, tty::veol2)) {
      if (written_ - taken_ >= capacity) return;
      if (c == '\n' ? flag(tty::echo) || flag(tty::echonl) : flag(tty::echo) && !ends_file) show(c, echo);
      put(ends_file ? 0 : c, true);
      line_start_ = written_;
      effect.ready = true;
      return;
    }
  }
  literal_ = false;
  if (written_ - taken_ >= capacity - 1) {  // room is kept for the end of the line
    if ((settings_.input & tty::imaxbel) != 0) echo.show('\a');
    return;
  }
  if (flag(tty::echo)) show(c, echo);
  put_plain(c);
}

LineDiscipline::Taken LineDiscipline::peek(std::span<char> to) const {
  Taken taken;
  const u32 end = end_of_ready();
  for (u32 i = taken_; i != end; ++i) {
    const bool line_end = canonical() && is_line_end(i);
    if (line_end && at(i) == 0) {  // an end of file: taken, not given
      ++taken.consumed;
      taken.line_end = true;
      break;
    }
    if (taken.bytes == to.size()) break;
    to[taken.bytes++] = static_cast<char>(at(i));
    ++taken.consumed;
    if (line_end) {
      taken.line_end = true;
      break;
    }
  }
  return taken;
}

}  // namespace corral::fs
