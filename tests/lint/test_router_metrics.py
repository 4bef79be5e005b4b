"""The router's metrics, and the table of them in docs/router.md, say the same."""

import re

from lint_tree import ROOT

FAMILY = re.compile(r'family<(Counter|Gauge|Histogram)>\(\s*"([a-z_]+)"')
ROW = re.compile(r"^\| `((?:dynamo|lastcall)_[a-z_]+)` \| (counter|gauge|histogram) \|", re.M)


def test_every_family_of_the_router_is_documented_with_its_type():
    files = ROOT / "router/metrics.cpp", ROOT / "router/model_series.cpp"
    code = "".join(file.read_text(encoding="utf-8") for file in files)
    page = (ROOT / "docs/router.md").read_text(encoding="utf-8")
    families = {(name, kind.lower()) for kind, name in FAMILY.findall(code)}
    assert len(families) > 20
    assert families == set(ROW.findall(page))
