"""The names that docs/stability.md promises: none disappears, and a new one is promised, too."""

import json

import stable_surface


def test_no_promised_name_is_gone():
    gone, _ = stable_surface.differences()
    assert not gone, "docs/stability.md: 'When a name has to go'"


def test_every_new_name_is_promised():
    _, new = stable_surface.differences()
    assert not new, "run python3 tests/lint/stable_surface.py --write"


def test_each_surface_was_found():
    small = {name for name, values in stable_surface.surface().items() if len(values) < 5}
    assert not small, "the pattern that reads it finds nothing any more"


def test_a_name_that_goes_is_seen(monkeypatch, tmp_path):
    golden = json.loads(stable_surface.GOLDEN.read_text())
    golden["flags"].append("--bygone")
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    monkeypatch.setattr(stable_surface, "GOLDEN", tmp_path / "golden.json")
    assert stable_surface.differences()[0] == {"flags": ["--bygone"]}
