"""A real Prometheus that scrapes one address four times a second, with the labels of a pod."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml
from ports import free_port
from serve_peer import wait_until


class Prometheus:
    def __init__(self, folder, target, rules=()):
        self.port = free_port()
        config = {
            "global": {"scrape_interval": "250ms", "evaluation_interval": "250ms"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [{
                "job_name": "lastcall",
                "static_configs": [
                    {"targets": [target], "labels": {"namespace": "ns", "pod": "p"}}
                ],
            }],
        }  # fmt: skip
        file = folder / "prometheus.yaml"
        file.write_text(yaml.safe_dump(config))
        self._log = open(folder / "prometheus.log", "wb")  # noqa: SIM115
        self._process = subprocess.Popen(
            ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            stdout=self._log, stderr=self._log,
        )  # fmt: skip
        wait_until(self._is_ready, "a Prometheus")
        wait_until(lambda: self.value("up") == 1, "a first scrape")

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=20):
                return True
        except OSError:
            return False

    def query(self, expression):
        """The result of an instant query; an error of the expression is one of the test."""
        words = urllib.parse.urlencode({"query": expression}).encode()
        url = f"http://127.0.0.1:{self.port}/api/v1/query"
        try:
            with urllib.request.urlopen(url, words, timeout=20) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        assert found["status"] == "success", found
        return found["data"]["result"]

    def value(self, expression):
        """The value of the first series, nothing where there is none."""
        found = self.query(expression)
        return float(found[0]["value"][1]) if found else None

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()
