// What a terminal does with characters between the line and the programs: editing, echo, signals, line ends.
// Pure: no device, no lock, no waiting; the terminal (fs/terminal) holds its lock around it, and host tests drive it.
// Source: POSIX.1-2017, chapter 11 (General Terminal Interface); Linux termios(3).
#pragma once

#include <span>

#include "fs/termios.h"

namespace corral::fs {

class LineDiscipline {
 public:
  static constexpr u32 capacity = 4096;  // bytes of input that are kept; canonical lines have at most one less

  // Takes what is to be shown (echo), already processed as output.
  class Echo {
   public:
    virtual void show(char c) = 0;

   protected:
    ~Echo() = default;
  };

  struct Effect {
    int signal = 0;         // for the foreground process group: SIGINT 2, SIGQUIT 3, SIGTSTP 20
    bool ready = false;     // a reader may find something
    bool flushed = false;   // a signal character threw the input away; what was not yet shown goes too
    bool stopped = false;   // output stops (^S)
    bool restarted = false; // output goes on after having been stopped (^Q)
  };

  constexpr explicit LineDiscipline(const tty::Termios& settings) : settings_{settings} {}

  [[nodiscard]] const tty::Termios& settings() const { return settings_; }
  void set_settings(const tty::Termios& settings);
  [[nodiscard]] bool canonical() const { return (settings_.local & tty::icanon) != 0; }

  // One character from the line.
  Effect input(u8 c, Echo& echo);
  // One character of a program's output: what goes to the line, at most 8 bytes; answers how many.
  u32 output(char c, char (&to)[8]);
  [[nodiscard]] bool output_stopped() const { return stopped_; }
  void set_output_stopped(bool stopped) { stopped_ = stopped; }
  // How many characters can be typed without losing one. A line that is not finished takes any number: its end must get in.
  [[nodiscard]] u32 input_room() const {
    if (canonical() && taken_ == line_start_) return capacity;
    const u32 most = canonical() ? capacity - 1 : capacity;
    return written_ - taken_ < most ? most - (written_ - taken_) : 0;
  }

  // Bytes that a read could take now: in canonical mode those of the finished lines.
  [[nodiscard]] u32 available() const { return end_of_ready() - taken_; }
  // There is something for a read, be it only an end of file.
  [[nodiscard]] bool ready() const { return available() > 0; }
  struct Taken {
    u32 bytes = 0;     // copied
    u32 consumed = 0;  // to be given to consume()
    bool line_end = false;
  };
  // Copies what a read gets next, without taking it: in canonical mode no further than the end of a line.
  [[nodiscard]] Taken peek(std::span<char> to) const;
  void consume(u32 characters) { taken_ += characters; }
  void flush_input();

 private:
  [[nodiscard]] u32 end_of_ready() const { return canonical() ? line_start_ : written_; }
  [[nodiscard]] u8 at(u32 position) const { return buffer_[position % capacity]; }
  [[nodiscard]] bool is_line_end(u32 position) const { return (ends_[position % capacity / 8] >> (position % 8) & 1) != 0; }
  [[nodiscard]] bool is(u8 c, tty::Place place) const { return c == settings_.characters[place] && c != 0; }
  void put(u8 c, bool line_end);
  void put_plain(u8 c);
  void canonical_input(u8 c, Echo& echo, Effect& effect);
  void show(u8 c, Echo& echo);
  void show_raw(char c, Echo& echo);
  void erase_one(Echo& echo);
  void erase_word(Echo& echo);
  void kill_line(Echo& echo);
  void remove_shown(u32 from, u32 to, Echo& echo);
  [[nodiscard]] u32 width_between(u32 from, u32 to) const;
  [[nodiscard]] u32 character_start(u32 end) const;
  [[nodiscard]] bool flag(u32 bit) const { return (settings_.local & bit) != 0; }

  tty::Termios settings_;
  u32 taken_ = 0;       // positions count for ever, modulo 2^32
  u32 line_start_ = 0;  // the unfinished line begins here; everything before is finished
  u32 written_ = 0;
  u32 column_ = 0;             // of the cursor
  u32 line_start_column_ = 0;  // where the unfinished line began
  bool literal_ = false;       // the next character loses its meaning (^V)
  bool stopped_ = false;       // ^S
  u8 buffer_[capacity] = {};
  u8 ends_[capacity / 8] = {};  // marks characters that end a line; an end of file is a marked 0
};

}  // namespace corral::fs
