"""The alerts of charts/lastcall-injector, asked by promtool about metrics of a real webhook."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import promtool_rules
import pytest
import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path += [str(HERE.parent), str(HERE.parent / "serve"), str(HERE.parent / "registries")]
from certificates import Authority  # noqa: E402
from kube_api import free_ports, kubeconfig  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from test_webhook import hooked  # noqa: E402
from webhook_process import GOLDEN, KUBE, NAME, PATIENCE, Webhook, pod_of  # noqa: E402

ALERTS = ROOT / "charts/lastcall-injector/files/alerts.yaml"
PERIOD = 15
SAMPLES = 60

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool: package prometheus"),
]


class Lasting(Authority):
    """Its certificates are good for longer than any alert looks ahead."""

    def sign(self, name, subject, days=400, **how):
        return super().sign(name, subject, days=days, **how)


def rules():
    [group] = yaml.safe_load(ALERTS.read_text())["groups"]
    return group["rules"]


def series(before, after):
    """Two scrapes of one webhook, each held for half of the samples; promtool begins at 0."""
    now = time.time()
    first = dict(line.rsplit(" ", 1) for line in before.splitlines() if line[:1] != "#")
    made = []
    for line in after.splitlines():
        if line[:1] == "#":
            continue
        key, value = line.rsplit(" ", 1)
        pair = [first.get(key, "0"), value]
        if "timestamp" in key:
            pair = [f"{float(each) - now:.0f}" if float(each) else each for each in pair]
        held = " ".join([pair[0]] * (SAMPLES // 2) + [pair[1]] * (SAMPLES // 2))
        made.append({"series": key, "values": held})
    return made


def firing(folder, made):
    names = [rule["alert"] for rule in rules()]
    return promtool_rules.firing(ALERTS, names, made, PERIOD, (SAMPLES - 1) * PERIOD, folder)


@pytest.fixture
def authority(tmp_path):
    folder = tmp_path / "authority"
    folder.mkdir()
    return Lasting(folder)


@pytest.fixture
def webhook(tmp_path, authority):
    folder = tmp_path / "webhook"
    folder.mkdir()
    one = Webhook(folder, authority)
    yield one
    one.process.kill()
    one.process.wait()


def scrape(webhook):
    return webhook.probe("/metrics")[1]


def refuses(webhook, _):
    assert not webhook.review(hooked())[0]["allowed"]


def gets_nonsense(webhook, _):
    assert webhook.post("{")[0] == 400


def meets_one_who_does_not_trust_it(webhook, folder):
    other = folder / "other"
    other.mkdir()
    with pytest.raises(OSError, match="certificate"):
        webhook.connect(Authority(other)).close()
    count = 'lastcall_webhook_tls_failures_total{kind="certificate"}'
    wait_until(lambda: webhook.metric(count) > 0, "the failure", patience=PATIENCE)


def has_read(webhook, outcome, times):
    """Files are looked at when a client connects."""
    webhook.connect().close()
    count = f'lastcall_webhook_certificate_reads_total{{outcome="{outcome}"}}'
    return webhook.metric(count) >= times


def gets_a_broken_secret(webhook, _):
    (webhook.folder / "tls.crt").write_text("no certificate")
    wait_until(lambda: has_read(webhook, "refused", 1), "the reading", patience=PATIENCE)


def gets_a_certificate_of_days(webhook, _):
    made = webhook.authority.sign("short", f"DNS:{NAME}", days=5)
    for name, file in zip(("tls.key", "tls.crt"), reversed(made), strict=True):
        shutil.copy(file, webhook.folder / name)
    wait_until(lambda: has_read(webhook, "taken", 2), "the reading", patience=PATIENCE)
    # Its end is looked up in a turn of its own.
    end = "lastcall_webhook_certificate_expiry_timestamp_seconds"
    wait_until(lambda: webhook.metric(end) < time.time() + 6 * 86400, "its end", patience=PATIENCE)


def injects(webhook, _):
    assert "patch" in webhook.review(pod_of(GOLDEN / "pods/command.yaml"))[0]


CAUSES = [
    (injects, []),
    (refuses, ["LastcallWebhookRefusals"]),
    (gets_nonsense, ["LastcallWebhookRefusals"]),
    (meets_one_who_does_not_trust_it, ["LastcallWebhookNotTrusted"]),
    (gets_a_broken_secret, ["LastcallWebhookCertificateRefused"]),
    (gets_a_certificate_of_days, ["LastcallWebhookCertificateExpires"]),
]


@pytest.mark.parametrize(("cause", "names"), CAUSES, ids=lambda each: getattr(each, "__name__", ""))
def test_each_cause_raises_its_alert_and_no_other(webhook, tmp_path, cause, names):
    before = scrape(webhook)
    cause(webhook, tmp_path)
    assert firing(tmp_path, series(before, scrape(webhook))) == names


def test_one_that_cannot_look_after_its_certificate_raises_one(tmp_path):
    probes, nobody = free_ports(2)
    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps(kubeconfig(f"http://127.0.0.1:{nobody}")))
    words = [KUBE, "webhook", "--secret=a", "--service=b", "--registration=c",
             f"--kubeconfig={config}", "--listen=127.0.0.1:0",
             f"--probes=127.0.0.1:{probes}"]  # fmt: skip
    failed = 'lastcall_webhook_certificate_looks_total{outcome="failed"}'

    def scraped():
        with contextlib.suppress(OSError):
            page = urllib.request.urlopen(f"http://127.0.0.1:{probes}/metrics", timeout=20)
            with page:
                text = page.read().decode()
            return text if f"{failed} 0" not in text else None

    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            after = wait_until(scraped, "a look", patience=PATIENCE)
        finally:
            process.kill()
    before = "".join(f"{line}\n" for line in after.splitlines() if failed not in line)
    assert firing(tmp_path, series(before, after)) == ["LastcallWebhookCertificateNotKept"]


def test_a_webhook_that_nobody_scrapes_raises_one(tmp_path):
    other = [{"series": "up", "values": " ".join(["1"] * SAMPLES)}]
    assert firing(tmp_path, other) == ["LastcallWebhookDown"]


def test_the_rules_are_well_formed_and_each_is_documented():
    command = ["promtool", "check", "rules", str(ALERTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert f"{len(rules())} rules found" in done.stdout
    page = (ROOT / "docs/webhook.md").read_text()
    for rule in rules():
        assert {"summary", "description", "runbook"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert f"| `{rule['alert']}` |" in page
