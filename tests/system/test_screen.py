"""The VGA text console: what a person at the machine sees."""

import unittest

from lab import guest, paths, screen

KEPT = paths.RESULTS / "screen-mandelbrot.png"


class Screen(unittest.TestCase):
    def test_mandelbrot_is_drawn_in_colours(self) -> None:
        with guest.corral(4) as machine:
            machine.prompt()
            before = screen.take(machine.qmp)
            machine.run("mandelbrot 4 --mode draw --iterations 200")
            picture = screen.take(machine.qmp)
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_bytes(picture.to_png())
        self.assertGreater(len(before.colours()), 1, "the screen was blank at the prompt")
        # Text cells of 8 or 9 x 16 pixels, 80 x 25 of them, most with a star of some colour.
        lit = {colour: count for colour, count in picture.colours().items() if colour != b"\0\0\0"}
        self.assertGreaterEqual(len(lit), 5, f"few colours: {lit}")
        self.assertGreater(sum(lit.values()), 10_000, f"few stars: {lit}")

    def test_keys_of_the_keyboard_arrive(self) -> None:
        with guest.corral(2) as machine:
            machine.prompt()
            for key in ("e", "c", "h", "o", "spc", "shift-h", "i", "ret"):
                machine.qmp.monitor(f"sendkey {key}")
                machine.run_for(0.3)
            machine.expect(r"(?m)^Hi\r?$")
