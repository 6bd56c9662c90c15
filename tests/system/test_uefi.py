"""The same image under UEFI (OVMF): from a disc and from a stick, with text on the firmware's picture, to the end."""

import shutil
import tempfile
import unittest
from pathlib import Path

from lab import guest, iso, packages, paths, screen

KEPT = paths.RESULTS / "screen-uefi.png"
PATIENCE = 120.0  # the firmware takes its time, and so does the boot loader on its screen


class Uefi(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        packages.ensure(["image", "uefi"], yes=True)
        cls.work = Path(tempfile.mkdtemp(prefix="corral-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.image = iso.make(iso.Entry("multiboot2", paths.KERNEL_ELF, paths.INITRAMFS, ""), cls.work / "a.iso")

    def boot(self, **settings: object) -> guest.Guest:
        return guest.corral(4, image=self.image, uefi=True, patience=PATIENCE, **settings)  # type: ignore[arg-type]

    def test_text_in_colours_on_the_picture(self) -> None:
        with self.boot() as machine:
            machine.prompt()
            self.assertEqual(machine.run("nproc").output, "4\n")
            before = screen.take(machine.qmp)
            machine.run("mandelbrot 4 --mode draw --iterations 200")
            picture = screen.take(machine.qmp)
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_bytes(picture.to_png())
        self.assertGreaterEqual(before.width, 640)
        self.assertGreaterEqual(before.height, 400)
        self.assertIn(b"\xaa\xaa\xaa", before.colours(), "no grey text at the prompt")
        lit = {colour: count for colour, count in picture.colours().items() if colour != b"\0\0\0"}
        self.assertGreaterEqual(len(lit), 5, f"few colours: {lit}")
        self.assertGreater(sum(lit.values()), 10_000, f"few stars: {lit}")

    def test_keys_arrive_and_the_screen_scrolls(self) -> None:
        with self.boot() as machine:
            machine.prompt()
            for key in ("s", "e", "q", "spc", "9", "9", "ret"):
                machine.qmp.monitor(f"sendkey {key}")
                machine.run_for(0.3)
            machine.expect(r"(?m)^99\r?$")
            machine.run("true")
            # Scrolled: the bottom rows hold text, and so does the top row.
            picture = screen.take(machine.qmp)
        grey = [at // 3 // picture.width for at in range(0, len(picture.pixels), 3)
                if picture.pixels[at : at + 3] == b"\xaa\xaa\xaa"]
        scale = min(picture.width // 640, picture.height // 400)
        top = (picture.height - 400 * scale) // 2
        self.assertLess(min(grey), top + 16 * scale, "nothing in the first row")
        self.assertGreater(max(grey), top + 23 * 16 * scale, "nothing in the last rows")

    def test_from_a_stick_then_power_off(self) -> None:
        with self.boot(stick=True) as machine:
            machine.prompt()
            machine.send("poweroff -f\n")
            self.assertEqual(machine.ended().status, 0, machine.said())

    def test_reboot_starts_the_machine_again(self) -> None:
        with self.boot() as machine:
            machine.prompt()
            control = machine.qmp
            machine.send("reboot -f\n")
            self.assertEqual(machine.ended().status, 0)  # QEMU is told not to start it again
            self.assertEqual(control.shutdown_reason(), "guest-reset")
