"""The table, for a terminal and for docs/conformance.md, and the transcripts beside it."""

import json
import shutil
from dataclasses import asdict

from .checks import CHECKS
from .run import Cell

MARKS = {"held": "held", "failed": "**failed**", "not applicable": "n/a"}
WIDTH = 24  # of a scenario's name
SIGNS = {"held": "+", "failed": "-", "not applicable": "."}
BEGIN, END = "<!-- {}:begin -->", "<!-- {}:end -->"


def by_place(cells):
    return {(cell.subject, cell.scenario): cell for cell in cells}


def counts(adapter, cells):
    own = [cell.verdict for cell in cells if cell.subject == adapter.name]
    return {verdict: own.count(verdict) for verdict in MARKS}


def text(scenarios, adapters, cells):
    places = by_place(cells)
    rows = [f"{n}  {a.name}: {a.title}" for n, a in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", adapters)]
    rows += ["", " " * (WIDTH + 1) + " ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(adapters)])]
    for each in scenarios:
        signs = " ".join(SIGNS[places[a.name, each.name].verdict] for a in adapters)
        rows.append(f"{each.name:<{WIDTH}} {signs}")
    rows += ["", "+ held   - failed   . not applicable"]
    return "\n".join(rows)


def read_results(path):
    return [Cell(**each) for each in json.loads(path.read_text())]


def write_results(path, cells):
    path.write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")


# --- docs/conformance.md


def escape(words):
    return words.replace("|", "\\|")


def markdown(scenarios, adapters, cells):
    """Rows are scenarios. Columns are letters, as the titles of sixteen subjects fit no screen."""
    places = by_place(cells)
    letters = dict(zip((a.name for a in adapters), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    rows = ["| | Subject | held | failed | n/a |", "|---|---|---|---|---|"]
    for each in adapters:
        n = counts(each, cells)
        note = f" ({each.facts['note']})" if each.facts.get("note") else ""
        rows.append(f"| {letters[each.name]} | `{each.name}`: {each.title}{note} | {n['held']} | "
                    f"{n['failed']} | {n['not applicable']} |")  # fmt: skip
    rows += ["", "| Scenario | " + " | ".join(letters.values()) + " |"]
    rows += ["|---" * (len(adapters) + 1) + "|"]
    for each in scenarios:
        marks = [_mark(places[a.name, each.name]) for a in adapters]
        rows.append(f"| `{each.name}`: {escape(each.title)} | " + " | ".join(marks) + " |")
    return "\n".join(rows)


def _mark(cell):
    if cell.verdict != "failed":
        return {"held": "✓", "not applicable": "–"}[cell.verdict]
    return f"[✗](../conformance/transcripts/{cell.subject}.md#{cell.scenario})"


def reasons(adapters, cells):
    """Why cells are not applicable: a row for each reason."""
    rows = []
    for each in adapters:
        found = {}
        for cell in cells:
            if cell.subject == each.name and cell.verdict == "not applicable":
                for reason in cell.reasons:
                    found.setdefault(reason, []).append(f"`{cell.scenario}`")
        for reason, names in found.items():
            rows.append(f"| `{each.name}` | {', '.join(names)} | {reason} |")
    return "\n".join(["| Subject | Not applicable | Because |", "|---|---|---|", *rows])


def known(adapters, cells):
    """Why an adapter declares that its form cannot hold a scenario: a row for each reason."""
    failed = {(c.subject, c.scenario) for c in cells if c.verdict == "failed"}
    found = {}
    for each in adapters:
        for scenario, reason in each.facts.get("known", {}).items():
            if (each.name, scenario) in failed:
                found.setdefault(reason, {}).setdefault(scenario, []).append(f"`{each.name}`")
    rows = ["| Not held | by | Because |", "|---|---|---|"]
    for reason, scenarios in found.items():
        alike = {}
        for scenario, subjects in scenarios.items():
            alike.setdefault(", ".join(subjects), []).append(f"`{scenario}`")
        for subjects, names in alike.items():
            rows.append(f"| {', '.join(names)} | {subjects} | {escape(reason)} |")
    return "\n".join(rows)


def checks():
    rows = ["| who | that | means |", "|---|---|---|"]
    for (who, that), function in CHECKS.items():
        meaning = " ".join((function.__doc__ or "").split("\n\n")[0].split())
        rows.append(f"| `{who}` | `{that}` | {escape(meaning)} |")
    return "\n".join(rows)


def replace(page, name, content):
    begin, end = BEGIN.format(name), END.format(name)
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{content}\n{end}{after}"


def write_docs(root, scenarios, adapters, cells):
    path = root / "docs/conformance.md"
    page = path.read_text(encoding="utf-8")
    page = replace(page, "table", markdown(scenarios, adapters, cells))
    page = replace(page, "reasons", reasons(adapters, cells))
    page = replace(page, "known", known(adapters, cells))
    page = replace(page, "checks", checks())
    path.write_text(page, encoding="utf-8")
    folder = root / "conformance/transcripts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    titles = {each.name: each.title for each in scenarios}
    for adapter in adapters:
        failed = [c for c in cells if c.subject == adapter.name and c.verdict == "failed"]
        if failed:
            (folder / f"{adapter.name}.md").write_text(transcripts(adapter, failed, titles))
    write_results(folder / "results.json", [_without_transcript(cell) for cell in cells])


def _without_transcript(cell):
    return type(cell)(cell.subject, cell.scenario, cell.verdict, cell.reasons)


def transcripts(adapter, failed, titles):
    rows = [f"# What {adapter.title} did not hold", "",
            "Made by `./dev conformance --docs`. Seconds count from the pod's deletion, or its "
            "start.", ""]  # fmt: skip
    for cell in failed:
        rows += [f"## {cell.scenario}", "", f"Expected: {titles[cell.scenario]}.", ""]
        rows += [f"- {reason}" for reason in cell.reasons]
        body = "\n".join(line.rstrip() for line in cell.transcript.split("\n"))
        rows += ["", "```text", body, "```", ""]
    return "\n".join(rows).rstrip("\n") + "\n"
