"""The engine's own metrics through the probe listener: relayed, and merged into ours."""

import contextlib
import http.client
import http.server
import subprocess
import threading

import pytest
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SLEEPER

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
VLLM = '# TYPE vllm:run gauge\nvllm:run{m="a"} 2.0\n'


class Exporter:
    """A server of one text; `hold` withholds it from all clients."""

    def __init__(self):
        self.status, self.type, self.body = 200, TEXT, VLLM
        self.asked = []
        self.hold = threading.Event()
        self.hold.set()
        exporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                exporter.asked.append((self.path, dict(self.headers)))
                exporter.hold.wait(PATIENCE)
                self.send_response(exporter.status)
                self.send_header("Content-Type", exporter.type)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(exporter.body.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/m" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def exporter():
    made = Exporter()
    yield made
    made.close()


@pytest.fixture
def scraped(world, exporter):
    def start(url=None, **probes):
        one = world(engine={"metrics": {"url": url or exporter.url}}, probes=probes)
        one.process = one.run(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"')
        return one

    return start


def scrape(one, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read().decode()
    finally:
        connection.close()


def test_the_engines_text_is_relayed_unchanged_in_the_form_that_the_scraper_accepts(
    scraped, exporter
):
    one = scraped()
    exporter.body = "# anything\n\nat all 1"
    assert scrape(one, "/metrics/engine", Accept="x/y") == (200, TEXT, exporter.body)
    exporter.type, exporter.body = OPENMETRICS, "# EOF\n"
    assert scrape(one, "/metrics/engine") == (200, OPENMETRICS, "# EOF\n")
    assert exporter.asked[0][0] == "/m" and exporter.asked[0][1]["Accept"] == "x/y"
    assert "Accept-Encoding" not in exporter.asked[0][1]
    assert "vllm" not in scrape(one, "/metrics")[2], "only where it is wished"


def test_ours_and_the_engines_are_one_text_where_that_is_wished(scraped, exporter):
    one = scraped(merge_engine_metrics=True)
    status, kind, text = scrape(one, "/metrics")
    assert (status, kind) == (200, TEXT)
    assert text.endswith("\n" + VLLM) and "\nlastcall_engine_metrics_up 1\n" in text
    exporter.body = "# TYPE lastcall_ready gauge\nlastcall_ready 7\n" + VLLM
    text = scrape(one, "/metrics")[2]
    assert "lastcall_ready 7" not in text and text.count("# TYPE lastcall_ready ") == 1


def test_openmetrics_has_one_end(scraped, exporter):
    one = scraped(merge_engine_metrics=True)
    exporter.type, exporter.body = OPENMETRICS, VLLM + "# EOF\n"
    _, kind, text = scrape(one, "/metrics", Accept="application/openmetrics-text")
    assert exporter.asked[-1][1]["Accept"].startswith("application/openmetrics-text")
    assert kind == OPENMETRICS and text.count("# EOF") == 1 and text.endswith("# EOF\n")
    assert "# TYPE lastcall_signals counter" in text or "_total counter" not in text


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (503, TEXT, "", "status 503"),
        (200, "application/json", "{}", "application/json"),
        (200, TEXT, "<html>", "not in Prometheus' text format"),
    ],
)
def test_metrics_that_cannot_be_merged_leave_ours(scraped, exporter, status, kind, body, said):
    one = scraped(merge_engine_metrics=True)
    exporter.status, exporter.type, exporter.body = status, kind, body
    answered, _, text = scrape(one, "/metrics")
    assert answered == 200 and "\nlastcall_engine_metrics_up 0\n" in text
    assert text.splitlines()[-1].startswith("# no metrics of the engine: ") and said in text
    assert exporter.url not in text


def test_an_engine_that_does_not_answer_costs_ours_only_its_bound(scraped, exporter):
    one = scraped(merge_engine_metrics=True, engine_metrics_timeout="200ms")
    exporter.hold.clear()
    status, _, text = scrape(one, "/metrics")
    assert status == 200 and "no answer within 200 ms" in text
    status, _, text = scrape(one, "/metrics/engine")
    assert (status, text) == (504, "cannot read the engine's metrics: no answer within 200 ms\n")


def test_the_scrapers_own_limit_counts_where_it_is_shorter(scraped, exporter):
    one = scraped(engine_metrics_timeout="30s")
    exporter.hold.clear()
    header = {"X-Prometheus-Scrape-Timeout-Seconds": "0.5"}
    assert "within 450 ms" in scrape(one, "/metrics/engine", **header)[2]


def test_scrapes_that_wait_for_an_engine_delay_no_probe_and_are_few(scraped, exporter):
    one = scraped(engine_metrics_timeout="30s")
    exporter.hold.clear()
    answers = []
    waiting = [
        threading.Thread(target=lambda: answers.append(scrape(one, "/metrics/engine")[0]))
        for _ in range(4)
    ]
    for thread in waiting:
        thread.start()
    wait_until(lambda: len(exporter.asked) == 4, "four fetches")
    assert scrape(one, "/livez")[0] == 200
    status, _, text = scrape(one, "/metrics/engine")
    assert status == 502 and "too many scrapes at once" in text
    exporter.hold.set()
    for thread in waiting:
        thread.join(PATIENCE)
    assert answers == [200] * 4


def test_an_engine_that_is_not_there_is_a_bad_gateway(scraped):
    one = scraped(url=f"http://127.0.0.1:{free_port()}/metrics?token=hush")
    status, _, text = scrape(one, "/metrics/engine")
    assert status == 502 and "connection refused" in text
    assert "hush" not in text and "http:" not in text


def test_an_engine_without_metrics_has_none(served):
    status, _, text = scrape(served, "/metrics/engine")
    assert status == 404 and "engine.metrics.url" in text


@pytest.mark.parametrize("path", ["/metrics", "/metrics/engine"])
def test_a_url_that_leads_back_to_us_is_reported(world, path):
    # A name that only the running program can distinguish from the engine's.
    port = free_port()
    one = world(
        engine={"metrics": {"url": f"http://0.0.0.0:{port}{path}"}},
        probes={"listen": f"[::]:{port}", "merge_engine_metrics": True},
    )
    one.port = port
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    status, _, text = scrape(one, "/metrics/engine")
    assert status == 502 and "is the URL of lastcall's own listener" in text
    status, _, text = scrape(one, "/metrics")
    assert status == 200 and "is the URL of lastcall's own listener" in text
    assert text.count("# TYPE lastcall_ready ") == 1


def test_a_url_of_our_own_listener_is_an_error_of_the_configuration(world):
    one = world(engine={"metrics": {"url": "http://localhost:7090/metrics"}})
    one.config["probes"]["listen"] = "[::]:7090"
    done = subprocess.run(
        (LASTCALL, "check", "--config", one.write_config()), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "engine.metrics.url: http://localhost:7090/metrics is lastcall's own listener" in (
        done.stdout + done.stderr
    )
