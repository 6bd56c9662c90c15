"""The page of `corral report` in a real browser without a network: drawn, pointed at, zoomed into."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from lab import paths
from lab.bench.results import Results, Row

PATIENCE_SECONDS = 120
KEPT = paths.BUILD / "report.png"  # for people to look at
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1600",
             "--host-resolver-rules=MAP * ~NOTFOUND")  # fmt: skip
# taskset moves itself from core to core, so there are migrations whatever the policies do.
PROGRAM = ("sh", "-c", "taskset 1 taskset 2 taskset 4 taskset 8 true; mandelbrot 6 --mode array --iterations 1000")
MOVES = 3  # at least: it may have begun on the first of these cores. Each is two ends of a line and a gap
CORES = 4


def corral(*words: object) -> None:
    ended = subprocess.run([str(paths.ROOT / "corral"), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise AssertionError(ended.stdout + ended.stderr)


class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="corral-report-")))
        rows = [Row(system, "icount", 1, 1, metric, value) for metric, value in (("fork", 100.0), ("mmap", 50.0), ("null", 7.0))
                for system in ("corral", "linux")]
        written = Results("operations", tuple(rows), "./corral bench operations").to_json()
        (cls.folder / "operations.json").write_text(written, encoding="utf-8")
        corral("trace", "--timeout", "120", "--cores", CORES, "--seed", 5, "--output", cls.folder / "run", "--", *PROGRAM)
        page = cls.folder / "page.html"
        corral("report", cls.folder / "operations.json", "--trace", cls.folder / "run.records", "--output", page)
        options = webdriver.ChromeOptions()
        for argument in (*ARGUMENTS, f"--user-data-dir={cls.folder / 'browser'}"):
            options.add_argument(argument)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.set_page_load_timeout(PATIENCE_SECONDS)
        cls.browser.set_script_timeout(PATIENCE_SECONDS)
        cls.browser.get(page.as_uri())

    def setUp(self) -> None:
        """All of the timeline is seen, and the mouse is elsewhere."""
        self.browser.execute_async_script("Plotly.relayout('timeline-1', {'xaxis.autorange': true}).then(arguments[0])")
        heading = self.browser.find_element(By.TAG_NAME, "h1")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", heading)
        ActionChains(self.browser).move_to_element(heading).perform()

    def count(self, selector: str) -> int:
        return len(self.browser.find_elements(By.CSS_SELECTOR, selector))

    def wait(self, condition) -> object:
        return WebDriverWait(self.browser, PATIENCE_SECONDS).until(lambda _: condition())

    def points(self, name: str) -> int:
        """How many places a series of the timeline has."""
        script = "const t = document.getElementById('timeline-1').data.find(t => t.name === arguments[0]); return t ? t.x.length : -1"
        return self.browser.execute_script(script, name)

    def span(self) -> float:
        """Milliseconds of the timeline that are seen."""
        low, high = self.browser.execute_script("return document.getElementById('timeline-1')._fullLayout.xaxis.range")
        return high - low

    def test_everything_is_drawn(self) -> None:
        self.wait(lambda: self.count("#timeline-1 .barlayer .point path") >= 7)
        rows = [element.text for element in self.browser.find_elements(By.CSS_SELECTOR, "#timeline-1 .ytick text")]
        self.assertEqual(rows, [f"core {core}" for core in range(CORES)])
        names = [element.text for element in self.browser.find_elements(By.CSS_SELECTOR, "#timeline-1 .legendtext")]
        self.assertGreaterEqual(sum(name.startswith("mandelbrot ") for name in names), 7)
        colours = {element.value_of_css_property("fill") for element in self.browser.find_elements(By.CSS_SELECTOR, "#timeline-1 .barlayer .point path")}
        self.assertGreaterEqual(len(colours), 7)
        self.assertGreater(self.points("wake-ups"), 6)
        self.assertGreater(self.points("placements"), 6)
        self.assertGreaterEqual(self.points("migrations"), 3 * MOVES)
        self.wait(lambda: self.count("#operations-1-1 .barlayer .point path") == 3)
        self.assertIn("3 of 3 figures", self.browser.find_element(By.ID, "findings").text)
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"], [])
        KEPT.parent.mkdir(exist_ok=True)
        self.assertTrue(self.browser.save_screenshot(str(KEPT)))

    def told(self, script: str) -> str:
        """What the timeline tells when the mouse points at the place that the script gives: a time, a core, and how much to show round it."""
        area = self.wait(lambda: self.browser.find_element(By.CSS_SELECTOR, "#timeline-1 .nsewdrag"))
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", area)
        # From the middle of the area, as the mouse goes.
        offset = self.browser.execute_async_script(f"""
            const done = arguments[0], chart = document.getElementById('timeline-1');
            {script}
            Plotly.relayout(chart, {{'xaxis.range': [time - round, time + round]}}).then(() => {{
              const x = chart._fullLayout.xaxis, y = chart._fullLayout.yaxis;
              done([x.d2p(time) - x._length / 2, y.d2p(core) - y._length / 2]);
            }});""")
        ActionChains(self.browser).move_to_element_with_offset(area, *(int(each) for each in offset)).perform()
        self.wait(lambda: self.count("#timeline-1 .hovertext"))
        return self.browser.find_element(By.CSS_SELECTOR, "#timeline-1 .hovertext").text

    def test_pointing_at_a_thread_tells_of_it(self) -> None:
        widest = """const bars = chart.data.filter(t => t.type === 'bar').flatMap(t => t.x.map((x, i) => [x, t.base[i], t.y[i]]));
                    const [length, begin, core] = bars.reduce((a, b) => b[0] > a[0] ? b : a);
                    const time = begin + length / 2, round = length / 4;"""
        self.assertRegex(self.told(widest), r"(?s)^mandelbrot \d+ on core \d.*ran [\d,.]+ µs, then .*priority")

    def test_pointing_at_a_decision_tells_its_scores(self) -> None:
        first = """const t = chart.data.find(t => t.name === 'placements');
                   const time = t.x[0], core = t.y[0], round = 0.001;"""
        self.assertRegex(self.told(first), r"(?s) is placed on core \d, by the least score, in threads.*core 0: \d+.*core 3: \d+")

    def test_zooming_with_the_wheel_and_back(self) -> None:
        area = self.wait(lambda: self.browser.find_element(By.CSS_SELECTOR, "#timeline-1 .nsewdrag"))
        before = self.span()
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", area)
        ActionChains(self.browser).scroll_from_origin(ScrollOrigin.from_element(area), 0, -300).perform()
        # Drawn, too: until then, 50 ms after the wheel's last turn, the chart would take no other range.
        self.wait(lambda: self.browser.execute_script("return document.getElementById('timeline-1').layout.xaxis.autorange === false"))
        self.assertLess(self.span(), before * 0.95)
        self.browser.find_element(By.CSS_SELECTOR, "#timeline-1 [data-title='Reset axes']").click()
        self.wait(lambda: self.span() > before * 0.99)

    def test_a_metric_is_chosen(self) -> None:
        self.wait(lambda: self.count("#operations-1-2 .barlayer .point path") == 2)
        menu = self.browser.find_element(By.CSS_SELECTOR, "#operations-1-2 .updatemenu-header")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", menu)
        menu.click()
        items = self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#operations-1-2 .updatemenu-dropdown-button"))
        items[1].click()
        self.wait(lambda: self.browser.find_element(By.CSS_SELECTOR, "#operations-1-2 .ytitle").text == "mmap")


if __name__ == "__main__":
    unittest.main()
