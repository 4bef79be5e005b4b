"""A headless Chromium, driven over WebDriver (W3C) by Debian's chromedriver."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

PATIENCE = 60.0

# The contrast of every text that is shown to its background, as WCAG 2.1 computes it.
CONTRASTS = """
const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const behind = node => {
  for (; node; node = node.parentElement) {
    const color = rgb(getComputedStyle(node).backgroundColor);
    if (color.length === 3 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const found = [];
for (const node of document.querySelectorAll("body *")) {
  const says = [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  const hidden = ["SCRIPT", "STYLE", "NOSCRIPT"].includes(node.tagName);
  if (!says || hidden || !node.checkVisibility()) continue;
  const one = light(rgb(getComputedStyle(node).color)), two = light(behind(node));
  const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
  if (contrast < arguments[0]) found.push(`${node.textContent}: ${contrast.toFixed(2)}`);
}
return found;
"""


class Browser:
    """One window. `close()` ends the browser and its driver."""

    def __init__(self):
        self._folder = tempfile.mkdtemp()
        driver = shutil.which("chromedriver")
        assert driver, "chromedriver is missing: ./dev setup installs it"
        self._driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "HOME": self._folder, "TMPDIR": self._folder},
        )  # fmt: skip
        try:
            self._url = f"http://127.0.0.1:{self._port()}"
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage",
                         f"--user-data-dir={self._folder}/profile"]  # fmt: skip
            wanted = {"goog:chromeOptions": {"args": arguments},
                      "goog:loggingPrefs": {"browser": "ALL"}}  # fmt: skip
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._url += "/session/" + made["sessionId"]
        except BaseException:
            self.close()
            raise

    def _port(self):
        for line in self._driver.stdout:
            _, found, rest = line.partition("started successfully on port ")
            if found:
                return int(rest.split(".")[0])
        raise AssertionError("chromedriver did not start")

    def _call(self, method, path, body=None):
        request = urllib.request.Request(
            self._url + path, method=method, headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode(),
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()[:400]}") from None

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self):
        return self.run("return document.body.innerText")

    def console(self):
        """What was written there since the last call: errors, and violations of a policy."""
        return [line["message"] for line in self._call("POST", "/se/log", {"type": "browser"})]

    def dress(self, width, height, scheme):
        """The size of the window in CSS pixels, and the colour scheme that its user prefers."""
        self._devtools("Emulation.setDeviceMetricsOverride",
                       width=width, height=height, deviceScaleFactor=1, mobile=False)  # fmt: skip
        self._devtools("Emulation.setEmulatedMedia",
                       features=[{"name": "prefers-color-scheme", "value": scheme}])  # fmt: skip

    def _devtools(self, command, **parameters):
        self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def picture(self, path):
        """The whole page as PNG."""
        size = self.run("return document.documentElement.getBoundingClientRect().height")
        with open(path, "wb") as file:
            clip = {"x": 0, "y": 0, "scale": 1, "height": size,
                    "width": self.run("return innerWidth")}  # fmt: skip
            shot = self._call("POST", "/goog/cdp/execute", {
                "cmd": "Page.captureScreenshot",
                "params": {"clip": clip, "captureBeyondViewport": True}})  # fmt: skip
            file.write(base64.b64decode(shot["data"]))

    def close(self):
        with contextlib.suppress(OSError, AssertionError):
            self._call("DELETE", "")
        self._driver.terminate()
        self._driver.wait()
        self._driver.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
