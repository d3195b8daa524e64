"""Alert rules, scrape settings and the dashboard name only what exists, and everything that is documented exists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroom.broker.meter import Fate
from postroom.metrics.catalogue import CATALOGUE, OF_A_WORKER, OF_DISPATCH, OF_THE_DATABASE, Metric
from postroom.metrics.counting import OUTCOMES
from postroom.metrics.families import ROLES
from postroom.send.contract import Phase
from postroom.vocabulary import Status
from postroom.work.breaker import BreakerState
from postroom.work.telling import _SAID

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus-alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
REFERENCE = (ROOT / "docs/reference/metrics.md").read_text("utf-8")
MONITOR = (ROOT / "docs/how-to/monitor.md").read_text("utf-8")

METRICS = {name: metric for metric in CATALOGUE for name in metric.scraped}
VALUES = {
    "status": set(Status),
    "outcome": set(OUTCOMES),
    "phase": set(Phase),
    "state": {*BreakerState, "alive", "silent", "connected", "away"},
    "role": set(ROLES),
    "fate": set(Fate),
}
OF_PROMETHEUS = {"le", "job", "instance"}


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression with the name of what uses it."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in PANELS:
        for number, target in enumerate(panel["targets"]):
            yield f"panel {panel['id']}.{number}", target["expr"]


def uses(expression: str) -> Iterator[tuple[Metric, dict[str, str]]]:
    """Every metric of an expression with the labels it is narrowed by."""
    for name, narrowed in re.findall(r"\b(postroom_\w+)(?:\{([^}]*)\})?", expression):
        assert name in METRICS, f"{name} does not exist"
        yield METRICS[name], dict(re.findall(r'(\w+)\s*[=!]~?\s*"([^"]*)"', narrowed))


@pytest.mark.parametrize(("place", "expression"), [*expressions()], ids=lambda value: value[:30])
def test_every_metric_and_every_label_that_is_named_exists(place: str, expression: str) -> None:
    found = [*uses(expression)]
    grouped = re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression)
    known = {label for metric, _ in found for label in metric.labels}

    assert found or "up{" in expression, f"{place} asks for nothing of ours"
    for metric, labels in found:
        assert set(labels) <= set(metric.labels), f"{place}: {metric.name} has no such label"
        for label, wanted in labels.items():
            assert set(wanted.split("|")) <= VALUES[label]
    assert {label.strip() for each in grouped for label in each.split(",")} <= known | OF_PROMETHEUS


@pytest.mark.parametrize(("place", "expression"), [*expressions()], ids=lambda value: value[:30])
def test_counters_are_asked_for_their_growth_and_histograms_for_quantiles(place: str, expression: str) -> None:
    for name in re.findall(r"\b(postroom_\w+(?:_total|_bucket|_count|_sum))\b", expression):
        assert re.search(rf"(?:rate|increase)\({name}(?:\{{[^}}]*\}})?\[", expression), (
            f"{place}: {name} without a rate"
        )
    assert expression.count("(") == expression.count(")")


def test_every_metric_is_shown_or_alerted_on() -> None:
    used = {metric.name for _, expression in expressions() for metric, _ in uses(expression)}
    about_people = {f"postroom_emails_{act}_total" for act in ("cancelled", "dismissed", "moved", "pruned")}

    assert {metric.name for metric in CATALOGUE} - used == about_people


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_says_how_grave_it_is_what_happened_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert len(rule["annotations"]["summary"]) > 15
    assert rule["annotations"]["action"].endswith(".")
    assert re.search(rf"^\| `{rule['alert']}` \| [^|]+ \| {rule['labels']['severity']} \|$", MONITOR, re.MULTILINE)


def test_no_alert_is_documented_that_does_not_exist_and_none_twice() -> None:
    names = [rule["alert"] for rule in RULES]

    assert re.findall(r"^\| `(Postroom\w+)`", MONITOR, re.MULTILINE) == names
    assert len(set(names)) == len(names)


def test_what_b6_asks_for_is_alerted_on() -> None:
    """B6: gauges for pending, dead, retries and oldest due, with thresholds."""
    alerted = " ".join(rule["expr"] for rule in RULES)

    for wanted in (
        '{status="pending"}',
        '{status="dead"}',
        "postroom_emails_retried_total",
        "postroom_oldest_due_seconds",
    ):
        assert wanted in alerted


def test_the_example_of_scraping_finds_both_and_the_alerts() -> None:
    settings = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))
    jobs = {job["job_name"]: job for job in settings["scrape_configs"]}

    assert [(DEPLOY / name).is_file() for name in settings["rule_files"]] == [True]
    assert jobs["postroom"]["metrics_path"] == "/metrics"
    assert jobs["postroom"]["authorization"]["type"] == "Bearer"
    assert set(jobs) == {"postroom", "postroom-worker", "postroom-scheduler"}
    assert all(re.fullmatch(r"postroom.*", name) for name in jobs)  # what PostroomNotScraped looks at


def test_panels_have_a_title_an_explanation_and_a_place_of_their_own() -> None:
    panels = DASHBOARD["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels) > 15
    assert all(panel["title"] and panel["description"] for panel in PANELS)
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        assert not overlap(one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def test_the_dashboard_asks_the_prometheus_that_is_chosen() -> None:
    [variable] = DASHBOARD["templating"]["list"]

    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    for panel in PANELS:
        assert {panel["datasource"]["uid"], *(t["datasource"]["uid"] for t in panel["targets"])} == {"${datasource}"}


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    across = one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
    return across and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]


@pytest.mark.parametrize(
    ("heading", "metrics"),
    [
        ("Of the database", OF_THE_DATABASE),
        ("Of a worker", OF_A_WORKER),
        ("Of a scheduler or a sender", OF_DISPATCH),
    ],
)
def test_the_reference_names_every_metric_as_it_is_and_no_other(heading: str, metrics: tuple[Metric, ...]) -> None:
    section = REFERENCE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(postroom_\w+)` \| (\w+) \| (.+?) \| (.+) \|$", section, re.MULTILINE)
    spelled = [
        (metric.name, metric.kind.value, ", ".join(f"`{label}`" for label in metric.labels) or "–", metric.meaning)
        for metric in metrics
    ]

    assert rows == spelled
    for label in {label for metric in metrics for label in metric.labels}:
        assert f"| `{label}` |" in section


def test_the_reference_names_every_field_of_the_log() -> None:
    section = REFERENCE.partition("## The log\n")[2]
    fields = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)

    assert fields == ["email_id", "region", "attempt", "outcome", "milliseconds", *_SAID]
